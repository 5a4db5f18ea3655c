"""Splits sessions into pages and stores them in the folder behind `@transcripts`: private, never synced or in git.

A segment ends where the next turn doesn't fit; later turns never change earlier segments. Each thread of a transcript
(a session, or a sub-agent's part of one) has its own segments, counted from 1.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from heapq import heapify, heappop, heapreplace
from pathlib import Path
from time import time
from typing import Any, NamedTuple, cast

from mcp_memory.errors import InvalidInput
from mcp_memory.runtime.private_files import naming_the_cause, replace_file
from mcp_memory.storage.folder_walk import walk
from mcp_memory.text.conversation.conversation_chunks import CHUNK_TOKENS, ConversationChunk, chunk_conversation
from mcp_memory.text.conversation.messages import Turn
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.tokens import CHARS_PER_TOKEN

MOST_CHARS = CHUNK_TOKENS * CHARS_PER_TOKEN
KIND = "transcript"

UNKNOWN = -1

_AROUND = 40
"""Characters per turn besides its text: speaker, time, an occasional day heading."""


class SpokenTurn(NamedTuple):
    """A turn, and the byte of its transcript at which its line begins."""

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
        """Approximate characters in a page, where its lines are indented."""
        return len(self.turn.text) + 2 * self.turn.text.count("\n") + _AROUND


@dataclass(frozen=True)
class SessionSegment:
    """`number` counts from 1."""

    number: int = 1
    turns: tuple[SpokenTurn, ...] = ()

    def extend(self, more: Iterable[SpokenTurn]) -> list[SessionSegment]:
        """Return this segment with the turns that fit, and the following segments; only the last segment can still
        grow."""
        done: list[SessionSegment] = []
        number, held = self.number, list(self.turns)
        length = sum(turn.length for turn in held)
        for turn in more:
            if held and length + turn.length > MOST_CHARS:
                done.append(SessionSegment(number, tuple(held)))
                number, held, length = number + 1, [], 0
            held.append(turn)
            length += turn.length
        return [*done, SessionSegment(number, tuple(held))]

    def without(self, offsets: Container[int]) -> SessionSegment:
        """Return this segment without the turns at these bytes."""
        return SessionSegment(self.number, tuple(spoken for spoken in self.turns if spoken.offset not in offsets))


class SegmentOrigin(NamedTuple):
    """`name` is the transcript's, `thread` the session or its sub-agent."""

    client: str
    name: str
    thread: str
    project: str | None

    @property
    def folder(self) -> str:
        """Relative to the store, and unique to the thread and transcript."""
        digest = hashlib.sha256(f"{self.client}\0{self.name}\0{self.thread}".encode("utf-8", "surrogatepass"))
        plain = re.sub(r"[^A-Za-z0-9]+", "-", self.thread)[:60].strip("-")
        return f"{self.client}/{plain or 'session'}-{digest.hexdigest()[:8]}"


def first_path_of(segment: SessionSegment, origin: SegmentOrigin) -> str:
    """Return the path of a segment's first page, whether it exists or not."""
    return f"{page_of(segment.number, origin)}.md"


def page_of(number: int, origin: SegmentOrigin) -> str:
    """Return the prefix of the paths of a segment's pages."""
    return f"{origin.folder}/{number:04}"


def render_segment(segment: SessionSegment, origin: SegmentOrigin) -> Mapping[str, bytes]:
    """Render a segment as pages by path: one, or several if a single turn is too long for one."""
    chunks = chunk_conversation(spoken.turn for spoken in segment.turns)
    return {
        f"{page_of(segment.number, origin)}{f'-{part}' if part > 1 else ''}.md": _page(chunk, segment, origin)
        for part, chunk in enumerate(chunks, 1)
    }


def _page(chunk: ConversationChunk, segment: SessionSegment, origin: SegmentOrigin) -> bytes:
    meta = {
        "title": chunk.title,
        "kind": KIND,
        "project": origin.project,
        "created": chunk.began.replace(microsecond=0) if chunk.began else None,
        "updated": chunk.ended.replace(microsecond=0) if chunk.ended else None,
        "source": origin.client,
        "session": origin.thread,
        "derived_from": [f"{origin.name}#{segment.turns[0].offset}"],
    }
    try:
        return frontmatter.render(meta, chunk.content).encode("utf-8", "replace")
    except InvalidInput:  # a name that YAML cannot hold
        plain = {**meta, "title": f"Session, part {segment.number}", "session": None, "project": None}
        return frontmatter.render({**plain, "derived_from": None}, chunk.content).encode("utf-8", "replace")


