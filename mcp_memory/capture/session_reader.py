"""Find a transcript by its path or session and read it whole, without writing anything."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import Self, cast

from mcp_memory.capture.checkpoint import Checkpoint
from mcp_memory.capture.off_record_turns import NOTHING, ON_AND_ON, TakenBack
from mcp_memory.capture.readers.message import ReaderContext, Role, TranscriptMessage
from mcp_memory.capture.readers.registry import parse_line
from mcp_memory.capture.step import CaptureStep, build_step
from mcp_memory.capture.tail import list_sessions, read_new
from mcp_memory.capture.transcript_paths import TranscriptPath, TranscriptPaths
from mcp_memory.errors import NotFound
from mcp_memory.text.conversation.own_words import pasted_words

LEAST_ID_CHARS = 6
"""A shorter id would match the end of an arbitrary session's."""


@dataclass(frozen=True, slots=True)
class CapturedMessages:
    """New messages of a session, in order, without secrets. `file` is `TranscriptPath.name`; `tags` go to each note
    that is made of them. `taken_back`: what the person takes back of the messages before."""

    file: str
    client: str
    session: str
    project: str | None
    messages: Sequence[TranscriptMessage]
    tags: tuple[str, ...] = ()
    taken_back: TakenBack = NOTHING
    material: Callable[[], Iterable[str]] = field(default=tuple, compare=False)
    """A function that reads, from the transcript, the texts that the agent has read in the session."""

    @classmethod
    def from_step(cls, paths: TranscriptPaths, path: TranscriptPath, step: CaptureStep) -> Self:
        session, context = step.session or path.inner.stem, step.checkpoint.context
        return cls(
            path.name,
            path.client,
            session,
            context.project,
            step.messages,
            taken_back=step.taken_back,
            material=partial(read_material, paths, path),
        )


def find_transcript(paths: TranscriptPaths, named: str) -> TranscriptPath:
    """Find a file in a client's folder by its path, or a session by its id or the end of it. Raises NotFound, and
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
    paths: TranscriptPaths,
    path: TranscriptPath,
    zone: tzinfo,
    project_of: Callable[[str], str | None],
    *,
    until: int = ON_AND_ON,
    tool_output: bool = False,
    withdrawn: TakenBack = NOTHING,
) -> CapturedMessages:
    """Return the messages before the offset `until` as a capture would pass them on. `project_of`: the project of a
    folder; `withdrawn`: what was taken back in a copy. Raises the errors of `read_new`."""
    checkpoint, messages = Checkpoint(path.client, path.name), list[TranscriptMessage]()
    now = datetime.now(zone)
    while True:
        new = read_new(paths, path, checkpoint)
        lines = tuple(line for line in new.batch.lines if line.offset < until)
        step = build_step(
            path, replace(new, batch=replace(new.batch, lines=lines)), checkpoint, frozenset(), zone=zone, now=now,
            tool_output=tool_output, project_of=project_of, earlier=messages.copy,
        )  # fmt: skip
        messages = [message for message in messages if message.offset not in step.taken_back]
        messages += [message for message in step.messages if message.offset not in withdrawn]
        checkpoint = step.checkpoint
        if step.at_end or checkpoint.offset >= until:
            return replace(CapturedMessages.from_step(paths, path, step), messages=messages, taken_back=NOTHING)


_RESULTS = re.compile(rb"tool_result|_call_output|toolResult|functionResponse")


def read_material(paths: TranscriptPaths, path: TranscriptPath) -> Iterator[str]:
    """Read the answers of tools in the whole session, and the texts that the person pasted. Raises as `read_new`."""
    checkpoint, context = Checkpoint(path.client, path.name), ReaderContext()
    while True:
        new = read_new(paths, path, checkpoint)
        for line in new.batch.lines:
            if _RESULTS.search(line.data):
                with suppress(ValueError, RecursionError):
                    yield from _texts(json.loads(line.data.decode("utf-8", "replace")))
            else:
                for message in parse_line(path.client, line.data, line.offset, context) or ():
                    if message.role is Role.USER:
                        yield pasted_words(message.turn.text)
        if new.batch.at_end:
            return
        checkpoint = replace(
            checkpoint, offset=new.batch.next_offset, in_long_line=new.batch.in_long_line, fingerprint=new.fingerprint
        )


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in cast("dict[str, object]", value).values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _texts(item)
