"""Text within a token budget: answers, notes in full, session starts, prompts, topic pages.

`excerpts` names what is quoted, `context_budget` decides what fits, `session_start` chooses what a session starts with,
`briefing` what an agent gets unasked, `seen_passages` what a session already has.
"""
