"""An item: a note of another program on its way into the vault. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from mcp_memory.text.markdown.frontmatter import Value


class Kind(StrEnum):
    """What a source is, as `--from` names it."""

    CLAUDE_CODE = "claude-code"
    OPENCLAW = "openclaw"
    OBSIDIAN = "obsidian"
    BASIC_MEMORY = "basic-memory"
    SERVER_MEMORY = "server-memory"
    TAR = "tar"
    JSONL = "jsonl"


OURS = frozenset({Kind.TAR, Kind.JSONL})
"""Exports of a vault: put back as they were."""


@dataclass(frozen=True, slots=True)
class Item:
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
class LeftOut:
    """Part of a source that does not come along."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Source:
    """`name` is for the import's folder; `root` is the resolved place that identifies it."""

    kind: Kind
    name: str
    root: Path
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that a source holds."""

    source: Source
    items: Sequence[Item]
    left_out: Sequence[LeftOut] = ()


def digest_of(data: bytes) -> str:
    """16 hexadecimal digits of the sha256."""
    return hashlib.sha256(data).hexdigest()[:16]
