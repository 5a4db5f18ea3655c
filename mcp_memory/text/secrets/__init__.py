"""Finds secrets by their shape, and takes them out of a text."""
