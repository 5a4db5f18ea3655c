"""Compaction: fresh notes become topics that a person can read, undo and trust.

grove      the topic tree as it is: folders, notes, pages, and which pages are stale
drafting   a job of the plan made into steps, with its page written
steps      what a job does to files, as values
doing      one step done, or taken back
journal    runs and their jobs, on disk before anything happens
carrying   a job carried out, or what a crash left of it
forgotten  what pages may no longer say
preview    the tree as a run would leave it
compactor  runs, one at a time, and taking one back
outline    the tree and the runs as plain values
"""
