"""Lists undecided contradictions, and writes decisions into the notes' files."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

from ulid import ULID

from mcp_memory.client.credentials import PERSON
from mcp_memory.core.core import Core
from mcp_memory.core.requests import ReviewRequest
from mcp_memory.core.serializers import Choice, Payload, ReviewItem
from mcp_memory.core.verbs.storing import index_written
from mcp_memory.errors import IndexUnavailable, InvalidInput, NotFound
from mcp_memory.indexing.stated_texts import StatedText
from mcp_memory.models import Conflict, NoteId, NotePath
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.dates import format_when
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.vault.journals.change_journal import DECISION, acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_file import NoteFile

CONFLICT, KEEP, BOTH = "conflict", "keep", "both"
WRITE_S = LOOK_S = 30.0
_PART = "edit it instead if only part of it is wrong"
_PERSON = Caller(PERSON, is_person=True)


class ConflictReview:
    """Decides conflicts for people; an agent decides by storing a note that supersedes another note."""

    prefix = f"{CONFLICT}-"
    kinds = (CONFLICT,)

    def __init__(self, core: Core) -> None:
        self._core = core
        self._conflicts = core.indexing.conflicts

    async def waiting(self) -> Sequence[ReviewItem]:
        """Return the open conflicts, latest first, each with both notes."""
        await self._conflicts.scan()
        return await in_thread(self._read, deadline_s=LOOK_S, what="reading notes")

    async def decide(self, request: ReviewRequest) -> Sequence[Payload]:
        """Settle conflicts as a single change that can be undone: `keep` the note, or `both`. Contradictions of the
        kept note that are found only now are listed next, because nobody has seen them yet.

        Raises NotFound without such a conflict, InvalidInput, and the errors of changing a note."""
        choice, kept = request.choice, NoteId(request.note or "")
        if choice not in (KEEP, BOTH):
            raise InvalidInput(f"unknown choice {choice[:40]!r}", hint=f"{KEEP} or {BOTH}")
        await self._conflicts.scan()
        known = {_item_id(one): one for one in self._conflicts.open_conflicts}
        if missing := [item for item in request.items if item not in known]:
            raise NotFound(f"no open conflict {missing[0][:100]}", hint="mcp-memory review --conflicts lists them")
        pairs = [known[item] for item in request.items]
        if choice == KEEP and any(kept not in (one.older, one.newer) for one in pairs):
            raise InvalidInput("keep needs a note of the conflict", hint="pass the id of the older or the newer note")
        with acting(replace(_PERSON, run=f"{DECISION}-{ULID()}")):
            for one in pairs:
                change = partial(self._retire, one, kept) if choice == KEEP else partial(self._hold_both, one)
                file = await in_thread(change, deadline_s=WRITE_S, what="changing the note")
                await index_written(self._core, file)
        with suppress(IndexUnavailable):
            await self._conflicts.scan()
        return visible_in([_describe_decision(one, kept) for one in pairs])

    # -- in threads --------------------------------------------------------------------------------------------

    def _read(self) -> list[ReviewItem]:
        found = self._conflicts.open_conflicts
        paths = {path for one in found for path in (one.older_path, one.newer_path)}
        known = {stated.id: stated for path in paths for stated in self._conflicts.texts.at(path)}
        return [
            self._item(one, known[one.newer], known[one.older])
            for one in reversed(found)
            if one.older in known and one.newer in known
        ]

    def _item(self, conflict: Conflict, newer: StatedText, older: StatedText) -> ReviewItem:
        choices = (
            Choice("n", KEEP, "keep [n]ewer", f"keep newer: the older note is retired; {_PART}", newer.id),
            Choice("o", KEEP, "keep [o]lder", f"keep older: the newer note is retired; {_PART}", older.id),
            Choice("t", BOTH, "bo[t]h", "both: both are right, and they aren't shown again"),
        )
        notes = visible_in([self._side("newer", newer), self._side("older", older)])
        return ReviewItem(_item_id(conflict), CONFLICT, "", visible_in(conflict.why), choices, notes=notes)

    def _side(self, role: str, stated: StatedText) -> dict[str, Any]:
        record, note = self._core.index.note(stated.path), stated.note
        facts = {"id": stated.id, "path": stated.path, "text": note.text, "kind": note.kind, "project": note.project}
        facts["title"] = record.title if record and not record.is_log else ""
        date = stated.when and format_when(stated.when)
        return {"role": role, **facts, "date": date, "source": record and record.source}

    def _retire(self, conflict: Conflict, kept: NoteId) -> NoteFile:
        is_newer = kept == conflict.newer
        path, gone = (conflict.older_path, conflict.older) if is_newer else (conflict.newer_path, conflict.newer)
        return self._core.vault.supersede(path, kept, _entry(gone, path), _PERSON)

    def _hold_both(self, conflict: Conflict) -> NoteFile:
        entry = _entry(conflict.newer, conflict.newer_path)
        mark = f"{entry}={conflict.older}" if entry else conflict.older
        return self._core.vault.mark_compatible(conflict.newer_path, mark, _PERSON)


def _item_id(conflict: Conflict) -> str:
    return f"{CONFLICT}-{sha256(f'{conflict.older} {conflict.newer}'.encode()).hexdigest()[:12]}"


def _describe_decision(conflict: Conflict, kept: NoteId) -> Payload:
    is_older = kept == conflict.older
    note_id, path = (conflict.older, conflict.older_path) if is_older else (conflict.newer, conflict.newer_path)
    return {"id": note_id, "path": path, "title": conflict.why}


def _entry(note_id: NoteId, path: NotePath) -> str | None:
    return note_id.removeprefix(f"{path}#") if note_id.startswith(f"{path}#") else None
