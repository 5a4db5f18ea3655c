"""Functions that answer the named operations."""
