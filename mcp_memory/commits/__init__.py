"""Commits what the program writes to the git repository of the vault, and shows the history of notes."""
