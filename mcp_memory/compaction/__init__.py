"""Compaction: fresh notes become topics that a person can read, undo and trust.

What there is
    grove        the topic tree as it is: folders, notes, pages, and which pages are stale
    survey       what there is, what a run would do, and whether one has anything to do
    outstanding  what there would be to do, seen without planning
    preview      the tree as a run would leave it
    scope        all topics, or one with what it holds
    outline      the tree and the runs as plain values

What is done
    drafting     a job of the plan made into steps, with its page written
    linking      links that follow what moves
    clearing     pages that have had their day
    renaming     folders whose name nothing in them says any more
    relating     the topics that are nearest to a topic
    mapping      the map of all topics; tending: these at the end of a run
    forgotten    what pages may no longer say
    provisional  pages that a language model is to write yet

How it gets to disk
    steps        what a job does to files, as values
    doing        one step done; undoing: one taken back
    journal      runs and their jobs, on disk before anything happens
    carrying     a job carried out, or what a crash left of it
    carrier      the same beside everything else, and the index told (telling)
    marking      `stale: true` in pages that are out of date

Who does it
    compactor    runs, one at a time
    filer        round after round, the jobs of a plan
    renewal      pages made anew
    reversal     a run taken back
    turns        a person's before one in the background
    gardener     runs in the background, when things are quiet
    schedule     when one is due
    report       what a run did; course: how far it is, and what the last one did
"""
