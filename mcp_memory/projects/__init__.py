"""Finds the project of a folder, and keeps the vault's list of projects."""
