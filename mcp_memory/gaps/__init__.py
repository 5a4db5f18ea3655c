"""Lists what memory could not answer."""
