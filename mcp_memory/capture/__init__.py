"""Reads agents' transcripts into searchable, read-only notes under `@transcripts`, without secrets.

Hooks tell `worker` which transcript has grown; its task has `service` take one `step` after another. A step writes the
notes, then tells the extractor, then moves the checkpoint: killed in between, it does the same again under the same
names. Imports search and what is below. Opens nothing outside the clients' own folders (`transcript_paths`).
"""
