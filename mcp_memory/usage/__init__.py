"""The use of each note: counted per day in the state folder, without a word of the questions.

`note_use` derives how hot a note is; `use_counter` counts; `knowledge_gaps` lists questions without an answer. All of
it may be lost without harm.
"""
