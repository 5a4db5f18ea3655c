"""The index engine of the package: rows, words and vectors in one SQLite file."""
