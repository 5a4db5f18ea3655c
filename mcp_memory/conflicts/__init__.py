"""Decides whether a newer statement contradicts an older one. Pure: no I/O, no clock, no model."""
