"""Lists changes and their authors, with the present titles of the notes."""
