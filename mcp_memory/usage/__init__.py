"""How much each note is used: counted per day in the state folder, without a word of what was asked.

`note_use` is what is known of a note and how hot that makes it; `use_counter` counts; `knowledge_gaps` which
questions had no answer. All of it may be lost without harm.
"""
