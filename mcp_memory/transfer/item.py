"""Values for notes of other programs on their way into the vault. Pure."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from mcp_memory.text.markdown.frontmatter import Value


class SourceKind(StrEnum):
    """The kind of a source, as `--from` names it."""

    CLAUDE_CODE = "claude-code"
    OPENCLAW = "openclaw"
    OBSIDIAN = "obsidian"
    SERVER_MEMORY = "server-memory"
    CODEX = "codex"
    GEMINI = "gemini"
    TAR = "tar"
    JSONL = "jsonl"


OURS = frozenset({SourceKind.TAR, SourceKind.JSONL})
"""Exports of a vault, which are restored as they were."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """A part of a source that isn't imported."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class ImportSource:
    """A file or folder to import from. `name` is for the import's folder; the resolved `root` identifies the source."""

    kind: SourceKind
    name: str
    root: Path
    project: str | None = None


@dataclass(frozen=True, slots=True)
class SourceReading:
    """All notes of a source, and the skipped parts."""

    source: ImportSource
    items: Sequence[ImportItem]
    left_out: Sequence[SkippedItem] = ()


def digest_of(data: bytes) -> str:
    """Return 16 hexadecimal digits of the sha256."""
    return hashlib.sha256(data).hexdigest()[:16]
