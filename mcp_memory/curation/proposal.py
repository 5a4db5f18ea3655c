"""Defines a proposal to the user, with its evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal to do `action` to the note `target` (a path). `text` is its title and first words, so that you can
    decide without opening it. `figures` are days and counts as evidence; `sources` are ids of the notes that it is
    based on."""

    id: str
    text: str
    target: str
    action: str
    reasons: Sequence[str]
    figures: Mapping[str, float]
    sources: Sequence[str]
