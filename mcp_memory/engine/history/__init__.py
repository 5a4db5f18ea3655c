"""What changed, by whom, and what the notes concerned are called now."""
