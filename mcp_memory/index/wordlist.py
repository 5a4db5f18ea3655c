"""What a note's row stores of its words: from texts to bytes, and from the bytes of many notes to a segment."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mcp_memory.index import words
from mcp_memory.index.postings import MOST, collect
from mcp_memory.index.rows import DamagedRow
from mcp_memory.index.schema import ORDINAL_BITS
from mcp_memory.index.segment import Segment

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEAD = struct.Struct("<IIIII")
_COLUMNS = ("<u4", "<u4", "<u4", "<u4", "<u4", "<u8", "<u1", "<u8", "<u1")
"""Of chunks: words, section, postings; of sections: words above, postings; keys and counts of both in turn."""


def encode(chunks: Sequence[tuple[int, str]], places: Mapping[int, str]) -> bytes:
    """A note's words. `chunks`: section number, ascending, and text of each; `places`: what stands above a section."""
    numbers = {section: at for at, section in enumerate(dict.fromkeys(section for section, _ in chunks))}
    own = [words.count(text) for _, text in chunks]
    place = [words.count(places.get(section, "")) for section in numbers]
    columns = [
        [length for _, length in own],
        [numbers[section] for section, _ in chunks],
        [len(counts) for counts, _ in own],
        [length for _, length in place],
        [len(counts) for counts, _ in place],
        *_flat(counts for counts, _ in own),
        *_flat(counts for counts, _ in place),
    ]
    body = b"".join(np.array(column, dtype=kind).tobytes() for column, kind in zip(columns, _COLUMNS, strict=True))
    return _HEAD.pack(len(chunks), len(place), len(columns[5]), len(columns[7]), zlib.crc32(body)) + body


def segment(notes: Iterable[tuple[int, bytes]]) -> Segment:
    """The words of notes, by their numbers, ascending. Raises DamagedRow."""
    chunks: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    columns: list[list[NDArray[Any]]] = [[np.empty(0, dtype=kind)] for kind in _COLUMNS]
    sections_before = 0
    for number, data in notes:
        note = _columns(data)
        chunks.append(np.arange(len(note[0]), dtype=np.int64) + (number << ORDINAL_BITS))
        note[1] = note[1] + np.uint32(sections_before)
        sections_before += len(note[3])
        for column, values in zip(columns, note, strict=True):
            column.append(values)
    lengths, sections, sizes, place_lengths, place_sizes, *postings = (np.concatenate(column) for column in columns)
    keys, counts, place_keys, place_counts = postings
    return Segment(
        np.concatenate(chunks),
        lengths,
        sections,
        place_lengths,
        collect(keys, np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes), counts),
        collect(place_keys, np.repeat(np.arange(len(place_sizes), dtype=np.uint32), place_sizes), place_counts),
    )


def _columns(data: bytes) -> list[NDArray[Any]]:
    try:
        chunks, sections, own, place, checksum = _HEAD.unpack_from(data)
        body = memoryview(data)[_HEAD.size :]
        if zlib.crc32(body) != checksum:
            raise DamagedRow("a note's words cannot be read")
        found: list[NDArray[Any]] = []
        at = 0
        sizes = (chunks, chunks, chunks, sections, sections, own, own, place, place)
        for size, kind in zip(sizes, _COLUMNS, strict=True):
            found.append(np.frombuffer(body, dtype=kind, count=size, offset=at))
            at += found[-1].nbytes
    except (struct.error, TypeError, ValueError) as error:
        raise DamagedRow("a note's words cannot be read") from error
    return found


def _flat(counters: Iterable[Counter[int]]) -> tuple[list[int], list[int]]:
    """Keys and counts of all, one after the other."""
    keys: list[int] = []
    counts: list[int] = []
    for counter in counters:
        keys += counter
        counts += (min(times, MOST) for times in counter.values())
    return keys, counts
