"""Versions: the vault's files in the git repository that a person keeps it in.

git         the program: no prompt, no hook, no network, no variable of ours or of the caller, and a deadline
repository  where the vault lies in one, and whether somebody is in the middle of something there
drafting    what changed in files of ours, as blobs of the repository
index       the person's own index, changed under git's own lock
committing  commits on the current branch that hold our files and nothing else
history     what a repository tells of a note

Imports storage (for the causes of what fails), models, errors. Nothing of a person's is touched but the tip of the
branch that is checked out, and the index entries of the very files that a commit holds.
"""
