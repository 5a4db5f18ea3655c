"""What goes into each client's configuration files, and out again.

Edits are pure functions on text that leave every other byte alone; only `config_files` reads and writes. No file is
ever left half written, and uninstalling restores what was there.
"""
