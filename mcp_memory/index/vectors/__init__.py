"""Vectors of chunks, mapped from a file and scanned."""
