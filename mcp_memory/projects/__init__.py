"""Tells which project a folder belongs to, and keeps the vault's list of projects."""
