"""Text within a token budget: answers, notes in full, session starts, prompts, topic pages.

`context_budget` decides what fits, `briefing` what an agent gets unasked, `seen_passages` what a session already has.
"""
