"""Compares two texts: do they say the same, state another value, or neither? Pure: no I/O, no clock, no model."""
