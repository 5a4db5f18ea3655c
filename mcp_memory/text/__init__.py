"""Text: what a note says, as pure functions on strings. No disk, no clock.

Imports registry, models, errors. Keeps invariants 2 and 6: a patch changes only the keys asked for, every chunk is
an exact slice.
"""
