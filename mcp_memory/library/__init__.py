"""`Memory` for Python programs, with a daemon or without one.

What opens a vault holds its lock, or asks the process that does (invariant 10).
"""
