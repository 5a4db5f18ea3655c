"""Versioning: what the engine changes becomes commits in the person's git repository, where that is wanted.

witness     the storage door, watched: which files our writes have changed
pending     those that no commit holds yet, remembered over a restart
telling     changes to commits: what each holds and how it is called
committer   the task that commits, behind every answer
past        a note's history
"""
