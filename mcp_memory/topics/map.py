"""Renders the index of topics, `_index.md`: one line for each topic, as far as the budget allows. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from mcp_memory.models import NoteId, NotePath
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.link_targets import unlinked
from mcp_memory.text.pluralize import counted
from mcp_memory.text.tokens import CHARS_PER_TOKEN
from mcp_memory.topics.page import link, span

GIST_CHARS = 140
"""So much of what a topic's page says is shown of it."""

HEADING = "# Topics\n\nWhat is remembered, by topic. Each link leads to a page that says more, and on to its notes."

_MARKUP = re.compile(r"[\[<`]")


@dataclass(frozen=True, slots=True)
class MapEntry:
    """A topic. `page` is the path of its page, None where it has none that may be read; `level` is 0 at the top."""

    id: NoteId | None
    title: str
    page: NotePath | None
    level: int
    notes: int
    earliest: datetime | None = None
    latest: datetime | None = None


def render_map(
    map_id: NoteId,
    path: NotePath,
    spots: Sequence[MapEntry],
    gist_of: Callable[[MapEntry], str],
    budget_tokens: int,
    created: datetime,
    updated: datetime,
) -> str:
    """The file's text. `spots` are in the order of the tree; those at the top are named first, and where there is no
    more room the rest are counted. `gist_of` is asked for what the page of each one says, as long as there is room."""
    room = budget_tokens * CHARS_PER_TOKEN - len(HEADING) - len(_rest(len(spots))) - 4
    lines: dict[int, str] = {}
    for number in sorted(range(len(spots)), key=lambda at: spots[at].level):
        line = _line(path, spots[number], gist_of(spots[number]))
        room -= len(line) + 1
        if room < 0:
            break
        lines[number] = line
    shown = sorted(lines)
    parts = [HEADING, "\n".join(lines[number] for number in shown)]
    if len(shown) < len(spots):
        parts.append(_rest(len(spots) - len(shown)))
    meta = {
        "id": map_id,
        "title": "Topics",
        "created": created,
        "updated": updated,
        "source": "mcp-memory",
        "derived_from": [each for number in shown if (each := spots[number].id)],
        "node_kind": "map",
        "descendant_count": sum(spot.notes for spot in spots if not spot.level),
    }
    return frontmatter.render(meta, "\n\n".join(part for part in parts if part))


def first_sentence(gist: str) -> str:
    """What a gist says first, in one line of at most `GIST_CHARS`, without links."""
    found: Iterator[str] = (sentence.text for sentence in sentences(unlinked(gist)))
    said = next(found, "")
    if len(said) > GIST_CHARS:
        said = said[: GIST_CHARS - 1].rsplit(" ", 1)[0] + "…"
    return _MARKUP.sub(lambda mark: chr(92) + mark[0], said)


def _line(path: NotePath, spot: MapEntry, gist: str) -> str:
    name = link(path, spot.title, spot.page) if spot.page else spot.title
    said = [name, counted(spot.notes, "note"), *_told(span(spot.earliest, spot.latest))]
    return f"{'  ' * spot.level}- {' · '.join(said)}" + "".join(f" — {each}" for each in _told(first_sentence(gist)))


def _told(said: str) -> Iterable[str]:
    return [said] if said else []


def _rest(count: int) -> str:
    return f"… and {counted(count, 'topic')} more, found by the links above."
