"""Reads a session: from a checkpoint on, or quickly what a running session has just said."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self, cast

from mcp_memory.capture.checkpoint import Checkpoint
from mcp_memory.capture.off_record_turns import NOTHING, ON_AND_ON, TakenBack
from mcp_memory.capture.readers.lines import TranscriptLine
from mcp_memory.capture.readers.message import ReaderContext, Role, Transcript, TranscriptMessage, text_arguments
from mcp_memory.capture.readers.registry import parse_line
from mcp_memory.capture.step import CaptureStep, build_step
from mcp_memory.capture.tail import checkpoint_before_end, list_sessions, measure_unread, read_new
from mcp_memory.capture.transcript_paths import TranscriptPath, TranscriptPaths
from mcp_memory.errors import NotFound
from mcp_memory.text.conversation.own_words import pasted_words
from mcp_memory.text.parsed_values import table_at, text_at
from mcp_memory.tool_names import APPEND

LEAST_ID_CHARS = 6
"""A shorter id would match the end of an arbitrary session's."""


@dataclass(frozen=True)
class CapturedMessages:
    """New messages of a session, in order, without secrets. `file` is `TranscriptPath.name`; `tags` go to each note
    that is made of them. `taken_back`: what the person takes back of the messages before."""

    file: str
    client: str
    session: str
    project: str | None
    messages: Transcript
    tags: tuple[str, ...] = ()
    taken_back: TakenBack = NOTHING
    material: Callable[..., Iterable[str]] = field(default=tuple, compare=False)
    """A function that reads, from the transcript, the texts that the agent has read in the session, before an offset if
    one is given."""

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
    project_of: Callable[[str, str], str | None],
    *,
    until: int = ON_AND_ON,
    withdrawn: TakenBack = NOTHING,
) -> CapturedMessages:
    """Return the messages before the offset `until` as a capture would pass them on. `project_of`: the project of a
    folder and session; `withdrawn`: what was taken back in a copy. Raises the errors of `read_new`."""
    checkpoint, messages = Checkpoint(path.client, path.name), list[TranscriptMessage]()
    now = datetime.now(zone)
    while True:
        new = read_new(paths, path, checkpoint)
        lines = tuple(line for line in new.batch.lines if line.offset < until)
        step = build_step(
            path, replace(new, batch=replace(new.batch, lines=lines)), checkpoint, frozenset(), zone=zone, now=now,
            project_of=project_of, earlier=messages.copy,
        )  # fmt: skip
        messages = [message for message in messages if message.offset not in step.taken_back]
        messages += [message for message in step.messages if message.offset not in withdrawn]
        checkpoint = step.checkpoint
        if step.at_end or checkpoint.offset >= until:
            return replace(CapturedMessages.from_step(paths, path, step), messages=messages, taken_back=NOTHING)


_RESULTS = re.compile(rb"tool_result|_call_output|toolResult|functionResponse")


def read_material(paths: TranscriptPaths, path: TranscriptPath, until: int = ON_AND_ON) -> Iterator[str]:
    """Read the answers of tools in the session before an offset, and the texts that the person pasted. Raises as
    `read_new`."""
    checkpoint, context = Checkpoint(path.client, path.name), ReaderContext()
    while True:
        new = read_new(paths, path, checkpoint)
        for line in new.batch.lines:
            if line.offset >= until:
                return
            if _RESULTS.search(line.data):
                with suppress(ValueError, RecursionError):
                    yield from _texts(json.loads(line.data.decode("utf-8", "replace")))
            else:
                for message in parse_line(path.client, line.data, line.offset, context) or ():
                    if message.is_persons:
                        yield pasted_words(message.text)
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


MOST_BYTES = 500_000
"""The most unread bytes at the end that are read: some 25 ms. A turn is rarely a tenth of it."""

_NAMED = APPEND.encode()
_OUTPUT = re.compile(rb'"type":"(?:tool_result|[a-z_]{1,40}_call_output)"')
"""Matches in the lines with the output of tools, which are most of a transcript and aren't parsed."""


class Utterance(NamedTuple):
    """A message of the person or the agent; a text that the agent stored has the role of a tool."""

    role: Role
    text: str


class SessionTail:
    """The end of a session's transcript. Not thread-safe."""

    def __init__(self, paths: TranscriptPaths, path: TranscriptPath) -> None:
        self.path = path
        self._paths = paths
        self._at = Checkpoint(path.client, path.name)
        self._context = ReaderContext()

    def read(self) -> Iterator[Utterance]:
        """Yield what was said since the last call, at most `MOST_BYTES` of it. Raises NotFound, Refused,
        StorageFailed."""
        if measure_unread(self._paths, self.path, self._at).new_bytes > MOST_BYTES:
            self._at = checkpoint_before_end(self._paths, self.path, MOST_BYTES)
        is_at_end = False
        while not is_at_end:
            new = read_new(self._paths, self.path, self._at)
            batch, is_at_end = new.batch, new.batch.at_end
            self._at = replace(
                self._at, offset=batch.next_offset, in_long_line=batch.in_long_line, fingerprint=new.fingerprint
            )
            for line in batch.lines:
                yield from self._said(line)

    def skip(self) -> None:
        """Take everything so far as read. Raises as `read`."""
        self._at = checkpoint_before_end(self._paths, self.path, 0)

    def _said(self, line: TranscriptLine) -> Iterator[Utterance]:
        if _OUTPUT.search(line.data):
            return
        for message in parse_line(self.path.client, line.data, line.offset, self._context) or ():
            if not message.is_call:
                yield Utterance(message.role, message.text)
        if _NAMED in line.data:
            with suppress(ValueError, RecursionError):  # the line is not JSON, so it has no messages either
                for content in _stored(json.loads(line.data)):
                    yield Utterance(Role.TOOL, content)


def _stored(value: object) -> Iterator[str]:
    """Yield the contents of all calls of `memory_append` in a line, in the form of any client."""
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _stored(item)
        return
    call = table_at(value)
    if text_at(call, "name").endswith(APPEND):
        for key in ("input", "arguments", "args"):
            yield text_arguments(call.get(key)).get("content", "")
    for item in call.values():
        yield from _stored(item)
