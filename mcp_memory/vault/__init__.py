"""Notes on disk, and the only code that writes them.

New notes, daily-log entries, frontmatter changes, forgetting, topic files; each write is announced first, notes in the
ledger, entries in the append journal. Keeps invariants 1, 2, 3 and 7. Imports index, storage and what is below.
"""
