"""Proposes outdated notes for the archive. Nothing is deleted, and `unarchive` undoes a move."""
