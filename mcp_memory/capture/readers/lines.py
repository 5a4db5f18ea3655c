"""Read whole lines of a growing file from an offset, in bounded memory and time."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

STEP_BYTES = 2_000_000
"""The bytes of lines returned at once; processing them takes some tens of milliseconds."""

FAR_BYTES = 16_000_000
"""The most bytes read at once, where most lines are skipped: ten milliseconds."""

MOST_LINE_BYTES = 16_000_000
"""The longest line; longer lines are skipped, since only images make a line that long."""

BLOCK_BYTES = 256 * 1024


class TranscriptLine(NamedTuple):
    """A line. `offset` is the byte at which it begins; `data` excludes the line break."""

    offset: int
    data: bytes


@dataclass(frozen=True)
class LineBatch:
    """A batch of lines. The next batch starts at `next_offset`; `in_long_line` if that is inside a line that is too
    long. `long_line_count` counts the lines that are too long and began in this batch. `at_end`: there is nothing more
    now."""

    lines: tuple[TranscriptLine, ...]
    next_offset: int
    in_long_line: bool
    long_line_count: int
    at_end: bool


def read_lines(
    descriptor: int,
    offset: int,
    *,
    within: bool = False,
    can_skip: Callable[[bytes], bool] = lambda _: False,
) -> LineBatch:
    """Read up to `STEP_BYTES` of lines that `can_skip` lets pass, or `FAR_BYTES` of any. Leaves a last line without a
    line break for later: it is still being written, and may end in half a character.

    Raises OSError."""
    lines: list[TranscriptLine] = []
    begins = at = offset
    held = bytearray()
    too_long = kept = 0
    while block := os.pread(descriptor, BLOCK_BYTES, at):
        at += len(block)
        if within:
            _, found, block = block.partition(b"\n")
            begins, within = at - len(block), not found
        held += block
        if b"\n" in block:
            *whole, rest = bytes(held).split(b"\n")
            for data in whole:
                if not can_skip(data):
                    lines.append(TranscriptLine(begins, data))
                    kept += len(data)
                begins += len(data) + 1
            held = bytearray(rest)
        if len(held) > MOST_LINE_BYTES:
            held.clear()
            begins, within, too_long = at, True, too_long + 1
        if kept >= STEP_BYTES or (at - offset >= FAR_BYTES and begins > offset):
            return LineBatch(tuple(lines), begins, within, too_long, at_end=False)
    return LineBatch(tuple(lines), begins, within, too_long, at_end=True)
