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
"""Exports of a vault, which are put back as they were."""


@dataclass(frozen=True, slots=True)
class ImportItem:
    """`key` always names it within its source; `path` is the one below the import's folder, if it is free. `text` has
    the note's own frontmatter; `digest` distinguishes its versions."""

    key: str
    path: str
    text: str
    properties: Mapping[str, Value] = field(default_factory=dict[str, Value])
    """Goes into the note's frontmatter if the key is missing."""
    added: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Is added to the lists in its frontmatter."""
    names: Sequence[str] = ()
    """Names that links in its source may use, besides its file's name."""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """A part of a source that isn't imported."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class ImportSource:
    """`name` is for the import's folder; the resolved `root` identifies it."""

    kind: SourceKind
    name: str
    root: Path
    project: str | None = None


@dataclass(frozen=True, slots=True)
class SourceReading:
    """Everything that a source holds."""

    source: ImportSource
    items: Sequence[ImportItem]
    left_out: Sequence[SkippedItem] = ()


def digest_of(data: bytes) -> str:
    """Returns 16 hexadecimal digits of the sha256."""
    return hashlib.sha256(data).hexdigest()[:16]
