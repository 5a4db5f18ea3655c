"""Keeps the index equal to the files.

`watcher` decides when to look, `reconciler` compares disk and index, `writer` applies what changed, `rebuild` makes a
new generation for another model or chunking. The sweep decides; file-system events only make it sooner.
"""
