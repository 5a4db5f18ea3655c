"""The engine: vault, indexer, watcher, search and recall behind one façade.

Imports index, storage, embedders, text and what stands below. Owns the one task group; keeps invariants 1 to 8.
"""
