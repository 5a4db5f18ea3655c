"""Takes notes into the vault and out of it."""

from functools import partial
from pathlib import Path

from mcp_memory.core.core import Core
from mcp_memory.core.feature import Feature, Operation
from mcp_memory.core.serializers import Payload
from mcp_memory.runtime.threads import in_thread
from mcp_memory.transfer.porting import ImportDestination, Transfer, note_facts, parse_incoming
from mcp_memory.transfer.requests import ExportRequest, ImportRequest, TaughtRequest
from mcp_memory.transfer.taught_files import TaughtFiles
from mcp_memory.vault.journals.change_journal import IMPORT, acting
from mcp_memory.vault.journals.place_list import PlaceList
from mcp_memory.vault.journals.tombstones import Caller


def build(core: Core) -> Feature:
    transfer = Transfer(core.vault, core.index, core.indexing.writer, core.indexing.sweeper.reconcile)
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
        return {"home": core.vault.layout.home, "notes": list(map(note_facts, found)), "next": further}

    async def remember_taught(request: TaughtRequest) -> Payload:
        await in_thread(partial(taught.add, Path(request.file)), what="remembering the file")
        return {}

    return Feature(
        operations={
            "import": Operation(ImportRequest, import_notes),
            "export": Operation(ExportRequest, export_notes),
            "taught": Operation(TaughtRequest, remember_taught),
        },
        copies=TaughtFiles(taught, core.clock),
    )
