"""The marks of a note's file: its head and tags, whether it is private, and whether it is a copy or a template."""
