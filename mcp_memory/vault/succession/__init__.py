"""Knows which note replaced which, and which one of a chain holds."""
