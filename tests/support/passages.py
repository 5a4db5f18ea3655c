"""Passages made without an index."""

from __future__ import annotations

from typing import Any

from mcp_memory.models import Chunk, Etag, NoteId, NotePath, NoteRecord, NoteState, Passage
from mcp_memory.text.chunking.chunker import ChunkingConfig, cut


def passages_of(path: str, text: str, config: ChunkingConfig | None = None) -> list[Passage]:
    note = NoteRecord(NotePath(path), NoteId(path), Etag("e"), "s", f"Title {path}", "fact", NoteState.ACTIVE)
    return [
        Passage(number, number, each, note)
        for number, each in enumerate(cut(text, 0, config or ChunkingConfig(), log=False).chunks)
    ]


def passage(text: str, path: str = "memory/2023-05-08.md", **note: Any) -> Passage:
    is_log = path.startswith("memory/")
    headings = note.pop("headings", ())
    record = NoteRecord(
        NotePath(path), NoteId(f"path:{path}"), Etag(""), "", note.pop("title", "A title"), "note", NoteState.ACTIVE,
        is_log=is_log, **note,
    )  # fmt: skip
    return Passage(1, 0, Chunk(text, 0, len(text), 1, 1, headings), record)
