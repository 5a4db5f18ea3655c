"""Build a capture step: redact the next lines of a transcript and split them into pages. Writes nothing."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path

from mcp_memory.capture.checkpoint import DIGEST_BYTES, Checkpoint
from mcp_memory.capture.full_pages import BeginOf, Said, take_out
from mcp_memory.capture.off_record_turns import NOTHING, ON_AND_ON, Stretch, TakenBack, on_record, silent_from
from mcp_memory.capture.readers.lines import TranscriptLine
from mcp_memory.capture.readers.message import WENT_WELL, ReaderContext, Silence, Transcript, TranscriptMessage
from mcp_memory.capture.readers.openclaw import find_conversation
from mcp_memory.capture.readers.registry import parse_line
from mcp_memory.capture.tail import NewLines
from mcp_memory.capture.transcript_paths import TranscriptPath
from mcp_memory.capture.transcript_store import (
    SegmentOrigin,
    SessionSegment,
    SpokenTurn,
    first_path_of,
    page_of,
    render_segment,
)
from mcp_memory.text.secrets.finder import redact

MOST_TEXT_CHARS = 100_000
"""The most characters of a message; anything longer is a pasted document."""

MOST_TOOL_CHARS = 4000
"""The most characters of each tool result."""

MOST_ARGUMENT_CHARS = 1500
"""The most characters of each argument of a tool call. Readers keep 500 more, so that the cut leaves no half of a
secret."""

_SEAM_CHARS = 20_000
"""The characters redacted beyond the cut, so that the cut never leaves half a secret; longer than any secret."""


@dataclass(frozen=True)
class CaptureStep:
    """A step, not yet written. `checkpoint` is the position after it, `digests` its messages' digests, `secret_count`
    the redacted secrets. `at_end`: there is nothing more to read now."""

    checkpoint: Checkpoint
    messages: tuple[TranscriptMessage, ...]
    pages: Mapping[str, bytes]
    digests: tuple[bytes, ...]
    secret_count: int
    at_end: bool
    removed: tuple[str, ...] = ()
    """Pages, without `.md`, with words that the person took back."""
    taken_back: TakenBack = NOTHING
    words_taken_back: frozenset[Said] = frozenset()

    @property
    def session(self) -> str:
        return self.checkpoint.context.session


def build_step(
    path: TranscriptPath,
    news: NewLines,
    checkpoint: Checkpoint,
    seen: Collection[bytes],
    *,
    zone: tzinfo,
    now: datetime,
    project_of: Callable[[str, str], str | None],
    silences: Sequence[Sequence[str]] = (),
    earlier: Callable[[], Iterable[TranscriptMessage]] = tuple,
    begin_of: BeginOf = lambda _: None,
    withdrawn: TakenBack = NOTHING,
) -> CaptureStep:
    """Build a step. `seen`: the digests of earlier messages, if the file has ever been replaced. `project_of`: the
    project of a folder and session. `silences`: the silences of a sub-agent's session. `earlier` reads the messages
    before, and `begin_of` returns the offset of the first one on a page. `withdrawn`: what is taken back in a copy."""
    batch = news.batch
    if news.restarted:
        context = ReaderContext(delegated=checkpoint.context.delegated)
        checkpoint = replace(checkpoint, context=context, restarts=checkpoint.restarts + 1)
    context = deepcopy(checkpoint.context)
    context.session = context.session or path.session
    read = _Reading(path.client, context, seen, zone)
    spoken = [message for line in batch.lines for message in read.messages(line)]
    audible = silent_from(spoken, silences)
    silent_at = spoken[audible].offset if audible < len(spoken) else None
    kept, taken_back = on_record(spoken[:audible], context, earlier)
    taken_back += withdrawn
    context.withdrawn += [[stretch.begin, stretch.end] for stretch in withdrawn.stretches]
    if silences:
        context.silences = [[*silence] for silence in silences]
    if silent_at is not None:
        context.silence = Silence.SESSION
    messages = [message for message in kept if read.is_new(message)]
    if context.silence:
        context.arguments.clear()
    threads = dict(checkpoint.threads)
    pages: dict[str, bytes] = {}
    removed: list[str] = []
    if path.is_database and (conversation := find_conversation(path.file, path.session)):
        context.project = conversation
    elif not context.project or Path(context.folder).is_dir():
        context.project = project_of(context.folder, context.session)

    def origin_of(thread: str) -> SegmentOrigin:
        return SegmentOrigin(path.client, path.name, thread or path.inner.stem, context.project)

    said: Iterable[TranscriptMessage | SpokenTurn] = spoken
    if taken_back:
        shown = partial(_of_thread, messages=earlier)
        changed = take_out(taken_back, threads, origin_of, begin_of, shown)
        held = [turn for segment in threads.values() for turn in segment.turns]
        said = [*(earlier() if changed.full else held), *spoken]
        removed, pages, threads = changed.removed, changed.pages, changed.threads
    for thread, turns in _by_thread(messages).items():
        segments = threads.get(thread, SessionSegment()).extend(turns)
        origin = origin_of(thread)
        for segment in segments:
            pages |= render_segment(segment, origin)
        threads[thread] = segments[-1]
    return CaptureStep(
        replace(
            checkpoint,
            offset=batch.next_offset,
            in_long_line=batch.in_long_line,
            fingerprint=news.fingerprint,
            context=context,
            threads=threads,
            unreadable=checkpoint.unreadable + read.unreadable + batch.long_line_count,
            captured_at=now.isoformat(timespec="seconds") if messages else checkpoint.captured_at,
        ),
        tuple(messages),
        pages,
        tuple(read.digests),
        read.secrets,
        batch.at_end,
        tuple(removed),
        taken_back=taken_back if silent_at is None else taken_back + TakenBack((Stretch(silent_at, ON_AND_ON),)),
        words_taken_back=frozenset(
            (one.turn.at, one.turn.text) for one in said if one.turn.at and one.offset in taken_back
        ),
    )


def pages_of(path: TranscriptPath, checkpoint: Checkpoint) -> tuple[str, ...]:
    """Return all pages that a transcript has, in the form of `CaptureStep.removed`."""
    return tuple(
        page_of(number, SegmentOrigin(path.client, path.name, thread or path.inner.stem, None))
        for thread, last in checkpoint.threads.items()
        for number in range(1, last.number + 1)
    )


def drop_removed_segments(path: TranscriptPath, checkpoint: Checkpoint, has: Callable[[str], bool]) -> Checkpoint:
    """Drop the turns of pages that were deleted since, so that they aren't written again. `has`: whether a page
    exists."""

    def kept(thread: str, segment: SessionSegment) -> SessionSegment:
        origin = SegmentOrigin(path.client, path.name, thread or path.inner.stem, None)
        is_gone = segment.turns and not has(first_path_of(segment, origin))
        return SessionSegment(segment.number + 1) if is_gone else segment

    return replace(checkpoint, threads={thread: kept(thread, last) for thread, last in checkpoint.threads.items()})


@dataclass
class _Reading:
    client: str
    context: ReaderContext
    seen: Collection[bytes]
    zone: tzinfo
    digests: list[bytes] = field(default_factory=list[bytes])
    secrets: int = 0
    unreadable: int = 0

    def messages(self, line: TranscriptLine) -> Transcript:
        """Return the line's messages without secrets."""
        messages = parse_line(self.client, line.data, line.offset, self.context)
        if messages is None:
            self.unreadable += 1
        return [self._clean(message) for message in messages or ()]

    def _clean(self, message: TranscriptMessage) -> TranscriptMessage:
        turn = message.turn
        at = turn.at.astimezone(self.zone) if turn.at else None
        message = replace(
            message,
            arguments={name: redact(text).text[:MOST_ARGUMENT_CHARS] for name, text in message.arguments.items()},
        )
        if message.is_call and not message.failed:
            # Most of a transcript is tool output; replacing it saves looking for secrets in it.
            return replace(message, turn=replace(turn, text=WENT_WELL, at=at))
        most = MOST_TOOL_CHARS if message.is_call else MOST_TEXT_CHARS
        text, count = redact(turn.text[: most + _SEAM_CHARS])
        self.secrets += count
        if len(turn.text) > most:
            text = f"{text[:most].rstrip()} …"
        return replace(message, turn=replace(turn, text=text, at=at))

    def is_new(self, message: TranscriptMessage) -> bool:
        """Return whether the message is new. Remembers a digest that identifies it wherever it is in the file."""
        turn = message.turn
        at = turn.at.timestamp() if turn.at else ""
        parts = "\0".join([message.role, turn.session or "", turn.speaker, str(at), turn.text])
        digest = hashlib.blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()
        if digest in self.seen:
            return False
        self.digests.append(digest)
        return True


def _of_thread(thread: str, messages: Callable[[], Iterable[TranscriptMessage]]) -> list[TranscriptMessage]:
    spoken = [one for one in messages() if not one.is_call]
    return [one for one in spoken if (one.turn.session or "") == thread]


def _by_thread(messages: Transcript) -> dict[str, list[SpokenTurn]]:
    found: dict[str, list[SpokenTurn]] = {}
    for message in messages:
        if not message.is_call:
            found.setdefault(message.turn.session or "", []).append(SpokenTurn(message.turn, message.offset))
    return found
