"""Vectors of chunks, kept in memory and scanned."""
