"""Lets agents change notes that this installation didn't write, and takes that back."""

from mcp_memory.core.core import Core
from mcp_memory.errors import McpMemoryError, NotFound
from mcp_memory.models import NoteId, NotePath, is_below, unicode_forms
from mcp_memory.runtime.threads import in_thread


async def adopt(core: Core, path: str | None = None, *, dry_run: bool = False) -> list[NotePath]:
    """Let agents change notes in the managed folder that this installation didn't write: one note, the notes of a
    folder, or all notes. Unreadable notes among several are skipped; `problems` names them."""
    wanted = await _managed_notes(core, path)
    if path is not None and not wanted:
        raise _not_managed(core, path)

    def adopt() -> list[NotePath]:
        adopted: list[NotePath] = []
        for note in wanted:
            try:
                if core.vault.provenance.adopt(core.vault.read(note), dry_run=dry_run):
                    adopted.append(note)
            except McpMemoryError:
                if note == path:
                    raise
        return adopted

    return await in_thread(adopt, deadline_s=600, what="adopting notes")


async def give_back(core: Core, path: str | None = None, *, dry_run: bool = False) -> list[NotePath]:
    """Undo `adopt` for one note, for the notes of a folder, or for all notes, even if a file no longer exists.
    Agents may still change the notes that this installation wrote. Raises NotFound, StorageFailed."""
    wanted, vault = await _managed_notes(core, path), core.vault

    def give_back() -> list[NotePath]:
        returned: list[NotePath] = []
        places: list[tuple[NotePath, NoteId]] = []
        for note in wanted:
            try:
                found = vault.provenance.adopted_places(vault.read(note))
            except McpMemoryError:
                continue  # by its place, below
            if found:
                returned.append(note)
                places += found
        absent = [place for place in vault.ledger.adopted() if path in {None, place[0]} and place not in places]
        if path is not None and not wanted and not absent:
            raise _not_managed(core, path)
        if not dry_run:
            vault.provenance.revoke([*places, *absent])
        return list(dict.fromkeys([*returned, *(place for place, _ in absent)]))

    return await in_thread(give_back, deadline_s=600, what="giving notes back")


async def _managed_notes(core: Core, path: str | None) -> list[NotePath]:
    """Return the notes of the managed folder: one note, the notes of a subfolder, or all."""
    files = (await in_thread(core.vault.list, deadline_s=60, what="listing the vault")).files
    inside = [file for file in files if core.vault.layout.below_home(file) is not None]
    wanted = unicode_forms(path) if path else ()
    return [file for file in inside if path is None or any(is_below(file, form) for form in wanted)]


def _not_managed(core: Core, path: str) -> NotFound:
    folder = core.vault.layout.home or "the whole vault"
    return NotFound(f"no note at {path} in the managed folder", hint=f"the managed folder is {folder}")
