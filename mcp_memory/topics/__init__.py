"""Models the topic tree as values: groups of notes, and the text of their pages. Pure."""
