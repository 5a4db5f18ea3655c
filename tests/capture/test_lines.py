"""Whole lines from an offset: whatever is read at a time, each line comes once, and none half."""

from __future__ import annotations

import os
import resource
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.capture.readers.lines import LineBatch, read_lines

MOST = 40

LINES = st.lists(st.binary(max_size=30).map(lambda data: data.replace(b"\n", b".")) | st.just(b"x" * (MOST + 30)))


def stretches(data: bytes, sizes: list[int], **small: int) -> tuple[list[tuple[int, bytes]], int, int]:
    """The lines of a file that grows to these sizes, how many were too long, and where reading ended."""
    found, offset, within, too_long = list[tuple[int, bytes]](), 0, False, 0
    with tempfile.TemporaryFile() as file:
        for size in [*sizes, len(data)]:
            os.pwrite(file.fileno(), data[:size], 0)
            while True:
                part: LineBatch = read_lines(file.fileno(), offset, within=within, **small)
                found += [(line.offset, line.data) for line in part.lines]
                offset, within, too_long = part.next_offset, part.in_long_line, too_long + part.long_line_count
                if part.at_end:
                    break
    return found, too_long, offset


@given(LINES, st.binary(max_size=20), st.lists(st.integers(0, 400)), st.integers(1, 50), st.integers(1, 80))
def test_any_growth_gives_each_line_once(lines: list[bytes], rest: bytes, sizes: list[int], block: int, step: int):
    rest = rest.replace(b"\n", b".")
    data = b"".join(each + b"\n" for each in lines) + rest
    grown = sorted(size for size in sizes if size <= len(data))
    sizes = {"block_bytes": block, "step_bytes": step, "far_bytes": 2 * step}
    found, too_long, offset = stretches(data, grown, **sizes, most_line_bytes=MOST)
    at, short, long = 0, list[tuple[int, bytes]](), 0
    for each in lines:
        if len(each) <= MOST:
            short.append((at, each))
        long += len(each) > MOST
        at += len(each) + 1
    # A block may bring a line whole that is a little too long: then it is read, which is as well.
    kept = [line for line in found if len(line[1]) <= MOST]
    assert kept == short
    assert too_long + len(found) - len(kept) == long
    assert offset == len(data) - len(rest)


def test_a_huge_file_takes_no_memory(tmp_path: Path):
    """Sparse, so it costs no disk: lines of 5 MB, and one that has more than may be held."""
    file = tmp_path / "huge.jsonl"
    with file.open("wb") as out:
        for _ in range(3):
            out.write(b"y" * 5_000_000 + b"\n")
        out.seek(250_000_000, 1)
        out.write(b"\nthe end\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    descriptor = os.open(file, os.O_RDONLY)
    try:
        offset, within, sizes, too_long = 0, False, list[int](), 0
        while True:
            part = read_lines(descriptor, offset, within=within)
            sizes += [len(line.data) for line in part.lines]
            offset, within, too_long = part.next_offset, part.in_long_line, too_long + part.long_line_count
            if part.at_end:
                break
    finally:
        os.close(descriptor)
    assert (sizes, too_long) == ([5_000_000] * 3 + [7], 1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 120_000  # KB
