"""Checks what notes name of code (files, symbols, commits, commands) against their project's repository.

No note's text changes. Of a repository only the files that notes name are read, and what they held is kept as hashes.
"""
