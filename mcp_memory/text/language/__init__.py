"""Words, sentences, identifiers and dates of natural language."""
