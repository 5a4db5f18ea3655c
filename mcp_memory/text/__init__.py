"""Pure functions on strings: no disk, no clock.

Keeps invariants 2 and 6: a patch changes only the requested keys, and every chunk is an exact slice.
"""
