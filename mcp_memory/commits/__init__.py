"""Commits the program's writes to the git repository of the vault, and shows the history of notes."""
