"""A step: the next stretch of one transcript read, freed of secrets and cut into leaves. Writes nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from mcp_memory.capture.checkpoint import DIGEST_BYTES, Checkpoint
from mcp_memory.capture.readers.context import ReaderContext
from mcp_memory.capture.readers.lines import TranscriptLine
from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.capture.readers.registry import messages_of
from mcp_memory.capture.segments import SegmentOrigin, SessionSegment, SpokenTurn, first_page_of, pages_of
from mcp_memory.capture.tail import NewLines
from mcp_memory.capture.transcript_paths import TranscriptPath
from mcp_memory.runtime.project import project_of
from mcp_memory.text.secrets.redaction import redact

MOST_SAID_CHARS = 100_000
"""Of one message; who pastes more pastes a document."""

MOST_TOOL_CHARS = 4000
"""Of what one call of a tool gave back."""

WENT_WELL = "ok"
"""In place of what a tool gave back that nobody keeps."""

_SEAM_CHARS = 20_000
"""Looked at behind the cut, so that no half of a secret is left before it: longer than any."""


@dataclass(frozen=True, slots=True)
class CaptureStep:
    """What one stretch comes to. `bookmark` stands behind it, `digests` are of its messages, `secrets` were taken out.
    `at_end`: nothing more is to be had now."""

    bookmark: Checkpoint
    messages: tuple[TranscriptMessage, ...]
    pages: Mapping[str, bytes]
    digests: tuple[bytes, ...]
    secrets: int
    at_end: bool

    @property
    def session(self) -> str:
        return self.bookmark.context.session


def step_of(
    place: TranscriptPath,
    news: NewLines,
    bookmark: Checkpoint,
    seen: Collection[bytes],
    *,
    zone: tzinfo,
    now: datetime,
    tool_output: bool,
) -> CaptureStep:
    """`seen` are the digests of what was captured before, where the file has ever been another one."""
    stretch = news.stretch
    if news.restarted:
        context = ReaderContext(delegated=bookmark.context.delegated)
        bookmark = replace(bookmark, context=context, restarts=bookmark.restarts + 1)
    context = ReaderContext.from_payload(bookmark.context.payload())
    context.session = context.session or place.session
    read = _Reading(place.client, context, seen, zone, tool_output=tool_output)
    messages = [message for line in stretch.lines for message in read.new(line)]
    threads = dict(bookmark.threads)
    pages: dict[str, bytes] = {}
    project = project_of(context.folder)
    for thread, spoken in _by_thread(messages, tool_output=tool_output).items():
        segments = threads.get(thread, SessionSegment()).grown(spoken)
        origin = SegmentOrigin(place.client, place.name, thread or place.inner.stem, project)
        for segment in segments:
            pages |= pages_of(segment, origin)
        threads[thread] = segments[-1]
    return CaptureStep(
        replace(
            bookmark,
            offset=stretch.next_offset,
            within=stretch.within,
            mark=news.mark,
            context=context,
            threads=threads,
            unreadable=bookmark.unreadable + read.unreadable + stretch.too_long,
            captured_at=now.isoformat(timespec="seconds") if messages else bookmark.captured_at,
        ),
        tuple(messages),
        pages,
        tuple(read.digests),
        read.secrets,
        stretch.at_end,
    )


def without_removed(place: TranscriptPath, bookmark: Checkpoint, has: Callable[[str], bool]) -> Checkpoint:
    """Without the turns of leaves that somebody has removed since: they are not written again. `has`: whether a leaf is
    there."""

    def kept(thread: str, segment: SessionSegment) -> SessionSegment:
        origin = SegmentOrigin(place.client, place.name, thread or place.inner.stem, None)
        is_gone = segment.spoken and not has(first_page_of(segment, origin))
        return SessionSegment(segment.number + 1) if is_gone else segment

    return replace(bookmark, threads={thread: kept(thread, each) for thread, each in bookmark.threads.items()})


class _Reading:
    def __init__(
        self, client: str, context: ReaderContext, seen: Collection[bytes], zone: tzinfo, *, tool_output: bool
    ) -> None:
        self._client = client
        self._context = context
        self._seen = seen
        self._zone = zone
        self._tool_output = tool_output
        self.digests: list[bytes] = []
        self.secrets = 0
        self.unreadable = 0

    def new(self, line: TranscriptLine) -> Sequence[TranscriptMessage]:
        """What the line holds and was not captured before."""
        messages = messages_of(self._client, line.data, line.offset, self._context)
        if messages is None:
            self.unreadable += 1
        return [each for message in messages or () if (each := self._unseen(self._clean(message)))]

    def _clean(self, message: TranscriptMessage) -> TranscriptMessage:
        turn = message.turn
        at = turn.at.astimezone(self._zone) if turn.at else None
        if message.role is Role.TOOL and not message.failed and not self._tool_output:
            # Most of a transcript, and nobody asks for more than that it went well: secrets need not be looked for.
            return replace(message, turn=replace(turn, text=WENT_WELL, at=at))
        most = MOST_TOOL_CHARS if message.role is Role.TOOL else MOST_SAID_CHARS
        text, count = redact(turn.text[: most + _SEAM_CHARS])
        self.secrets += count
        if len(turn.text) > most:
            text = f"{text[:most].rstrip()} …"
        return replace(message, turn=replace(turn, text=text, at=at))

    def _unseen(self, message: TranscriptMessage) -> TranscriptMessage | None:
        digest = _digest(message)
        if digest in self._seen:
            return None
        self.digests.append(digest)
        return message


def _digest(message: TranscriptMessage) -> bytes:
    """Of what makes a message the same one wherever it stands."""
    turn = message.turn
    at = turn.at.timestamp() if turn.at else ""
    said = "\0".join([message.role, turn.session or "", turn.speaker, str(at), turn.text])
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def _by_thread(messages: Sequence[TranscriptMessage], *, tool_output: bool) -> dict[str, list[SpokenTurn]]:
    found: dict[str, list[SpokenTurn]] = {}
    for message in messages:
        if tool_output or message.role is not Role.TOOL:
            found.setdefault(message.turn.session or "", []).append(SpokenTurn(message.turn, message.offset))
    return found
