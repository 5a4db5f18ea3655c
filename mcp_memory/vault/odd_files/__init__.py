"""Files in the vault that searches skip: copies, merge conflicts, templates."""
