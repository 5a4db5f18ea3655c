"""Transcripts: what agents' programs write down of their sessions, read as messages.

message  one message, with its place in the file
plain    a message a line, as JSON: for programs that write a form of their own
"""
