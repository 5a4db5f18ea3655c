"""Detects which program a JSON file, a database, or a data export is of, and reads its memories."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
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
_TABLES = {
    SourceKind.CLAUDE_MEM: ({"observations", "session_summaries"},),
    SourceKind.MEM0: ({"history", "messages"}, {"memories", "apps", "memory_categories"}),
}
_KEYS = {
    SourceKind.CHATGPT: ({"mapping"},),
    SourceKind.CLAUDE_AI: ({"chat_messages"}, {"conversations_memory"}),
    SourceKind.LETTA: ({"agents", "blocks"}, {"core_memory"}),
    SourceKind.MEM0: ({"memory", "id"}, {"results"}, {"memories"}),
}


def detect_memories(root: Path) -> SourceKind | None:
    """Looks at the first value of each file. Raises StorageFailed, and InvalidInput for a damaged zip."""
    export = ExportFiles(root)
    if tables := export.tables():
        return _kind_in(_TABLES, tables)
    found = (_kind_in(_KEYS, table_at(value).keys()) for value in export.first_values())
    return next(filter(None, found), None)


def read_memories(source: ImportSource) -> SourceReading:
    """Of two with the same key the first is read. Raises StorageFailed, and InvalidInput for a damaged zip."""
    export = ExportFiles(source.root)
    items = [record.as_item() for record in READERS[source.kind](export) if record.text.strip()]
    known = {item.key: item for item in reversed(items)}
    if export.account:
        source = replace(source, name="", account=export.account)
    return SourceReading(source, list(known.values())[::-1], export.left_out)


def _kind_in(marks: Mapping[SourceKind, Sequence[Set[str]]], names: Set[str]) -> SourceKind | None:
    return next((kind for kind, sets in marks.items() if any(each <= names for each in sets)), None)
