"""Defines what is proposed to you, with its evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Proposal:
    """To do `action` to the note `target` (a path). `text`: its title and first words, so that you can decide without
    opening it. `figures`: days and counts that speak for it; `sources`: ids of the notes it is made from."""

    id: str
    text: str
    target: str
    action: str
    reasons: Sequence[str]
    figures: Mapping[str, float]
    sources: Sequence[str]
