"""Reads agents' transcripts into searchable, read-only notes under `@transcripts`, without secrets.

Hooks report to `worker` which transcript has grown; its task makes `service` take one `step` after another. A step
writes the notes, passes the messages to the extractor, and then moves the checkpoint. After a crash in between, it does
the same again under the same names. Imports search and the rooms below it. Opens nothing outside the clients' own
folders (`transcript_paths`).
"""
