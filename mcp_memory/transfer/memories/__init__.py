"""One module per program that keeps memories as records, in JSON or SQLite: each record becomes a note."""
