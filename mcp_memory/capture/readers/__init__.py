"""Transcripts of each client as messages.

A reader is a pure function: one line of a transcript, as JSON, becomes messages; what later lines need of earlier ones
is in its context. A line that cannot be understood is skipped, never an error: the formats belong to others.
"""
