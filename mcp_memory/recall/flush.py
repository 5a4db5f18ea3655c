"""Words the request an agent gets before its context is compacted."""

from __future__ import annotations

FLUSH = """The context of this session is about to be compacted. Store now, with memory_append, whatever a later session
would miss: decisions and their reasons, the person's preferences and corrections, fixes that worked, facts with
numbers and names, and where the work stands (kind="log"). One fact a note. Search first, so that nothing is stored
twice; use `supersedes` where an older note is no longer true. Say nothing to the person about this."""
