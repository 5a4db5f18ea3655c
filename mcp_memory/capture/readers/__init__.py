"""Read transcripts of each client as messages.

A reader is a pure function: one line of a transcript, as JSON, becomes messages; its context has the facts that later
lines need of earlier ones. A line that can't be understood is skipped and is never an error, because the formats belong
to others.
"""
