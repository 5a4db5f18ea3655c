"""Extracts statements worth remembering from transcripts, stores or proposes them, and lets people review them.

Rules find statements without a model; a configured language model is asked as well. Only your own words are treated as
yours, never the words of a tool, a page, a quotation or the assistant.
"""
