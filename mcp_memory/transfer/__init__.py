"""Import, export and share.

Sources are only read. `formats/` has a reader or writer a format, `share/` puts a topic into a folder of its own.
"""
