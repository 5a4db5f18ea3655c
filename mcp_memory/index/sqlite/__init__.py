"""The index engine that comes with the package: rows, words and vectors in one SQLite file."""
