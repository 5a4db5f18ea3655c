"""Commands for notes: search, recall, append, forget, restore, list, log."""
