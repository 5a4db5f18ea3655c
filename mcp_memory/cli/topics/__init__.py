"""Commands for topics: tree, show, compact."""
