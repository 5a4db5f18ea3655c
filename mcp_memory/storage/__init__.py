"""Files by relative path, with atomic, durable, compare-and-swap verbs.

Knows nothing of Markdown. Keeps invariants 1, 2, 3 and 9: an answered write survives power loss, nobody's bytes are
overwritten, nothing outside the root is touched.
"""
