"""Defines what can be asked about claims, dreams, pages and the archive."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True, slots=True)
class ClaimsRequest:
    """The claims about one `subject` or all, seen from this project ('*' = all), with the disputed ones."""

    subject: str | None = None
    _: KW_ONLY
    project: str | None = None


@dataclass(frozen=True, slots=True)
class ApplyRequest:
    """A decision about the claim of the note or entry `target` (an id or its end). `verb`: confirm the claim, or drop
    it (its notes are forgotten)."""

    verb: str
    target: str


@dataclass(frozen=True, slots=True)
class DreamRequest:
    """A run of dreaming, or one to take back (`rollback`). `backfill`: a folder of old daily logs; with `stage`, what
    recurs there is only kept as evidence."""

    dry_run: bool = False
    backfill: str | None = None
    stage: bool = False
    rollback: str | None = None


@dataclass(frozen=True, slots=True)
class OrganizeRequest:
    """With `dry_run`, only which pages are out of date; `memory`: an index in MEMORY.md, too."""

    dry_run: bool = False
    memory: bool = False


@dataclass(frozen=True, slots=True)
class ArchiveProposedRequest:
    """The notes that may go to `_archive/`; with `ids`, these notes are moved there."""

    _: KW_ONLY
    ids: Sequence[str] | None = None
