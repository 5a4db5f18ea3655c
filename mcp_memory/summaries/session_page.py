"""Renders the summary of a session: a page of at most 200 words. Pure."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime

from ulid import ULID

from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.extraction.candidate import make_title
from mcp_memory.models import NoteId
from mcp_memory.summaries.session_facts import ASKED, Point
from mcp_memory.text.language.facts import facts
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.markdown import frontmatter

MOST_WORDS = 200
_AROUND = 16
"""Words of a page besides its points."""
LEAST_ASKED = 3
"""A session that only answered fewer questions is worth no summary."""
SESSION = "session"
"""The `node_kind` of the page, and its kind."""

Parts = Mapping[str, Sequence[Point]]


def session_id(client: str, session: str) -> NoteId:
    """Of a session's page, always the same."""
    digest = hashlib.sha256(f"{SESSION}\0{client}\0{session}".encode("utf-8", "surrogatepass")).digest()
    return NoteId(str(ULID.from_bytes(b"\1" + digest[:15])))


def is_worth_telling(parts: Parts) -> bool:
    return len(parts[ASKED]) >= LEAST_ASKED or any(points for name, points in parts.items() if name != ASKED)


def choose_points(parts: Parts) -> Parts:
    """Of each part the first point, then those that say most for the words there are; each part in its order."""
    ranked = [(at > 0, -_worth(point), name, at) for name, points in parts.items() for at, point in enumerate(points)]
    left, chosen = MOST_WORDS - _AROUND, set[tuple[str, int]]()
    for *_, name, at in sorted(ranked):
        if (cost := _cost(parts[name][at])) <= left:
            left -= cost
            chosen.add((name, at))
    return {name: [point for at, point in enumerate(parts[name]) if (name, at) in chosen] for name in parts}


def render_session(
    captured: CapturedMessages, times: Sequence[datetime], parts: Parts, notes: Sequence[NoteId], covers: str,
    text: str, by: str,
) -> bytes:  # fmt: skip
    """`notes`: those that hold some of it. `covers` differs when the summary would."""
    meta = {
        "id": session_id(captured.client, captured.session), "kind": SESSION, "project": captured.project,
        "title": make_title(next(points[0].text for points in parts.values() if points)),
        "created": min(times).replace(microsecond=0), "updated": max(times).replace(microsecond=0),
        "source": captured.client, "session": captured.session, "derived_from": list(notes) or None,
        "node_kind": SESSION, "covers": covers, "by": by,
    }  # fmt: skip
    return frontmatter.render(meta, f"{text}\n\nTranscript: `{captured.file}`").encode(errors="replace")


def _cost(point: Point) -> int:
    """In words, with its place."""
    return len(point.text.split()) + 2


def _worth(point: Point) -> float:
    """What a word of it says: facts count most."""
    return (3 * len(facts(point.text)) + len(content_words(point.text))) / (_cost(point) + 3)
