"""Proposes what is over for the archive. Nothing is deleted, and `unarchive` takes it back."""
