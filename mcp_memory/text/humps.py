"""Humps: the parts of a name in camel case."""

from __future__ import annotations

import re

_INNER = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_CAMEL = re.compile(r"(?<![A-Za-z])[A-Za-z]*(?:[a-z][A-Z]|[A-Z]{2}[a-z])[A-Za-z]*")
_HUMPS = re.compile(r"[A-Z]+(?:s\b|(?![a-z]))|[A-Z]?[a-z]+")


def humps(text: str) -> list[str]:
    """`retry`, `booking` and `sync` of `retryBookingSync`, in order; of all such names in a text."""
    if not _INNER.search(text):  # most texts have none, and this is seen in half the time
        return []
    return [hump.lower() for name in _CAMEL.findall(text) for hump in _HUMPS.findall(name)]
