"""Find the messages that were taken back in copies of a session, which clients make to resume or fork it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePosixPath

from mcp_memory.capture.checkpoint import Checkpoint
from mcp_memory.capture.off_record_turns import Stretch, TakenBack, list_turns
from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.capture.transcript_paths import TranscriptPath, TranscriptPaths
from mcp_memory.errors import McpMemoryError

Said = tuple[datetime, str]
"""The time and text of a message, which a copy repeats."""


def find_copies(
    paths: TranscriptPaths,
    checkpoints: Iterable[Checkpoint],
    path: TranscriptPath,
    taken_back: Collection[Said],
    read: Callable[[TranscriptPath, Checkpoint], Sequence[TranscriptMessage]],
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
                turns = _turns_with(taken_back, read(copy, checkpoint), checkpoint.offset)
                if turns:
                    yield copy, checkpoint, turns


def _turns_with(taken_back: Collection[Said], messages: Sequence[TranscriptMessage], end: int) -> TakenBack:
    turns = list_turns(messages)
    ends = [*(turn[0].offset for turn in turns[1:]), end]
    return TakenBack(
        tuple(
            Stretch(turn[0].offset, after)
            for turn, after in zip(turns, ends, strict=True)
            if any((message.turn.at, message.turn.text) in taken_back for message in turn)
        )
    )
