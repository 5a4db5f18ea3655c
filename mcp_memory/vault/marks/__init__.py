"""What a note's file says of itself: its head and tags, whether it is private, and whether it is a copy or template."""
