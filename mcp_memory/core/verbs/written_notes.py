"""Indexes a note that was just written to the vault, and describes it for an answer."""

from collections.abc import Mapping
from time import monotonic

import anyio

from mcp_memory.core.core import Core
from mcp_memory.errors import McpMemoryError
from mcp_memory.models import (
    NotePath,
    Problem,
)
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.tokens import truncate
from mcp_memory.vault.draft import WriteResult
from mcp_memory.vault.note_file import NoteFile

LINK_TOKENS = 75


def link_of(core: Core, file: NoteFile | None, why: str = "") -> Mapping[str, str] | None:
    """Describe another note of a chain for an answer, without the text of a private note. `why`: a remark about it."""
    if file is None:
        return None
    is_private = core.config.recall.private_marks.cover(file.record)
    text = "" if is_private else truncate(" ".join(file.body.split()), LINK_TOKENS)
    return {"id": file.record.id, "path": file.record.path, "text": text} | ({"why": why} if why else {})


async def index_change(core: Core, stored: WriteResult, until: float) -> str:
    """Index a note that was just written, until `until` (monotonic seconds). If that fails, the next sweep indexes it.
    Vectors are made after the answer; until then, keyword search finds the note."""
    path = stored.file.record.path
    try:
        with anyio.fail_after(max(0.1, until - monotonic())):
            complete = await core.indexing.writer.index_note(stored.file)
            if stored.replaced:
                old = stored.replaced.record.path
                file = await in_thread(core.vault.read, old, deadline_s=10, what="reading")
                await core.indexing.writer.index_note(file)
    except (McpMemoryError, TimeoutError) as error:
        put_off(core, path, error)
        return "pending"
    if complete:
        return "full"
    core.search.model.wake()
    return "keywords"


async def index_written(core: Core, file: NoteFile) -> None:
    """Index a note that a person's change has written. A failure is left to the next sweep, since the change is
    made."""
    try:
        await core.indexing.writer.index_note(file)
    except McpMemoryError as error:
        put_off(core, file.record.path, error)


def why_behind(core: Core, path: NotePath) -> str | None:
    """Return why the index doesn't have the latest version of a file yet; None if it has."""
    problem, known = core.indexing.writer.problems.get(path), core.indexing.writer.indexed_files.get(path)
    return problem.reason if problem and not (known and known.signature) else None


def put_off(core: Core, path: NotePath, error: Exception) -> None:
    """Leave a file that is written to the next sweep, which is due now."""
    why = error.message if isinstance(error, McpMemoryError) else "not indexed in time"
    core.indexing.writer.reindex_later(path)
    core.indexing.writer.problems[path] = Problem(path, why, is_put_off=True)
    core.indexing.watcher.hint()
