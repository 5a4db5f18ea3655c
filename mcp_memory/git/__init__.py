"""Commits our changes to the Git repository that contains the vault, if configured.

Runs no hooks, signs nothing, prompts for nothing and uses no network. Your edits, staged and untracked files stay.
"""
