"""What the state folder knows about notes: which we wrote, forgot, and added to shared files."""
