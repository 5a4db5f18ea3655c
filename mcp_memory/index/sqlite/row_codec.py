"""Encode note records and chunk positions as JSON for their rows, and decode them unchanged.

JSON has no dates, no bytes and only strings as keys, but frontmatter may have any of these, so they are tagged.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast

from mcp_memory.index.sqlite.damage import DamagedRow
from mcp_memory.models import Chunk, NoteRecord, NoteState

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIELDS = tuple(entry.name for entry in fields(NoteRecord))


def encode_note(note: NoteRecord) -> str:
    """Encode a note as ASCII JSON, which preserves even a lone surrogate."""
    return json.dumps({name: _pack(getattr(note, name)) for name in _FIELDS}, separators=(",", ":"))


def decode_note(record: str) -> NoteRecord:
    """Decode a note. Raises DamagedRow."""
    try:
        values: dict[str, Any] = _decoder.decode(record)
        values["state"] = NoteState(values["state"])
        values |= {name: tuple(values.get(name, ())) for name in ("tags", "supersedes", "superseded_by")}
        return NoteRecord(**values)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DamagedRow("a note's record cannot be read") from error


def encode_chunk(chunk: Chunk) -> tuple[bytes, str]:
    """Return the bytes of the text, and all else as JSON."""
    place = [chunk.start, chunk.end, chunk.start_line, chunk.end_line, chunk.headings, chunk.section]
    rest = json.dumps([*place, chunk.entry, chunk.time], separators=(",", ":"))
    return encode_text(chunk.text), rest


def decode_chunk(text: bytes, rest: str) -> Chunk:
    """Decode a chunk. Raises DamagedRow."""
    try:
        start, end, start_line, end_line, headings, section, entry, time = json.loads(rest)
        place = (start, end, start_line, end_line, tuple(headings))
        return Chunk(decode_text(text), *place, section=section, entry=entry, time=time)
    except (ValueError, TypeError) as error:
        raise DamagedRow("a chunk's row cannot be read") from error


def encode_text(text: str) -> bytes:
    """Encode text as UTF-8 that also takes lone surrogates, since a slice is stored exactly as its file has it."""
    return text.encode("utf-8", "surrogatepass")


def decode_text(data: bytes) -> str:
    """Decode text. Raises DamagedRow."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except (UnicodeDecodeError, AttributeError) as error:
        raise DamagedRow("a text cannot be read") from error


def microseconds(moment: datetime | None) -> int | None:
    """Return microseconds since 1970. A time without a zone counts as UTC."""
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def _pack(value: Any) -> Any:
    match value:
        case None | bool() | float() | str():
            return value
        case int():
            # Python refuses to print a number of more than 4,300 digits.
            return value if value.bit_length() <= 1024 else hex(value)
        case datetime():
            return {"$time": value.isoformat()}
        case date():
            return {"$date": value.isoformat()}
        case bytes():
            return {"$bytes": value.hex()}
        case list() | tuple() | set() | frozenset():
            return [_pack(item) for item in cast("list[Any]", value)]
        case Mapping():
            pairs = cast("Mapping[Any, Any]", value).items()
            if all(isinstance(key, str) and not key.startswith("$") for key, _ in pairs):
                return {key: _pack(item) for key, item in pairs}
            return {"$pairs": [[_pack(key), _pack(item)] for key, item in pairs]}
        case _:
            return str(value)


def _unpacked(pairs: dict[str, Any]) -> Any:
    """Reverse `_pack` for one JSON object, whose values are unpacked already."""
    if len(pairs) == 1:
        match pairs:
            case {"$time": str(text)}:
                return datetime.fromisoformat(text)
            case {"$date": str(text)}:
                return date.fromisoformat(text)
            case {"$bytes": str(text)}:
                return bytes.fromhex(text)
            case {"$pairs": items}:
                return dict(items)
            case _:
                pass
    return pairs


_decoder = json.JSONDecoder(object_hook=_unpacked)
"""Made once, because `json.loads` with a hook makes one for each call, and a search reads a hundred records."""
