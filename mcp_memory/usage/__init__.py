"""The use of each note, counted per day in the state folder.

`note_use` derives how hot a note is; `use_counter` counts; `unanswered` lists questions without an answer. All of it
may be lost without harm.
"""
