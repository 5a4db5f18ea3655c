"""Defines what can be asked about summaries."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DigestRequest:
    """A digest of what happened within these dates, in this project ('*' = all). `save`: also as a page of the
    vault."""

    since: str | None = None
    until: str | None = None
    project: str | None = None
    save: bool = False
