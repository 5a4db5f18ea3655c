"""Finds statements worth remembering in transcripts, stores or proposes them, and has them reviewed.

Rules find them without a model; a configured language model is asked as well. Only your own words count as yours,
never what a tool, a page, a quotation or the assistant says.
"""
