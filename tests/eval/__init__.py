"""Retrieval quality on sets with gold passages; the data itself is not part of the repository."""
