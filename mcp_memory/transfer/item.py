"""Notes of other programs on their way into the vault: as they were read, and the bytes that are stored, with our
keys and the seal (`vault/note_import.py`) in the frontmatter. Pure."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from mcp_memory.errors import InvalidInput
from mcp_memory.models import IMPORTED_ID, NoteId
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.frontmatter import Value
from mcp_memory.vault.note_import import BASE32, SEAL_BLANK, SEAL_KEY

SourceKind = Literal["claude-code", "openclaw", "obsidian", "codex", "gemini", "jsonl"]
"""The kind of a source, as `--from` names it. `jsonl`: an export of a vault, which is restored as it was."""


ProjectOf = Callable[[str], str | None]
"""Returns the project of a folder."""


@dataclass(frozen=True)
class ImportItem:
    """A note to import. `key` always identifies it within its source. `path` is its path below the import's folder, if
    that is free. `text` has the note's own frontmatter. `digest` distinguishes its versions."""

    key: str
    path: str
    text: str
    properties: Mapping[str, Value] = field(default_factory=dict[str, Value])
    """Values for the note's frontmatter, each used if its key is missing there."""
    added: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Values to add to the lists in the note's frontmatter."""
    names: Sequence[str] = ()
    """Names that links in its source may use, besides the file's name."""
    digest: str = ""


@dataclass(frozen=True)
class SkippedItem:
    """A part of a source that isn't imported."""

    path: str
    why: str


@dataclass(frozen=True)
class ImportSource:
    """A file or folder to import from. `name` is for the import's folder; the resolved `root` identifies the source."""

    kind: SourceKind
    name: str
    root: Path
    project: str | None = None


@dataclass(frozen=True)
class SourceReading:
    """All notes of a source, and the skipped parts."""

    source: ImportSource
    items: Sequence[ImportItem]
    left_out: Sequence[SkippedItem] = ()


def digest_of(data: bytes) -> str:
    """Return 16 hexadecimal digits of the sha256."""
    return hashlib.sha256(data).hexdigest()[:16]


def source_mark(source: ImportSource) -> str:
    """Return the 6 characters that identify a source in the ids of its notes."""
    identity = f"{source.kind}:{source.root}"
    return _base32(hashlib.sha256(identity.encode("utf-8", "surrogatepass")).digest(), 6)


def imported_id(source: ImportSource, key: str) -> NoteId:
    """Return the id of a source's note, which is the same each time."""
    own = _base32(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest(), 10)
    return NoteId(IMPORTED_ID + source_mark(source) + own)


def seal_note(item: ImportItem, source: ImportSource, note_id: NoteId, origin: str) -> bytes:
    """Return the note's file: its text byte for byte, and its frontmatter with our keys added. A frontmatter that can't
    be read becomes the beginning of the text. `origin` is the item's place in its source. Raises InvalidInput if a key
    can't be written."""
    meta = frontmatter.parse(item.text).meta
    changes = _changes(item, source, note_id, origin, meta)
    try:
        text = frontmatter.patch(item.text, changes)
    except InvalidInput:
        text = frontmatter.patch("", _changes(item, source, note_id, origin, {})) + item.text
    data = text.encode("utf-8")
    before, opened, after = data.partition(f"{SEAL_KEY}: {_opened(item)}".encode())
    return before + opened[: -len(SEAL_BLANK)] + digest_of(data).encode() + after


def _changes(
    item: ImportItem, source: ImportSource, note_id: NoteId, origin: str, meta: Mapping[str, Any]
) -> dict[str, Value | None]:
    changes: dict[str, Value | None] = {"id": note_id, SEAL_KEY: _opened(item)}
    if meta.get("id") is not None:
        changes["source_id"] = str(meta["id"])
    absent = {**item.properties, "source": source.kind}
    if source.project:
        absent.setdefault("project", source.project)
    changes |= {key: value for key, value in absent.items() if meta.get(key) is None}
    for key, values in {**item.added, "derived_from": [origin]}.items():
        known = [] if key == "tags" else _texts(meta.get(key))  # tags have been read, whatever their form
        changes[key] = list(dict.fromkeys([*known, *values]))
    return {**changes, "always_load": None}  # only you decide which notes every session reads


def _opened(item: ImportItem) -> str:
    return f"v1-{item.digest}-{SEAL_BLANK}"


def _texts(value: object) -> list[str]:
    if value is None or isinstance(value, dict):
        return []
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return [str(item) for item in items if not isinstance(item, (dict, list)) and item is not None]


def _base32(digest: bytes, digits: int) -> str:
    number = int.from_bytes(digest[:8])
    return "".join(BASE32[number >> (64 - 5 * (at + 1)) & 31] for at in range(digits))
