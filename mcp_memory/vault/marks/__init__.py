"""What a person says of a note: in its head, by a tag or folder, and that it is private."""
