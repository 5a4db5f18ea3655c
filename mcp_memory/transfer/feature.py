"""Takes notes into the vault and out of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_memory.core.core import Core
from mcp_memory.core.feature import Feature, Operation
from mcp_memory.core.serializers import Payload
from mcp_memory.runtime.json_lines import PlaceList
from mcp_memory.runtime.threads import in_thread
from mcp_memory.transfer.note_transfer import ImportDestination, NoteTransfer, note_facts, parse_incoming
from mcp_memory.transfer.taught_files import TaughtFiles
from mcp_memory.vault.journals.change_journal import IMPORT, acting
from mcp_memory.vault.journals.tombstones import Caller


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


def build(core: Core) -> Feature:
    transfer = NoteTransfer(core.vault, core.index, core.indexing.writer, core.indexing.sweeper.reconcile)
    taught = PlaceList(core.config.state / "taught.jsonl", "file")

    async def import_notes(request: ImportRequest) -> Payload:
        destination = None if request.folder is None else ImportDestination(request.folder, request.mark)
        incoming = list(map(parse_incoming, request.items))
        with acting(Caller(run=f"{IMPORT}-{request.run or request.mark or 'vault'}")):
            taken = await transfer.import_notes(incoming, destination, dry_run=request.dry_run)
        return {"taken": [{"deed": note.action.value, "path": note.path, "why": note.why} for note in taken]}

    async def export_notes(request: ExportRequest) -> Payload:
        """List a page of notes. The files are read by the command that asked."""
        found, further = await transfer.list_notes(request.after)
        return {"notes": list(map(note_facts, found)), "next": further}

    async def remember_taught(request: TaughtRequest) -> Payload:
        await in_thread(taught.add, Path(request.file), what="remembering the file")
        return {}

    return Feature(
        operations={
            "import": Operation(ImportRequest, import_notes),
            "export": Operation(ExportRequest, export_notes),
            "taught": Operation(TaughtRequest, remember_taught),
        },
        copies=TaughtFiles(taught, core.clock),
    )
