"""Lists undecided contradictions, and writes decisions into the notes' files."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from ulid import ULID

from mcp_memory.client.credentials import PERSON
from mcp_memory.core.core import Core
from mcp_memory.core.verbs.written_notes import index_written
from mcp_memory.errors import IndexUnavailable, InvalidInput, NotFound
from mcp_memory.indexing.conflict_scan import ConflictScan
from mcp_memory.indexing.stated_texts import StatedText
from mcp_memory.models import Conflict, NoteId, NotePath
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.note_lookup import named_by
from mcp_memory.text.dates import format_when
from mcp_memory.vault.journals.change_journal import DECISION, acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_file import NoteFile

KEEP, BOTH = "keep", "both"
WRITE_S = LOOK_S = 30.0
_PERSON = Caller(PERSON, is_person=True)


@dataclass(eq=False, slots=True)
class ConflictReview:
    """Decides conflicts for people; an agent decides by storing a note that supersedes another note."""

    _core: Core

    @property
    def _conflicts(self) -> ConflictScan:
        return self._core.indexing.conflicts

    async def list_open(self) -> list[dict[str, Any]]:
        """Return the open conflicts, latest first, each with both sides."""
        await self._conflicts.scan()
        return await in_thread(self._read, deadline_s=LOOK_S, what="reading notes")

    async def decide(
        self, verb: str, target: str, other: str | None = None, *, only: Sequence[str] | None = None
    ) -> list[dict[str, Any]]:
        """Settle the open conflicts of a note or entry as a single change that can be undone. If given, settle only the
        conflict with `other`, or with `only` these ids. `verb`: keep this note, or both. Contradictions of the kept
        note that are found only now are listed next, because nobody has seen them yet.

        Raises NotFound without a conflict, InvalidInput, and the errors of changing a note."""
        if verb not in (KEEP, BOTH):
            raise InvalidInput(f"unknown verb {verb[:40]!r}", hint=f"{KEEP} or {BOTH}")
        await self._conflicts.scan()
        look = partial(in_thread, deadline_s=LOOK_S, what="reading notes")
        kept, partner = await look(lambda: self._id(target)), other and await look(lambda: self._id(other))
        pairs = [one for one in self._pairs(kept, partner) if only is None or {one.older, one.newer} & {*only}]
        if not pairs:
            raise NotFound(f"no open conflict of {target[:100]}", hint="mcp-memory review --conflicts lists them")
        with acting(replace(_PERSON, run=f"{DECISION}-{ULID()}")):
            for one in pairs:
                change = partial(self._retire, one, kept) if verb == KEEP else partial(self._hold_both, one)
                file = await in_thread(change, deadline_s=WRITE_S, what="changing the note")
                await index_written(self._core, file)
        with suppress(IndexUnavailable):
            await self._conflicts.scan()
        return [{"verb": verb, **asdict(one)} for one in pairs]

    def _pairs(self, kept: NoteId, partner: str | None = None) -> list[Conflict]:
        found = (one for one in self._conflicts.open_conflicts if kept in (one.older, one.newer))
        return [one for one in found if partner in (None, one.older, one.newer)]

    # -- in threads --------------------------------------------------------------------------------------------

    def _id(self, target: str) -> NoteId:
        named = named_by(target)
        if not isinstance(named, tuple):
            return named
        path, entry = named
        note = None if entry else self._core.index.note(path)
        return note.id if note else NoteId(f"{path}#{entry}")

    def _read(self) -> list[dict[str, Any]]:
        found = self._conflicts.open_conflicts
        paths = {path for one in found for path in (one.older_path, one.newer_path)}
        known = {stated.id: self._side(stated) for path in paths for stated in self._conflicts.texts.at(path)}
        return [
            {"older": known[one.older], "newer": known[one.newer], "why": one.why}
            for one in reversed(found)
            if one.older in known and one.newer in known
        ]

    def _side(self, stated: StatedText) -> dict[str, Any]:
        record, note = self._core.index.note(stated.path), stated.note
        facts = {"id": stated.id, "path": stated.path, "text": note.text, "kind": note.kind, "project": note.project}
        facts["title"] = record.title if record and not record.is_log else ""
        return {**facts, "date": stated.when and format_when(stated.when), "source": record and record.source}

    def _retire(self, conflict: Conflict, kept: NoteId) -> NoteFile:
        is_newer = kept == conflict.newer
        path, gone = (conflict.older_path, conflict.older) if is_newer else (conflict.newer_path, conflict.newer)
        return self._core.vault.supersede(path, kept, _entry(gone, path), _PERSON)

    def _hold_both(self, conflict: Conflict) -> NoteFile:
        entry = _entry(conflict.newer, conflict.newer_path)
        mark = f"{entry}={conflict.older}" if entry else conflict.older
        return self._core.vault.mark_compatible(conflict.newer_path, mark, _PERSON)


def _entry(note_id: NoteId, path: NotePath) -> str | None:
    return note_id.removeprefix(f"{path}#") if note_id.startswith(f"{path}#") else None
