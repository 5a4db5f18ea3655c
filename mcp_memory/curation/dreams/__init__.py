"""Proposes what recurs in logs and in use for `MEMORY.md`, on the page `DREAMS.md`, and stores what you tick there."""
