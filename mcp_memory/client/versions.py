"""Compares two versions of this program. Standard library only, because every start-up waits for it."""

from __future__ import annotations

import re

_FORM = re.compile(r"v?(\d+(?:\.\d+)*)(?:[.-]?(dev|a|b|rc|post)(\d+))?(?:\.dev(\d+))?", re.ASCII)
_STAGES = ("dev", "a", "b", "rc", "", "post")


def is_newer(version: str, *, than: str) -> bool:
    """In the order of PEP 440, as far as our releases use it. What isn't a version is neither newer nor older."""
    ours, theirs = _rank(version), _rank(than)
    return ours is not None and theirs is not None and ours > theirs


def _rank(version: str) -> tuple[list[int], int, int, float] | None:
    found = _FORM.match(version)
    if not found:
        return None
    release, stage, number, dev = found.groups()
    numbers = [int(part) for part in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers, _STAGES.index(stage or ""), int(number or 0), int(dev) if dev else float("inf")
