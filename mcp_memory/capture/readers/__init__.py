"""Transcripts: what agents' programs write down of their sessions, read as messages.

Imports text and errors. A reader is a pure function: one line of a transcript, as JSON, becomes messages; what later
lines need of earlier ones is in its context. What cannot be understood is passed over, never an error: the formats
belong to others, who change them.

message      one message, with its place in the file
lines        whole lines of a file, from an offset, in bounded memory
rows         the same of a database, which OpenClaw keeps its sessions in
context      what of a session's earlier lines counts for later ones
words        what was said, out of a client's ways to write it down
claude_code, codex, openclaw  a client's reader each
readers      all of them by the client's name
plain        a message a line, as JSON: for programs that write a form of their own
"""
