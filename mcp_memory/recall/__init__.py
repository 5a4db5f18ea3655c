"""Writes text within a token budget: answers, notes in full, session starts, prompts, topic pages.

`excerpts` names the quoted passages, and `context_budget` decides what fits. `session_start` chooses the notes for a
session's start, and `briefing` the passages that an agent gets unasked. `seen_passages` records what a session already
has.
"""
