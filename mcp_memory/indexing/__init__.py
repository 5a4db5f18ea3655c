"""Keeps the index up to date with the files.

`watcher` decides when to sweep, `reconciler` compares disk and index, `writer` applies the changes, `rebuild` makes a
new generation for another model or chunking. File-system events only make the next sweep come sooner.
"""
