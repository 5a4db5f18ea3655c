"""Reads and writes a git repository. Runs no hooks, signs nothing, prompts for nothing and uses no network."""
