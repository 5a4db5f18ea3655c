"""Take messages out of the pages of a session, and find them in copies of it, which clients make to resume or fork
it. Full pages are filled again from the transcript."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import PurePosixPath
from typing import NamedTuple

from mcp_memory.capture.checkpoint import Checkpoint
from mcp_memory.capture.off_record_turns import Stretch, TakenBack, list_turns
from mcp_memory.capture.readers.message import Transcript, TranscriptMessage
from mcp_memory.capture.transcript_paths import TranscriptPath, TranscriptPaths
from mcp_memory.capture.transcript_store import (
    UNKNOWN,
    SegmentOrigin,
    SessionSegment,
    SpokenTurn,
    first_path_of,
    page_of,
    render_segment,
)
from mcp_memory.errors import McpMemoryError

Said = tuple[datetime, str]
"""The time and text of a message, which a copy repeats."""


def find_copies(
    paths: TranscriptPaths,
    checkpoints: Iterable[Checkpoint],
    path: TranscriptPath,
    taken_back: Collection[Said],
    read: Callable[[TranscriptPath, Checkpoint], Transcript],
) -> Iterator[tuple[TranscriptPath, Checkpoint, TakenBack]]:
    """Yield the captured transcripts beside this one that have messages taken back, and the turns of them. `read`
    returns the captured messages."""
    times = {at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S").encode() for at, _ in taken_back}
    folder = PurePosixPath(path.name).parent
    for checkpoint in checkpoints:
        if checkpoint.name == path.name or PurePosixPath(checkpoint.name).parent != folder:
            continue
        with suppress(McpMemoryError, OSError):  # it is gone
            copy = paths.locate(checkpoint.client, checkpoint.name)
            text = b"" if copy.is_database else copy.file.read_bytes()
            if any(time in text for time in times):
                turns = list_turns(read(copy, checkpoint))
                ends = [*(turn[0].offset for turn in turns[1:]), checkpoint.offset]
                found = TakenBack(
                    tuple(
                        Stretch(turn[0].offset, after)
                        for turn, after in zip(turns, ends, strict=True)
                        if any((message.at, message.text) in taken_back for message in turn)
                    )
                )
                if found:
                    yield copy, checkpoint, found


Spoken = Callable[[str], Iterable[TranscriptMessage]]
"""Reads the earlier messages of a thread that pages show."""
BeginOf = Callable[[str], int | None]
"""Returns the offset of a page's first message, None for a page that doesn't exist."""


class ChangedPages(NamedTuple):
    """`removed`: pages, named by `page_of`. `pages` replace some of them. `threads`: the last segment of each. `full`:
    whether a full page is among them."""

    removed: list[str]
    pages: dict[str, bytes]
    threads: dict[str, SessionSegment]
    full: bool


def take_out(
    taken_back: TakenBack,
    threads: Mapping[str, SessionSegment],
    origin_of: Callable[[str], SegmentOrigin],
    begin_of: BeginOf,
    spoken: Spoken,
) -> ChangedPages:
    """Return the pages of all threads that change."""
    removed: list[str] = []
    pages: dict[str, bytes] = {}
    left: dict[str, SessionSegment] = {}
    for thread, last in threads.items():
        origin = origin_of(thread)
        for page, others in _full_pages(taken_back, last, origin, begin_of, lambda of=thread: spoken(of)):
            removed.append(page)
            pages |= others
        removed.append(page_of(last.number, origin))
        left[thread] = last.without(taken_back)
        pages |= render_segment(left[thread], origin)
    return ChangedPages(removed, pages, left, len(removed) > len(threads))


def _full_pages(
    taken_back: TakenBack,
    last: SessionSegment,
    origin: SegmentOrigin,
    begin_of: BeginOf,
    spoken: Callable[[], Iterable[TranscriptMessage]],
) -> Iterator[tuple[str, Mapping[str, bytes]]]:
    """Yield each page before the page `last` that has a message taken back, and the pages that replace it. A page whose
    next page was deleted has an unknown end, so it is only removed."""
    begins = [begin_of(first_path_of(SessionSegment(number), origin)) for number in range(1, last.number)]
    begins.append(last.turns[0].offset if last.turns else taken_back.end)
    for number, (begin, end) in enumerate(pairwise(begins), 1):
        is_whole = end is not None and UNKNOWN not in (begin, end)
        if begin is None or not taken_back.meets(begin, end if end is not None and is_whole else taken_back.end):
            continue
        pages: Mapping[str, bytes] = {}
        if end is not None and is_whole:
            kept = [one for one in spoken() if begin <= one.offset < end and one.offset not in taken_back]
            turns = tuple(SpokenTurn(message.turn, message.offset) for message in kept)
            pages = render_segment(SessionSegment(number, turns), origin)
        yield page_of(number, origin), pages
