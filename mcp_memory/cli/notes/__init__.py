"""Commands for notes: search, recall, append, log, edit, archive, forget, restore, list, erase."""
