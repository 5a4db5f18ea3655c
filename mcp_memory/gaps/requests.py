"""Defines what can be asked about questions without an answer."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GapsRequest:
    """The questions that memory could not answer, in one project or ('*', None) all. With `target`, the id of a gap,
    `text` is stored as the answer, as a fact of the gap's project."""

    project: str | None = None
    target: str | None = None
    text: str | None = None
