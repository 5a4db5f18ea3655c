"""Detects which program a JSON file, a database, or a data export is of, and reads its memories."""

from collections.abc import Set
from dataclasses import replace
from itertools import islice
from pathlib import Path

from mcp_memory.text.parsed_values import table_at
from mcp_memory.transfer.item import ImportSource, SourceKind, SourceReading
from mcp_memory.transfer.memories import chatgpt, claude_ai, claude_mem, letta, mem0
from mcp_memory.transfer.memories.export_files import ExportFiles

READERS = {
    SourceKind.CHATGPT: chatgpt.read_memories,
    SourceKind.CLAUDE_AI: claude_ai.read_memories,
    SourceKind.CLAUDE_MEM: claude_mem.read_memories,
    SourceKind.LETTA: letta.read_memories,
    SourceKind.MEM0: mem0.read_memories,
}
_MARKS: tuple[tuple[SourceKind, Set[str]], ...] = (
    (SourceKind.CHATGPT, {"mapping"}),
    (SourceKind.CLAUDE_AI, {"chat_messages"}),
    (SourceKind.CLAUDE_AI, {"conversations_memory"}),
    (SourceKind.CLAUDE_MEM, {"observations", "session_summaries"}),
    (SourceKind.LETTA, {"agents", "blocks"}),
    (SourceKind.LETTA, {"core_memory"}),
    *((SourceKind.MEM0, marks) for marks in ({"history", "messages"}, {"memory", "id"}, {"results"}, {"memories"})),
)
"""Keys of a value in JSON, or tables in a database."""
_LOOKED_AT = 1000
"""Values of JSON; the first conversation of an export is enough."""


def detect_memories(root: Path) -> SourceKind | None:
    """Raises StorageFailed, and InvalidInput for a damaged zip."""
    export = ExportFiles(root)
    tables = export.tables()
    names = [tables] if tables else (table_at(value).keys() for value in islice(export.values(), _LOOKED_AT))
    return next((kind for found in names for kind, marks in _MARKS if marks <= found), None)


def read_memories(source: ImportSource) -> SourceReading:
    """Of two with the same key the first is read. Raises StorageFailed, and InvalidInput for a damaged zip."""
    export = ExportFiles(source.root)
    items = [record.as_item() for record in READERS[source.kind](export) if record.text.strip()]
    known = {item.key: item for item in reversed(items)}
    if export.account:
        source = replace(source, name="", account=export.account)
    return SourceReading(source, list(known.values())[::-1], export.left_out)
