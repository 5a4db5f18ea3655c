"""Commands for notes: search, recall, append, log, forget, restore, list, erase."""
