"""Commits what we change to the Git repository that holds the vault, where that is configured.

No hook, signature, prompt or network; what you edit, stage or keep untracked stays as it is.
"""
