"""Reading: a whole transcript at once, for a person who names it or its session. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo
from pathlib import Path

from mcp_memory.capture.checkpoint import Checkpoint
from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.capture.service import CapturedMessages
from mcp_memory.capture.step import step_of
from mcp_memory.capture.tail import read_new, sessions
from mcp_memory.capture.transcript_paths import TranscriptPath, TranscriptPaths
from mcp_memory.errors import NotFound
from mcp_memory.runtime.project import project_of

LEAST_ID_CHARS = 6
"""Fewer are the end of some session or other."""


def place_named(places: TranscriptPaths, named: str) -> TranscriptPath:
    """A file in a client's folder by its path, or a session by its id, or by the last part of it. Raises NotFound,
    Refused for a file that lies elsewhere."""
    file = Path(named).expanduser()
    if file.is_file():
        return places.place(places.client_of(str(file.absolute())), str(file.absolute()))
    for client in places.clients if len(named) >= LEAST_ID_CHARS else ():
        for place in _sessions_of(places, client):
            if (place.session or place.inner.stem).endswith(named):
                return place
    raise NotFound(
        f"no transcript and no session is called {named[:200]!r}",
        hint="name a file, or the id of a session in a client's folder ([capture.folders])",
    )


def read_whole(places: TranscriptPaths, place: TranscriptPath, zone: tzinfo) -> CapturedMessages:
    """All of a transcript, without secrets, as those hear it to whom a capture tells it. Raises as `news`."""
    bookmark, messages = Checkpoint(place.client, place.name), list[TranscriptMessage]()
    now = datetime.now(zone)
    while True:
        new = read_new(places, place, bookmark)
        step = step_of(place, new, bookmark, frozenset(), zone=zone, now=now, tool_output=False)
        messages += step.messages
        bookmark = step.bookmark
        if step.at_end:
            session, project = step.session or place.inner.stem, project_of(bookmark.context.folder)
            return CapturedMessages(place.name, place.client, session, project, messages)


def _sessions_of(places: TranscriptPaths, client: str) -> Iterator[TranscriptPath]:
    """The latest first."""
    for file in reversed(places.paths_of_client(client)):
        yield from sessions(places, file)
