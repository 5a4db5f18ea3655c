"""Compaction: fresh notes become topics that a person can read, undo and trust.

grove      the topic tree as it is: folders, notes, pages, and which pages are stale
drafting   a job of the plan made into steps, with its page written
steps      what a job does to files, as values
doing      one step done, or taken back
journal    runs and their jobs, on disk before anything happens
carrying   a job carried out, or what a crash left of it
linking    links that follow what moves
forgotten  what pages may no longer say
marking    `stale: true` in pages that are out of date
clearing   pages that have had their day
renaming   folders whose name nothing in them says any more
relating   the topics that are nearest to a topic
mapping    the map of all topics
preview    the tree as a run would leave it
report     what a run did
undoing    a step taken back
compactor  runs, one at a time, and taking one back
outline    the tree and the runs as plain values
"""