DAY_S = 86_400.0


@dataclass(frozen=True)
class TranscriptStore:
    """Only captures write to it; it is read as one of the vault's sources."""

    folder: Path
    keep_days: int
    keep_bytes: int

    def create_folder(self) -> None:
        """Create the folder, unless the state folder itself is missing. Raises StorageFailed."""
        with naming_the_cause(str(self.folder)), suppress(FileNotFoundError):
            self.folder.mkdir(mode=0o700, exist_ok=True)

    def contains(self, path: str) -> bool:
        return (self.folder / path).exists()

    def begin_of(self, path: str) -> int | None:
        """Return the offset of a page's first turn; UNKNOWN if the page doesn't state it, None for no page. Raises
        StorageFailed."""
        file = self.folder / path
        with naming_the_cause(str(file)), suppress(FileNotFoundError):
            sources = frontmatter.parse(file.read_text("utf-8", "replace")).meta.get("derived_from")
            source = str(cast("list[object]", sources)[0]) if isinstance(sources, list) and sources else ""
            place = source.rpartition("#")[2]
            return int(place) if place.isdigit() else UNKNOWN
        return None

    def write(self, pages: Mapping[str, bytes]) -> int:
        """Write each page atomically, unless it has these bytes already. Return how many changed. Raises
        StorageFailed."""
        written = 0
        for path, data in pages.items():
            file = self.folder / path
            with naming_the_cause(str(file)):
                with suppress(FileNotFoundError):
                    if file.read_bytes() == data:
                        continue
                replace_file(file, data)
            written += 1
        return written

    def remove(self, pages: Iterable[str]) -> int:
        """Remove pages, each named by `page_of`. Return how many were there. Raises StorageFailed."""
        gone = 0
        for page in pages:
            with naming_the_cause(str(self.folder / page)):
                for file in [*self.folder.glob(f"{page}.md"), *self.folder.glob(f"{page}-*.md")]:
                    file.unlink(missing_ok=True)
                    gone += 1
        return gone

    def prune(self) -> int:
        """Remove pages that are too old, then, while the store is too large, the oldest page of the largest session, so
        that one huge session doesn't cost others their pages. Return how many. Raises StorageFailed."""
        with naming_the_cause(str(self.folder)):
            sessions, gone = self._sessions(), 0
            oldest, left = time() - self.keep_days * DAY_S, sum(session.size for session in sessions)
            for session in sessions:
                while session.pages and session.pages[-1].written < oldest:
                    left -= session.remove_oldest()
                    gone += 1
            queue = [(-session.size, number) for number, session in enumerate(sessions) if session.pages]
            heapify(queue)
            while left > self.keep_bytes and queue:
                _, number = queue[0]
                left -= sessions[number].remove_oldest()
                gone += 1
                if sessions[number].pages:
                    heapreplace(queue, (-sessions[number].size, number))
                else:
                    heappop(queue)
        return gone

    def _sessions(self) -> list[_Session]:
        """List the sessions, the one with the oldest page first. Raises OSError."""
        found: list[_Session] = []
        for folder, _, names in walk(self.folder):
            pages: list[_Page] = []
            for name in names:
                path = os.path.join(folder, name)  # noqa: PTH118 -- by the thousand
                at = os.stat(path)  # noqa: PTH116 -- so, too
                pages.append(_Page(at.st_mtime, at.st_size, path))
            if pages:
                found.append(_Session(sorted(pages, reverse=True), sum(page.size for page in pages)))
        return sorted(found, key=lambda session: session.pages[-1])


class _Page(NamedTuple):
    written: float
    size: int
    path: str


@dataclass
class _Session:
    """`pages`: newest first."""

    pages: list[_Page]
    size: int

    def remove_oldest(self) -> int:
        """Return the bytes freed. Raises OSError."""
        page = self.pages.pop()
        Path(page.path).unlink(missing_ok=True)
        self.size -= page.size
        if not self.pages:
            with suppress(OSError):  # it is not empty
                Path(page.path).parent.rmdir()
        return page.size
