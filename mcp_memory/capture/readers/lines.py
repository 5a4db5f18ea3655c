"""Whole lines of a file that somebody else appends to, read from an offset, in bounded memory and time."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

STEP_BYTES = 2_000_000
"""Kept in one go; some tens of milliseconds with what is made of them."""

FAR_BYTES = 16_000_000
"""Read in one go at most, where most is passed over: ten milliseconds."""

MOST_LINE_BYTES = 16_000_000
"""A longer line is passed over: none of a client's is, but for images."""

BLOCK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """`offset` is the byte at which it begins; `data` is without its line break."""

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class LineBatch:
    """`next_offset` is where to go on; `within` says that this is inside a line that is too long, `too_long` how many
    such lines began here. `at_end`: nothing more is to be had now."""

    lines: tuple[TranscriptLine, ...]
    next_offset: int
    within: bool
    too_long: int
    at_end: bool


def read_stretch(
    descriptor: int,
    offset: int,
    *,
    within: bool = False,
    is_silent: Callable[[bytes], bool] = lambda _: False,
    step_bytes: int = STEP_BYTES,
    far_bytes: int = FAR_BYTES,
    most_line_bytes: int = MOST_LINE_BYTES,
    block_bytes: int = BLOCK_BYTES,
) -> LineBatch:
    """A last line without a line break is left for later: it is still being written, and may end in half a character.
    Lines that are silent are passed over. Ends behind `step_bytes` of others, or `far_bytes` of any.

    Raises OSError.
    """
    lines: list[TranscriptLine] = []
    begins = at = offset
    held = bytearray()
    too_long = kept = 0
    while block := os.pread(descriptor, block_bytes, at):
        at += len(block)
        if within:
            _, found, block = block.partition(b"\n")
            begins, within = at - len(block), not found
        held += block
        if b"\n" in block:
            *whole, rest = bytes(held).split(b"\n")
            for data in whole:
                if not is_silent(data):
                    lines.append(TranscriptLine(begins, data))
                    kept += len(data)
                begins += len(data) + 1
            held = bytearray(rest)
        if len(held) > most_line_bytes:
            held.clear()
            begins, within, too_long = at, True, too_long + 1
        if kept >= step_bytes or (at - offset >= far_bytes and begins > offset):
            return LineBatch(tuple(lines), begins, within, too_long, at_end=False)
    return LineBatch(tuple(lines), begins, within, too_long, at_end=True)
