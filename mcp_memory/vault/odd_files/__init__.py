"""What is in the vault and is no note to be searched: copies, merge conflicts, templates."""
