"""Names the four tools. Imports nothing, because hooks start with it."""

SEARCH, RECALL, APPEND, FORGET = "memory_search", "memory_recall", "memory_append", "memory_forget"
TOOLS = (SEARCH, RECALL, APPEND, FORGET)
"""Agents know these names by heart, so they never change."""
