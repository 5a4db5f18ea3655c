"""Take messages out of the full pages of a thread, which are filled again from the transcript."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise

from mcp_memory.capture.off_record_turns import TakenBack
from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.capture.transcript_store import (
    UNKNOWN,
    SegmentOrigin,
    SessionSegment,
    SpokenTurn,
    first_path_of,
    page_of,
    render_segment,
)


def pages_without(
    taken_back: TakenBack,
    last: SessionSegment,
    origin: SegmentOrigin,
    begin_of: Callable[[str], int | None],
    spoken: Callable[[], Iterable[TranscriptMessage]],
) -> Iterator[tuple[str, Mapping[str, bytes]]]:
    """Yield each page before the `last` one that has a message taken back, named by `page_of`, with the pages that
    replace it. `begin_of`: the offset of a page's first message, None for a page that doesn't exist; `spoken` reads the
    thread's messages. A page is only removed if it is unknown where it ends, since the next page was deleted."""
    begins = [begin_of(first_path_of(SessionSegment(number), origin)) for number in range(1, last.number)]
    begins.append(last.turns[0].offset if last.turns else taken_back.end)
    for number, (begin, end) in enumerate(pairwise(begins), 1):
        if begin is None or not taken_back.meets(begin, taken_back.end if end in (None, UNKNOWN) else end):
            continue
        pages: Mapping[str, bytes] = {}
        if begin != UNKNOWN and end not in (None, UNKNOWN):
            kept = [one for one in spoken() if begin <= one.offset < end and one.offset not in taken_back]
            turns = tuple(SpokenTurn(message.turn, message.offset) for message in kept)
            pages = render_segment(SessionSegment(number, turns), origin)
        yield page_of(number, origin), pages
