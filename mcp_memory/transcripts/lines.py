"""Whole lines of a file that somebody else appends to, read from an offset, in bounded memory and time."""

from __future__ import annotations

import os
from dataclasses import dataclass

STEP_BYTES = 2_000_000
"""Read in one go; some tens of milliseconds with what is made of them."""

MOST_LINE_BYTES = 16_000_000
"""A longer line is passed over: none of a client's is, but for images."""

BLOCK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """`offset` is the byte at which it begins; `data` is without its line break."""

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Stretch:
    """`next_offset` is where to go on; `within` says that this is inside a line that is too long, `too_long` how many
    such lines began here. `at_end`: nothing more is to be had now."""

    lines: tuple[Line, ...]
    next_offset: int
    within: bool
    too_long: int
    at_end: bool


def read_stretch(
    descriptor: int,
    offset: int,
    *,
    within: bool = False,
    step_bytes: int = STEP_BYTES,
    most_line_bytes: int = MOST_LINE_BYTES,
    block_bytes: int = BLOCK_BYTES,
) -> Stretch:
    """A last line without a line break is left for later: it is still being written, and may end in half a character.

    Raises OSError.
    """
    lines: list[Line] = []
    begins = at = offset
    held = bytearray()
    too_long = 0
    while block := os.pread(descriptor, block_bytes, at):
        at += len(block)
        if within:
            _, found, block = block.partition(b"\n")
            begins, within = at - len(block), not found
        held += block
        if b"\n" in block:
            *whole, rest = bytes(held).split(b"\n")
            for data in whole:
                lines.append(Line(begins, data))
                begins += len(data) + 1
            held = bytearray(rest)
        if len(held) > most_line_bytes:
            held.clear()
            begins, within, too_long = at, True, too_long + 1
        if at - offset >= step_bytes and (lines or within):
            return Stretch(tuple(lines), begins, within, too_long, at_end=False)
    return Stretch(tuple(lines), begins, within, too_long, at_end=True)
