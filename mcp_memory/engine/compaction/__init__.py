"""Compaction: fresh notes become topics that a person can read, undo and trust.

grove        the topic tree as it is: folders, notes, pages, and which pages are stale
drafting     a job of the plan made into steps, with its page written
steps        what a job does to files, as values
doing        one step done, or taken back
journal      runs and their jobs, on disk before anything happens
carrying     a job carried out, or what a crash left of it
forgotten    what pages may no longer say
preview      the tree as a run would leave it
survey       what there is, what a run would do, and whether one has anything to do
scope        all topics, or one with what it holds
compactor    runs, one at a time
turns        a person's before one in the background
report       what a run did
course       how far it is, and what the last one did
reversal     a run taken back
telling      the index told of each step
provisional  pages that a language model is to write yet
gardener     runs in the background, when things are quiet
schedule     when one is due
outstanding  what there would be to do, seen without planning
outline      the tree and the runs as plain values
"""
