"""Finds the kinds that a call names, whatever their case: configured kinds, and kinds of notes in the vault."""

from collections.abc import Iterable
from dataclasses import replace

from mcp_memory.core.core import Core
from mcp_memory.models import Filters, NoteRecord, NoteState, PrivateMarks
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.text.escape_invisible import in_line
from mcp_memory.vault.config import NoteKind
from mcp_memory.vault.draft import one_line
from mcp_memory.vault.note_file import slug

_STORED = frozenset(NoteState) - {NoteState.INBOX}
MOST_READ = 10_000
"""Notes whose kinds an error names."""


async def with_known_kinds(core: Core, filters: Filters) -> Filters:
    """The filters with each kind in the forms that notes may have. Raises InvalidInput for an unknown kind."""
    if not filters.kinds:
        return filters
    if unknown := [kind for kind in filters.kinds if not _configured(core, kind)]:
        for kind in unknown:
            await _of_notes(core, kind)
    return replace(filters, kinds=frozenset(form for kind in filters.kinds for form in _forms(kind)))


async def kind_to_store(core: Core, name: str) -> NoteKind:
    """The kind of a new note. A kind that isn't configured gets a folder of its own. Raises InvalidInput."""
    if configured := _configured(core, name):
        return core.vault.kinds.get(configured)
    kind = (await _of_notes(core, one_line("kind", name))).kind
    return NoteKind(kind, f"notes/{slug(kind)}", 0, "")


def _configured(core: Core, name: str) -> str | None:
    return next((form for form in _forms(name) if form in core.vault.kinds.names), None)


async def _of_notes(core: Core, name: str) -> NoteRecord:
    """A note of this kind. Raises InvalidInput if there is none."""
    forms = frozenset(_forms(name))

    def look() -> NoteRecord:
        if found := core.index.notes(Filters(states=_STORED, kinds=forms), limit=1):
            return found[0]
        shown = Filters(states=_STORED, private=PrivateMarks())
        others = {in_line(note.kind) for note in core.index.notes(shown, limit=MOST_READ)}
        raise core.vault.kinds.unknown(name, sorted(others))

    return await in_thread(look, deadline_s=LOOK_DEADLINE_S, what="looking for notes of this kind")


def _forms(name: str) -> Iterable[str]:
    plain = name.strip()
    return dict.fromkeys((plain, plain.lower(), plain.capitalize(), plain.title(), plain.upper()))
