"""Writes pages about a session, a day or any other period. No ordinary search answers from these pages.

Promises: no page contains a forgotten note, and a page that you changed or removed stays as it is.
"""
