"""Lists contradictions that nobody has decided, and writes a decision into the notes' own files."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mcp_memory.client.credentials import PERSON
from mcp_memory.engine.requests import DecideRequest
from mcp_memory.errors import InvalidInput, NotFound
from mcp_memory.indexing.conflict_scan import StatedClaim
from mcp_memory.models import Conflict, NoteId, NotePath
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.search.note_lookup import named_by
from mcp_memory.text.dates import format_when
from mcp_memory.vault.journals.change_journal import acting
from mcp_memory.vault.journals.tombstones import Caller

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts

KEEP, BOTH = "keep", "both"
_PERSON = Caller(PERSON, is_person=True)


async def list_conflicts(parts: EngineParts) -> list[dict[str, Any]]:
    """The open ones, the latest first, each with both sides."""
    await parts.conflicts.scan()

    def read() -> list[dict[str, Any]]:
        known: dict[NoteId, dict[str, Any]] = {}
        for path in {path for one in parts.conflicts.open_conflicts for path in (one.older_path, one.newer_path)}:
            known |= {stated.id: _side(parts, stated) for stated in parts.conflicts.claims_of(path)}
        return [
            {"older": known[one.older], "newer": known[one.newer], "why": one.why}
            for one in reversed(parts.conflicts.open_conflicts)
            if one.older in known and one.newer in known
        ]

    return await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="reading notes")


async def decide(parts: EngineParts, request: DecideRequest) -> list[dict[str, Any]]:
    """Settle the open conflicts of a note or entry, or the one with `other`. Raises NotFound if there is none, and what
    a change of the other note raises."""
    await parts.conflicts.scan()
    target, other = _id(request.target), request.other and _id(request.other)
    pairs = [
        one
        for one in parts.conflicts.open_conflicts
        if target in (one.older, one.newer) and other in (None, one.older, one.newer)
    ]
    if not pairs:
        raise NotFound(f"no open conflict of {request.target[:100]}", hint="mcp-memory conflicts lists them")
    done: list[dict[str, Any]] = []
    with acting(_PERSON):
        for one in pairs:
            if request.verb == KEEP:
                await _retire(parts, one, kept=target)
            elif request.verb == BOTH:
                await _hold_both(parts, one)
            else:
                raise InvalidInput(f"unknown verb {request.verb[:40]!r}", hint=f"{KEEP} or {BOTH}")
            done.append({"verb": request.verb, **asdict(one)})
    await parts.conflicts.scan()
    return done


async def _retire(parts: EngineParts, conflict: Conflict, kept: NoteId) -> None:
    is_newer = kept == conflict.newer
    path, gone = (conflict.older_path, conflict.older) if is_newer else (conflict.newer_path, conflict.newer)
    file = await in_thread(
        lambda: parts.vault.supersede(path, kept, _entry(gone, path), _PERSON),
        deadline_s=parts.config.vault.write_deadline_s,
        what="changing the note",
    )
    await parts.writer.index_note(file)


async def _hold_both(parts: EngineParts, conflict: Conflict) -> None:
    entry = _entry(conflict.newer, conflict.newer_path)
    mark = f"{entry}={conflict.older}" if entry else conflict.older
    file = await in_thread(
        lambda: parts.vault.mark_compatible(conflict.newer_path, mark, _PERSON),
        deadline_s=parts.config.vault.write_deadline_s,
        what="changing the note",
    )
    await parts.writer.index_note(file)


def _entry(note_id: NoteId, path: NotePath) -> str | None:
    return note_id.removeprefix(f"{path}#") if note_id.startswith(f"{path}#") else None


def _id(target: str) -> NoteId:
    named = named_by(target)
    if not isinstance(named, tuple):
        return named
    return NoteId(f"{named[0]}#{named[1]}" if named[1] else f"path:{named[0]}")


def _side(parts: EngineParts, stated: StatedClaim) -> dict[str, Any]:
    note = parts.index.note(stated.path)
    return {
        "id": stated.id,
        "path": stated.path,
        "text": stated.claim.text,
        "kind": stated.claim.kind,
        "project": stated.claim.project,
        "date": stated.when and format_when(stated.when),
        "source": note and note.source,
    }
