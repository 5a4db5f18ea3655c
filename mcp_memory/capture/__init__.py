"""Capture: what was said in agents' sessions, out of their transcripts into searchable leaves, without secrets.

Who does what: hooks tell `capturer` which transcript has grown; its one task looks when it is worth the while, and has
`taker` take `step` after step. `places` opens nothing that is not a client's own, `source` reads what is new,
`segments` cuts it into leaves, `shelf` keeps those as the read-only source `@transcripts`, and `bookmark` how far a
file was read. Each step writes the leaves, then tells the hearer, then moves the bookmark: killed in between, it does
the same again, under the same names. `captured` reads a session again as far as it was captured, `reading` a whole one
that a person names, and `answers` finds in it what an agent said after a moment.
"""
