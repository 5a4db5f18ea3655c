"""Reads the properties of a head under the names that people use, and finds misspelled names of ours."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from mcp_memory.text.markdown.frontmatter import FIELD_ORDER

_BY_HAND = (
    "title", "kind", "project", "status", "created", "updated", "tags", "always_load", "expires_at", "due", "refs",
    "source", "aliases", "private", "muted", "when",
)  # fmt: skip
"""Our fields that people write, accepted in any case. The program writes all other fields, and spells them exactly."""

_ALSO = {"expires": "expires_at", "tag": "tags", "alias": "aliases", "ref": "refs"}
"""The names of our options, and Obsidian's older names."""

_OURS = frozenset((
    *FIELD_ORDER, *_BY_HAND, *_ALSO, "contests", "contradicts", "compatible_with", "confirmed", "covers",
    "counts_again", "done_at", "done", "doubt", "seal",
))  # fmt: skip
_COMMON = frozenset((
    "sources", "course", "states", "stats", "tabs", "find", "mind", "link", "king", "rates", "date", "then",
))  # fmt: skip
"""Ordinary words that are only a letter away from our names."""

_TECHNICAL = frozenset(
    ("cssclass", "cssclasses", "publish", "date", "position", "permalink", "layout", "draft", "lang")
)
"""The properties that other programs keep in a head."""

MAX_WORDS_CHARS = 600


def by_hand(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the head with our fields under our names, in any case and with any separators. An exact spelling wins."""
    named = {_ALSO.get(name, name): value for key, value in meta.items() if (name := _name(key)) in {*_BY_HAND, *_ALSO}}
    return {**named, **meta}


def nearly_ours(meta: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each property that is only a slip away from one of our names, with our name."""
    for key in meta:
        name = _name(key)
        if len(name) >= 4 and name not in _OURS | _COMMON:
            near = next((ours for ours in (*_BY_HAND, *_ALSO) if len(ours) >= 4 and is_slip(name, ours)), None)
            if near:
                yield key, near


def is_slip(one: str, other: str) -> bool:
    """Return whether a letter is missing, added, replaced, or swapped with the next letter."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    left, right = one[start:], other[start:]
    swapped = right[1:2] + right[:1] + right[2:]
    return left[1:] == right[1:] or left[1:] == right or left == right[1:] or left == swapped


def words(meta: Mapping[str, Any]) -> str:
    """Return the text of all other properties in a line of limited length, for the search."""
    said = (text for key, value in meta.items() if _name(key) not in _NOT_SEARCHED for text in _texts(value))
    return " ".join(dict.fromkeys(said))[:MAX_WORDS_CHARS]


_NOT_SEARCHED = (_OURS - {"aliases", "alias"}) | _TECHNICAL


def _texts(value: object) -> Iterator[str]:
    match value:
        case Mapping():
            for item in cast("Mapping[object, object]", value).values():
                yield from _texts(item)
        case list():
            for item in cast("list[object]", value):
                yield from _texts(item)
        case None | bool():
            pass
        case _:
            yield " ".join(str(value).split())


def _name(key: str) -> str:
    return "_".join(key.replace("-", " ").replace("_", " ").casefold().split())
