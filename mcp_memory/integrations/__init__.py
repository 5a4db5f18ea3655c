"""Edits clients' configuration files, and undoes it.

Edits are pure functions on text that leave every other byte alone; only `config_files` reads and writes. No file is
ever left half written, and uninstalling restores what was there.
"""
