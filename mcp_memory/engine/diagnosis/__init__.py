"""What is wrong with a vault or its state folder, and what to do about it."""
