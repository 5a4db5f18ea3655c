"""Proposes notes to promote, demote and archive. You decide, and every change can be undone."""
