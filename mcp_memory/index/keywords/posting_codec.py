"""Pack the words of a note into bytes for its row, and the bytes of many notes into a segment."""

import struct
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import mul
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcp_memory.index.keywords import tokenizer
from mcp_memory.index.keywords.postings import MOST, collect, stretches
from mcp_memory.index.keywords.segment import PostingSegment
from mcp_memory.index.sqlite.damage import DamagedRow
from mcp_memory.index.sqlite.schema import ORDINAL_BITS
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.text.conversation.speaker_prefix import speaker_of

_LONG = 64
"""The number of chunks from which a note's words are cached."""

_HEAD = struct.Struct("<IIIII")
_COLUMNS = ("<u4", "<u4", "<u4", "<u4", "<u4", "<u8", "<u1", "<u8", "<u1")
"""The types of the columns. For chunks: words, section, postings; for sections: words above, postings; then keys and
counts of both."""

_SIZE_OF = np.array((0, 0, 0, 1, 1, 2, 2, 3, 3))
"""The number of the head that gives each column's length: chunks, sections, postings of chunks, postings of
sections."""

_WIDTHS = np.array([np.dtype(kind).itemsize for kind in _COLUMNS])
_BYTES_EACH = np.bincount(_SIZE_OF, weights=_WIDTHS).astype(np.int64).tolist()


class WordCounts(NamedTuple):
    """The words of a text: how many, their keys (little-endian, 8 bytes each), and how often each occurs (1 byte)."""

    length: int
    keys: bytes
    counts: bytes


def count(text: str) -> WordCounts:
    found, length = tokenizer.count(text)
    if lead := speaker_of(text):
        found[tokenizer.lead_key(lead)] = 1
    keys = array("Q", found)
    if sys.byteorder == "big":
        keys.byteswap()
    return WordCounts(length, keys.tobytes(), bytes(min(times, MOST) for times in found.values()))


def encode(
    chunks: Sequence[tuple[int, str]], places: Mapping[int, str], count: Callable[[str], WordCounts] = count
) -> bytes:
    """Encode a note's words. `chunks`: section number, ascending, and text of each; `places`: the text above each
    section."""
    numbers = {section: at for at, section in enumerate(dict.fromkeys(section for section, _ in chunks))}
    own = [count(text) for _, text in chunks]
    place = [count(places.get(section, "")) for section in numbers]
    columns = [
        [text.length for text in own],
        [numbers[section] for section, _ in chunks],
        [len(text.counts) for text in own],
        [text.length for text in place],
        [len(text.counts) for text in place],
    ]
    parts = [np.array(column, dtype=kind).tobytes() for column, kind in zip(columns, _COLUMNS, strict=False)]
    for counted in (own, place):
        parts += [text.keys for text in counted]
        parts += [text.counts for text in counted]
    body = b"".join(parts)
    return _HEAD.pack(len(own), len(place), sum(columns[2]), sum(columns[4]), zlib.crc32(body)) + body


class CodecCache:
    """A cache of the counted texts of the latest two long notes, since most of a log stays the same when an entry is
    added. Thread-safe."""

    def __init__(self) -> None:
        self._latest: LruCache[str, dict[str, WordCounts]] = LruCache(2)

    def encode(self, path: str, chunks: Sequence[tuple[int, str]], places: Mapping[int, str]) -> bytes:
        """Encode a note's words as the function `encode` does, with the cache."""
        if len(chunks) < _LONG:
            return encode(chunks, places)
        before = self._latest.get(path) or {}
        now: dict[str, WordCounts] = {}

        def counted(text: str) -> WordCounts:
            now[text] = before.get(text) or now.get(text) or count(text)
            return now[text]

        encoded = encode(chunks, places, counted)
        self._latest.store(path, now)
        return encoded


def segment(notes: Sequence[tuple[int, bytes]]) -> PostingSegment:
    """Make a segment of the words of notes, in ascending order of their numbers. Raises DamagedRow."""
    sizes = np.array([_sizes(data) for _, data in notes], dtype=np.int64).reshape(-1, 4)
    chunks, sections = sizes[:, 0], sizes[:, 1]
    columns = _columns([data for _, data in notes], sizes)
    lengths, section, own_sizes, place_lengths, place_sizes, keys, counts, place_keys, place_counts = columns
    numbers = np.array([number for number, _ in notes], dtype=np.int64)
    return PostingSegment(
        stretches(numbers << ORDINAL_BITS, chunks),
        lengths,
        section + np.repeat(np.cumsum(sections) - sections, chunks).astype(np.uint32),
        place_lengths,
        collect(keys, np.repeat(np.arange(len(own_sizes), dtype=np.uint32), own_sizes), counts),
        collect(place_keys, np.repeat(np.arange(len(place_sizes), dtype=np.uint32), place_sizes), place_counts),
    )


def _sizes(data: bytes) -> tuple[int, ...]:
    """Return the numbers of chunks and sections, and of the postings of each."""
    try:
        *sizes, checksum = _HEAD.unpack_from(data)
        body = memoryview(data)[_HEAD.size :]
    except (struct.error, TypeError) as error:
        raise DamagedRow("a note's words cannot be read") from error
    if len(body) != sum(map(mul, sizes, _BYTES_EACH)) or zlib.crc32(body) != checksum:
        raise DamagedRow("a note's words cannot be read")
    return tuple(sizes)


def _columns(notes: Sequence[bytes], sizes: NDArray[np.int64]) -> Iterator[NDArray[Any]]:
    """Return each column of all notes, concatenated. Each is cut out as bytes, because making an array for each column
    of each note takes longer than all else together. `sizes` (n, 4), as `_sizes`."""
    widths = sizes[:, _SIZE_OF] * _WIDTHS
    ends = _HEAD.size + np.cumsum(widths, axis=1)
    for first, last, kind in zip((ends - widths).T.tolist(), ends.T.tolist(), _COLUMNS, strict=True):
        cut = [data[start:end] for data, start, end in zip(notes, first, last, strict=True)]
        yield np.frombuffer(b"".join(cut), dtype=kind)
