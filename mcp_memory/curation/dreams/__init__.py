"""Proposes recurring statements and often used notes for `MEMORY.md`, on the page `DREAMS.md`, and stores the proposals
that you tick.
"""
