"""Defines what can be asked about the history of files."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogRequest:
    """The git history of `target` (an id or path) or of the whole vault. `at`: a commit, for the note's text in it."""

    target: str | None = None
    at: str | None = None
    limit: int = 20
