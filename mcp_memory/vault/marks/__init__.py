"""A person's marks on a note: its head, its tags, and whether it is private."""
