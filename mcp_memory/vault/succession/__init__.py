"""Tracks the succession of notes: which note replaced which, and which note of a chain is active."""
