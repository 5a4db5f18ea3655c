"""Notes on disk, and the only code that writes them.

New notes, daily-log entries, frontmatter changes, forgetting, topic files; `journals/` announces each write before it
happens. Keeps invariants 1, 2, 3 and 7. Imports index, storage and what is below.
"""
