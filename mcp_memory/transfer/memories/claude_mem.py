"""Reads claude-mem's database, `~/.claude-mem/claude-mem.db`: each observation and each summary of a session becomes a
note; prompts stay behind. As written by version 13.25."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

from mcp_memory.transfer.memories.export_files import ExportFiles
from mcp_memory.transfer.memories.memory_record import MemoryRecord, moment

_KINDS = {"bugfix": "fix", "decision": "decision", "discovery": "fact"}
_SUMMARY = ("investigated", "learned", "completed", "next_steps", "notes")


def read_memories(export: ExportFiles) -> Iterator[MemoryRecord]:
    """Raises StorageFailed."""
    for row in export.rows("observations", "id"):
        facts = "\n".join(f"- {fact}" for fact in _list(row.get("facts")))
        files = dict.fromkeys([*_list(row.get("files_modified")), *_list(row.get("files_read"))])
        named = f"Files: {', '.join(f'`{file}`' for file in files)}" if files else ""
        parts = [row.get("subtitle"), row.get("narrative") or row.get("text"), facts, named]
        kind, tags = _KINDS.get(str(row.get("type")), "log"), _list(row.get("concepts"))
        yield _record(export, row, f"observation/{row['id']}", row.get("title"), parts, kind, tags)
    for row in export.rows("session_summaries", "id"):
        parts = [f"{name.replace('_', ' ').capitalize()}: {row[name]}" for name in _SUMMARY if row.get(name)]
        yield _record(export, row, f"summary/{row['id']}", row.get("request"), parts, "log", [])


def _record(
    export: ExportFiles, row: dict[str, Any], key: str, title: object, parts: list[Any], kind: str, tags: list[str]
) -> MemoryRecord:
    when = moment(row.get("created_at_epoch"), row.get("created_at")) or export.made
    text, project = "\n\n".join(str(part) for part in parts if part), str(row.get("project") or "")
    return MemoryRecord(key, text or str(title), when, str(title or ""), kind, project, None, tags)


def _list(value: object) -> list[str]:
    """Reads a list that is stored as JSON."""
    with suppress(ValueError, RecursionError, TypeError):
        value = json.loads(cast("str", value))
    return [str(one) for one in cast("list[object]", value)] if isinstance(value, list) else []
