"""Prepares the bundled model from its package's weights, and adapts it to distinguish statements from talk."""
