"""Writes lines beside recalled notes: the notes that replaced them, and the notes that they are linked with."""
