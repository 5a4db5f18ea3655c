"""The inbox: what was found in transcripts, until a person has looked at it.

intake     messages of a session in; candidates stored, what is outright active at once
register   what became of each candidate, so that nothing is proposed twice
neighbours what of memory is near a statement
digest     what became active at once, told at the next session's start
operations  the same for the program, as JSON
review     accept, edit, merge, drop, undo
"""
