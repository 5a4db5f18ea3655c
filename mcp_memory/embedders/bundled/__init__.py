"""Prepare the bundled model from its package's weights, and adapt it to distinguish statements from talk."""
