"""The soak: many sessions, editors, checkouts, kills and a full disk for as long as one likes; nothing may be lost.

`python -m tests.soak --help` says how to run it. A short form runs with the tests (`test_soak.py`); the kill rounds
of `tests/promises` use the same sessions and the same judgement.

`options` what is asked for · `daemon` the real process, its life and its figures · `line` HTTP, light enough to share
two cores with what it measures · `book` what was answered · `sessions` the agents · `people` editors and git ·
`trouble` kills, stops, reindex, full disk · `disk` a disk of our own that can be filled · `judge` what was lost,
doubled or is stale · `run` all of it in order · `report` the figures for people and programs.
"""
