"""Transcripts: what agents' programs write down of their sessions, read as messages.

message  one message, with its place in the file
"""
