"""Proposes outdated notes for the archive. Nothing is deleted, and `restore` undoes a move."""
