"""Checks the files, symbols, commits and commands that notes name against their project's repository.

No note's text changes. Only the named files are read, and only hashes of their content are kept.
"""
