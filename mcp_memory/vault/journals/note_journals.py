"""Open the ledger, the tombstones and the journals, and erase their traces of a note."""

from collections.abc import Collection
from pathlib import Path

from mcp_memory.models import NoteId, NotePath
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.config import VaultConfig
from mcp_memory.vault.journals.append_journal import AppendJournal
from mcp_memory.vault.journals.change_journal import ChangeJournal
from mcp_memory.vault.journals.ledger import Ledger, entry_id
from mcp_memory.vault.journals.tombstones import Tombstones


class NoteJournals:
    """Thread-safe."""

    def __init__(self, state: Path, config: VaultConfig | None = None) -> None:
        """Open the journals in the state folder `state`. Raises StorageFailed for a journal that cannot be read."""
        kept = config or VaultConfig()
        self.ledger = Ledger(state / "ledger.jsonl")
        self.tombstones = Tombstones(state / "undo")
        self.appends = AppendJournal(state / "recovery")
        self.changes = ChangeJournal(state, keep_days=kept.undo_days)

    def describe(self, path: NotePath, entry: str | None, ids: Collection[NoteId]) -> list[str]:
        """Describe the traces of a whole note (`entry` is None), also after its file has gone, or of a log entry: a
        line for each place. `ids` are the ids of the whole note, past and present. Raises StorageFailed."""
        found: list[str] = []
        if entries := [added for added in self.appends.entries_of(path) if entry in {None, added.entry}]:
            found.append(f"in the append journal: {counted(len(entries), 'entry', 'entries')}")
        if any(entry in {None, forgotten} for forgotten in self.tombstones.entries(path)):
            found.append("its mark as forgotten")
        if etags := self.tombstones.etags_of(ids):
            found.append(f"the bytes kept for a restore: {counted(len(etags), 'file')}")
        if lines := self.changes.count_lines(path, entry, ids):
            found.append(f"in the journal of changes, and the bytes kept for an undo: {counted(lines, 'line')}")
        if lines := self.ledger.count_lines({entry_id(path, entry)} if entry else ids):
            found.append(f"in the ledger: {counted(lines, 'line')}")
        return found

    def erase(self, path: NotePath, entry: str | None, ids: Collection[NoteId]) -> None:
        """Erase these traces, in the ledger last, which has the ids of a note whose file has gone. Raises
        StorageFailed."""
        self.appends.erase(path, entry)
        for forgotten in self.tombstones.entries(path):
            if entry in {None, forgotten}:
                self.tombstones.release_entry(path, forgotten)
        self.tombstones.release(*self.tombstones.etags_of(ids))
        self.changes.erase(path, entry, ids)
        self.ledger.erase({entry_id(path, entry)} if entry else ids)
