"""Reads what a running session has just said from the end of its transcript, quickly enough for a prompt that waits."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple, cast

from mcp_memory.capture.checkpoint import Checkpoint
from mcp_memory.capture.readers.lines import TranscriptLine
from mcp_memory.capture.readers.message import ReaderContext, Role, text_arguments
from mcp_memory.capture.readers.registry import parse_line
from mcp_memory.capture.tail import checkpoint_before_end, measure_unread, read_new
from mcp_memory.capture.transcript_paths import TranscriptPath, TranscriptPaths
from mcp_memory.text.parsed_values import table_at, text_at
from mcp_memory.tool_names import APPEND

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
            if message.role is not Role.TOOL:
                yield Utterance(message.role, message.turn.text)
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
