"""Defines what a feature adds to the core. A feature is a folder whose module `feature` has `build(core) ->
Feature`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_memory.core.review_items import Reviewer
from mcp_memory.core.serializers import Payload
from mcp_memory.jobs.job import Job
from mcp_memory.models import NoteId, NotePath
from mcp_memory.runtime.health import Finding
from mcp_memory.vault.note_file import NoteFile, find_entry


@dataclass(frozen=True, slots=True)
class Operation:
    """A request, and the function that answers it. `is_foreground`: somebody waits, so background work pauses.
    `to_payload` turns the answer into JSON values, if it isn't made of them."""

    request: type[Any]
    answer: Callable[[Any], Awaitable[Any]]
    is_foreground: bool = False
    to_payload: Callable[[Any], Payload] | None = None


@dataclass(frozen=True, slots=True)
class ErasedText:
    """A whole note, or an entry of a log, that is erased. The text is empty if the file is gone."""

    path: NotePath
    entry: str | None
    ids: Collection[NoteId]
    text: str

    @classmethod
    def of(cls, path: NotePath, entry: str | None, ids: Collection[NoteId], file: NoteFile | None) -> ErasedText:
        if file is None or entry is None:
            return cls(path, entry, ids, file.body if file else "")
        found = find_entry(path, file.text, entry)
        return cls(path, entry, ids, file.text[found.start : found.end] if found else "")


class NoteCopies:
    """The texts that a feature has made from notes. A feature overrides the methods that apply to it. Synchronous, for
    worker threads."""

    def describe(self, erased: ErasedText) -> Iterator[str]:  # noqa: ARG002 -- for those who override it
        """Yield a line for each place that `erase` cleans. Raises StorageFailed."""
        yield from ()

    def beyond(self, erased: ErasedText) -> Iterator[str]:  # noqa: ARG002 -- for those who override it
        """Yield a line for each copy that stays."""
        yield from ()

    def waiting(self, erased: ErasedText) -> Sequence[NotePath]:  # noqa: ARG002 -- for those who override it
        """Return candidates that were made of the text and that nobody has accepted; they are erased, too."""
        return ()

    def erase(self, erased: ErasedText) -> Sequence[NotePath]:  # noqa: ARG002 -- for those who override it
        """Return the files of the vault that were changed. Raises StorageFailed, Refused or PreconditionFailed."""
        return ()


@dataclass(frozen=True, slots=True)
class Feature:
    """The additions of a feature. `prepare` runs in a thread before the first sweep, each of `tasks` beside the engine,
    and `close` at its end. `left_archive` is called with a note that was restored from `_archive/`."""

    operations: Mapping[str, Operation] = field(default_factory=dict[str, Operation])
    jobs: Sequence[Job] = ()
    prepare: Callable[[], None] | None = None
    tasks: Sequence[Callable[[], Coroutine[Any, Any, None]]] = ()
    status: Callable[[], Mapping[str, Any]] = dict[str, Any]
    findings: Callable[[], Sequence[Finding]] = tuple[Finding, ...]
    copies: NoteCopies | None = None
    reviewers: Sequence[Reviewer] = ()
    left_archive: Callable[[NoteFile], Awaitable[None]] | None = None
    close: Callable[[], None] | None = None
