"""What the state folder remembers about notes, apart from the vault: which we wrote, forgot, and appended."""
