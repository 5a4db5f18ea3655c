"""Defines what can be asked to move notes in and out of the vault."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """`items` with `path`, `data` (base64) and `id`: for a `folder` of the managed folder, from the source `mark`; or
    without these, files of an exported vault for their own paths. `run` names the whole import, for `undo`."""

    items: Sequence[Mapping[str, Any]]
    folder: str | None = None
    mark: str = ""
    run: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """A page of what there is to export: what comes `after` the last page's `next`."""

    after: str | None = None


@dataclass(frozen=True, slots=True)
class TaughtRequest:
    """Remembers a file outside the vault that a note is put into, so that erasing the note cleans it."""

    file: str
