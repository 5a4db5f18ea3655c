"""Writes a page for each project, person and service, and INDEX.md, which lists them."""
