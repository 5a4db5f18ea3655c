"""Reads finished sessions with a language model: what it is shown, what it may answer, and what is done about it."""
