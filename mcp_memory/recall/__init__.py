"""Text within a token budget: answers, notes in full, session starts, prompts, topic pages.

`context_budget` decides what fits, `briefing` what an agent is given unasked, `seen_passages` remembers what each
session has already been given. Imports search and what is below.
"""
