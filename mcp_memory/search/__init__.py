"""Finds notes: retrievers, fusion, boosts, ranking, confidence, and the embedding model they use."""
