"""One module per format: reads notes of other programs, and writes the vault out."""
