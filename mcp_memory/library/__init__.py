"""`Memory` for Python programs, with a daemon or without one.

A program that opens a vault takes its lock, or asks the process that has it (invariant 10).
"""
