"""Defines notes of other programs on their way into the vault. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from mcp_memory.text.markdown.frontmatter import Value


class SourceKind(StrEnum):
    """What a source is, as `--from` names it."""

    CLAUDE_CODE = "claude-code"
    OPENCLAW = "openclaw"
    OBSIDIAN = "obsidian"
    BASIC_MEMORY = "basic-memory"
    SERVER_MEMORY = "server-memory"
    TAR = "tar"
    JSONL = "jsonl"


OURS = frozenset({SourceKind.TAR, SourceKind.JSONL})
"""Exports of a vault: put back as they were."""


@dataclass(frozen=True, slots=True)
class ImportItem:
    """`key` names it within its source for good, and `path` is where it would be below the import's folder, if its name
    can be had there. `text` is the note as the source has it, with its own frontmatter. `digest` tells its versions
    apart."""

    key: str
    path: str
    text: str
    properties: Mapping[str, Value] = field(default_factory=dict[str, Value])
    """What the note's frontmatter is to say where it does not."""
    added: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """What its lists are to hold besides."""
    names: Sequence[str] = ()
    """What links in its source may call it, besides its file's name."""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """Part of a source that does not come along."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class ImportSource:
    """`name` is for the import's folder; `root` is the resolved place that identifies it."""

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
    """16 hexadecimal digits of the sha256."""
    return hashlib.sha256(data).hexdigest()[:16]
