"""Segments: the turns of a session cut into leaves, the same ones however the turns come. Pure.

A segment ends where the next turn has no room in it; what comes later changes none before. Each thread of a transcript
(a session, or a sub-agent's part of one) has its own, counted from 1.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mcp_memory.errors import InvalidInput
from mcp_memory.text.conversation.conversation_chunks import LEAF_TOKENS, Leaf, leaves_of
from mcp_memory.text.conversation.messages import Turn
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.tokens import CHARS_PER_TOKEN

MOST_CHARS = LEAF_TOKENS * CHARS_PER_TOKEN
KIND = "transcript"

_AROUND = 40
"""Characters that a turn takes besides its words: speaker, time, a day's heading now and then …"""


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A turn that may be kept, and the byte of its transcript at which its line begins."""

    turn: Turn
    offset: int

    def payload(self) -> list[Any]:
        turn = self.turn
        return [turn.speaker, turn.text, turn.at.isoformat() if turn.at else None, turn.session, self.offset]

    @classmethod
    def from_payload(cls, payload: Sequence[Any]) -> SpokenTurn:
        speaker, text, at, session, offset = payload
        return cls(Turn(speaker, text, datetime.fromisoformat(at) if at else None, session), offset)

    @property
    def length(self) -> int:
        """About as many characters as it takes in a leaf, where its lines are indented."""
        return len(self.turn.text) + 2 * self.turn.text.count("\n") + _AROUND


@dataclass(frozen=True, slots=True)
class SessionSegment:
    """`number` counts from 1."""

    number: int = 1
    spoken: tuple[SpokenTurn, ...] = ()

    def grown(self, more: Iterable[SpokenTurn]) -> list[SessionSegment]:
        """This one with what has room in it, and those that follow; only the last can grow any more."""
        done: list[SessionSegment] = []
        number, held = self.number, list(self.spoken)
        length = sum(each.length for each in held)
        for each in more:
            if held and length + each.length > MOST_CHARS:
                done.append(SessionSegment(number, tuple(held)))
                number, held, length = number + 1, [], 0
            held.append(each)
            length += each.length
        return [*done, SessionSegment(number, tuple(held))]


@dataclass(frozen=True, slots=True)
class SegmentOrigin:
    """Where leaves come from: `name` is the transcript's, `thread` the session's or its sub-agent's."""

    client: str
    name: str
    thread: str
    project: str | None

    @property
    def folder(self) -> str:
        """Relative to the source, and different for each thread of each transcript."""
        digest = hashlib.sha256(f"{self.client}\0{self.name}\0{self.thread}".encode("utf-8", "surrogatepass"))
        plain = re.sub(r"[^A-Za-z0-9]+", "-", self.thread)[:60].strip("-")
        return f"{self.client}/{plain or 'session'}-{digest.hexdigest()[:8]}"


def first_page_of(segment: SessionSegment, origin: SegmentOrigin) -> str:
    """The path of its first leaf, where it has any."""
    return f"{origin.folder}/{segment.number:04}.md"


def pages_of(segment: SessionSegment, origin: SegmentOrigin) -> Mapping[str, bytes]:
    """The leaves of a segment by their path in the source: one, or several for a turn that is too long for one."""
    leaves = leaves_of(each.turn for each in segment.spoken)
    return {
        f"{origin.folder}/{segment.number:04}{f'-{part}' if part > 1 else ''}.md": _page(leaf, segment, origin)
        for part, leaf in enumerate(leaves, 1)
    }


def _page(leaf: Leaf, segment: SessionSegment, origin: SegmentOrigin) -> bytes:
    meta = {
        "title": leaf.title,
        "kind": KIND,
        "project": origin.project,
        "created": leaf.began.replace(microsecond=0) if leaf.began else None,
        "updated": leaf.ended.replace(microsecond=0) if leaf.ended else None,
        "source": origin.client,
        "session": origin.thread,
        "derived_from": [f"{origin.name}#{segment.spoken[0].offset}"],
    }
    try:
        return frontmatter.render(meta, leaf.content).encode("utf-8", "replace")
    except InvalidInput:  # a name that YAML cannot hold
        plain = {**meta, "title": f"Session, part {segment.number}", "session": None, "project": None}
        return frontmatter.render({**plain, "derived_from": None}, leaf.content).encode("utf-8", "replace")
