"""Finds entries that we added to a shared file and that are no longer in it, and adds them again."""

from collections.abc import Sequence

from mcp_memory.core.core import Core
from mcp_memory.errors import NotFound
from mcp_memory.runtime.threads import in_thread
from mcp_memory.vault.shared.lost_entries import LostEntry


async def recover(core: Core, wanted: Sequence[str], *, dismiss: bool = False, look: bool = False) -> list[LostEntry]:
    """Add the lost entries with these ids or paths again, oldest first, ignore them from now on, or only return them.

    Raises NotFound for a name that no lost entry has, and the errors of an append."""
    gone = await in_thread(core.vault.shared.compare, deadline_s=60, what="comparing shared files")
    lost = [entry for entry in gone if not {entry.id, entry.added.path}.isdisjoint(wanted)]
    known = {name for entry in lost for name in (entry.id, entry.added.path)}
    if unknown := [name for name in wanted if name not in known]:
        raise NotFound(f"no lost entry {unknown[0]}", hint="mcp-memory doctor lists them")
    if look:
        return lost
    act = core.vault.shared.dismiss if dismiss else core.vault.shared.put_back
    for entry in lost:
        stored = await in_thread(act, entry, deadline_s=30, what="writing the log")
        if stored:
            await core.indexing.writer.index_note(stored.file)
    core.search.model.wake()
    return lost
