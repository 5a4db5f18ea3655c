"""Edits clients' configuration files, and undoes the edits.

Edits are pure functions on text that change no other byte; only `config_files` reads and writes. No file is left half
written. Uninstalling restores the original file.
"""
