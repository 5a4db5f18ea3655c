"""The walk: from the top of the topic tree down to the topic that a question is about. Pure.

At each level the children are compared with the question, and only those below the nearest few are looked at next; so
that of a tree of thousands of notes a few hundred vectors are read at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

BEAM = 4
"""So many topics of a level are gone below. Of the leaves with the answers 8 miss 2 % in vaults of 200 notes, 25 % in
one of 450; passages are therefore found by search, and never only where a walk came by."""
MOST_READ = 256
"""Vectors, of one walk."""


def walk(
    top: Iterable[str],
    below: Callable[[str], Iterable[str]],
    near: Callable[[Sequence[str]], Sequence[float]],
    fits: Callable[[str], bool],
    *,
    beam: int = BEAM,
    most: int = MOST_READ,
) -> str | None:
    """The most specific topic that fits; of several the one nearest to the question, then the first by name. None where
    none is come by.

    `below` names the topics right below one. `near` tells how near each of them is to the question, which costs a
    vector each: so of more than `most`, those that fit are looked at first. Below a topic that fits, only what is below
    it is looked at.
    """
    level, found, left = sorted(top), None, most
    while level and left > 0:
        seen = sorted(level, key=lambda topic: not fits(topic))[:left]
        left -= len(seen)
        nearness = dict(zip(seen, near(seen), strict=True))
        nearest = sorted(seen, key=lambda topic: -nearness[topic])
        fitting = [topic for topic in nearest if fits(topic)]
        if found and not fitting:
            return found
        found = fitting[0] if fitting else None
        level = sorted(each for topic in (fitting[:1] or nearest[:beam]) for each in below(topic))
    return found
