"""Finds a transcript by its path or session and reads it whole, without writing anything."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Self

from mcp_memory.capture.checkpoint import Checkpoint
from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.capture.step import CaptureStep, build_step
from mcp_memory.capture.tail import list_sessions, read_new
from mcp_memory.capture.transcript_paths import TranscriptPath, TranscriptPaths
from mcp_memory.errors import NotFound

LEAST_ID_CHARS = 6
"""A shorter id would match the end of an arbitrary session's."""


@dataclass(frozen=True, slots=True)
class CapturedMessages:
    """New messages of a session, in order, without secrets. `file` is `TranscriptPath.name`; `tags` go to each note
    that is made of them. `taken_back`: the person wants nothing kept of what was said from this offset on, before
    these."""

    file: str
    client: str
    session: str
    project: str | None
    messages: Sequence[TranscriptMessage]
    tags: tuple[str, ...] = ()
    taken_back: int | None = None

    @classmethod
    def from_step(cls, path: TranscriptPath, step: CaptureStep) -> Self:
        session, context = step.session or path.inner.stem, step.checkpoint.context
        return cls(path.name, path.client, session, context.project, step.messages, taken_back=step.taken_back)


def find_transcript(paths: TranscriptPaths, named: str) -> TranscriptPath:
    """Finds a file in a client's folder by its path, or a session by its id or the end of it. Raises NotFound, and
    Refused for a file elsewhere."""
    file = Path(named).expanduser()
    if file.is_file():
        return paths.locate_any(str(file.absolute()))
    for client in paths.clients if len(named) >= LEAST_ID_CHARS else ():
        newest_first = reversed(paths.list_transcripts(client))
        for path in (session for file in newest_first for session in list_sessions(paths, file)):
            if (path.session or path.inner.stem).endswith(named):
                return path
    raise NotFound(
        f"no transcript or session is called {named[:200]!r}",
        hint="pass a file, or the id of a session in a client's folder ([capture.folders])",
    )


def read_session(
    paths: TranscriptPaths, path: TranscriptPath, zone: tzinfo, project_of: Callable[[str], str | None]
) -> CapturedMessages:
    """Returns the messages as a capture would pass them on. `project_of`: the project of a folder. Raises as
    `read_new`."""
    checkpoint, messages = Checkpoint(path.client, path.name), list[TranscriptMessage]()
    now = datetime.now(zone)
    while True:
        new = read_new(paths, path, checkpoint)
        step = build_step(
            path, new, checkpoint, frozenset(), zone=zone, now=now, tool_output=False, project_of=project_of
        )
        if step.taken_back is not None:
            messages = [message for message in messages if message.offset < step.taken_back]
        messages += step.messages
        checkpoint = step.checkpoint
        if step.at_end:
            return replace(CapturedMessages.from_step(path, step), messages=messages, taken_back=None)
