"""The topic tree: which notes belong together, and what a topic's pages say. Pure.

cluster   vectors to groups
plan      notes to jobs
page      a topic's `_summary.md`
map       `_index.md`, which names all of them
"""
