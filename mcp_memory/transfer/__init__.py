"""Imports, exports and shares notes.

Sources are only read. `formats/` has a reader or writer for each format, `share/` puts a topic into its own folder.
"""
