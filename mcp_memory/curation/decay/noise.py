"""Finds notes that may be noise, for a person to look through: nothing is changed here."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from mcp_memory.core.core import Core
from mcp_memory.core.serializers import Payload, listed_payload
from mcp_memory.errors import InvalidInput
from mcp_memory.models import IMPORTED, Filters, NoteRecord
from mcp_memory.recall.moments.lasting_statements import is_whole
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.search.filters import checked_limit
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.vault.config import COMMITMENT
from mcp_memory.vault.note_file import is_memory

UNUSED_DAYS = 90
SHORT_BYTES, MOST_SHORT = 80, 400
"""The longest fragment, and the most short notes that are read for one list, in some 40 ms."""
MOST_GROUPED = 1_000
"""The most notes that are read for a list of imports or sessions, in some 30 ms."""
MOST_CHARS = 240

Found = Iterator[tuple[NoteRecord, str]]


@dataclass(frozen=True)
class NoiseRequest:
    """Up to `limit` notes that may be noise, the latest first. `what`: `fragment` (it says nothing whole), `unused`
    (not in 90 days), `expired`, `imported` or `session`. `name`: the import or session; without one, the answer has the
    latest of them as `groups`."""

    what: str
    name: str | None = None
    limit: int = 50


async def noise(core: Core, request: NoiseRequest) -> Payload:
    """Return notes, each with the reason. Raises InvalidInput for another kind of noise."""
    limit = checked_limit(request.limit)
    grouping = _GROUPS.get(request.what)
    if grouping is None and request.what not in _FINDERS:
        raise InvalidInput(f"unknown noise {request.what[:40]!r}", hint=", ".join([*_FINDERS, *_GROUPS]))

    def read() -> Payload:
        if grouping and request.name is None:
            return {"notes": [], "groups": grouping(core), "further": False}
        notes = _of_group(core, request) if grouping else _FINDERS[request.what](core)
        found = list(islice(((note, why) for note, why in notes if not _is_kept(note)), limit + 1))
        return {"notes": [_payload(core, *one) for one in found[:limit]], "groups": [], "further": len(found) > limit}

    return visible_in(await in_thread(read, deadline_s=LOOK_DEADLINE_S, what="looking for noise"))


def _is_kept(note: NoteRecord) -> bool:
    """Return whether a note is never called noise: a log, whose entries are many notes, or what a person relies on."""
    return note.is_log or note.always_load or note.kind == COMMITMENT or is_memory(note.path)


def _payload(core: Core, note: NoteRecord, why: str) -> Payload:
    text = next((one.chunk.text for one in core.index.passages(note.path)), "")
    facts = {"session": note.session, "why": why, "text": " ".join(text.split())[:MOST_CHARS]}
    return listed_payload(note, core.clock()) | facts


def _notes(core: Core, filters: Filters) -> Iterator[NoteRecord]:
    """Yield the notes that match, reading more only as they are needed."""
    size, seen = 100, 0
    while True:
        notes = core.index.notes(filters, size)
        yield from notes[seen:]
        if len(notes) < size:
            return
        size, seen = size * 4, len(notes)


def _fragments(core: Core) -> Found:
    for note in core.index.short_notes(Filters(now=core.clock()), SHORT_BYTES, MOST_SHORT):
        text = " ".join(one.chunk.text.strip() for one in core.index.passages(note.path))
        if not is_whole(text) and not any(map(str.isdigit, text)):  # "the port is 5433" says a value
            yield note, "it says nothing whole"


def _unused(core: Core) -> Found:
    since = core.clock() - timedelta(days=UNUSED_DAYS)
    used = core.recall.uses.used_since(since.date())
    for note in _notes(core, Filters(until=since, now=core.clock())):
        if note.id not in used:
            yield note, f"not used for {UNUSED_DAYS} days"


def _expired(core: Core) -> Found:
    for note in _notes(core, Filters(ended=core.clock())):
        if note.expires_at and not note.superseded_at:
            yield note, f"expired on {note.expires_at.date()}"


def _of_group(core: Core, request: NoiseRequest) -> Found:
    folder = core.vault.layout.in_home(f"{IMPORTED}/{request.name}/")
    is_session = request.what == "session"
    filters = Filters(session=request.name) if is_session else Filters(path_prefix=folder)
    return ((note, "") for note in _notes(core, filters))


def _imports(core: Core) -> list[Payload]:
    home = core.vault.layout.in_home(f"{IMPORTED}/")
    found = core.index.notes(Filters(path_prefix=home), MOST_GROUPED)
    return _grouped(found, lambda note: note.path.removeprefix(home).partition("/")[0])


def _sessions(core: Core) -> list[Payload]:
    return _grouped(core.index.notes(Filters(), MOST_GROUPED), lambda note: note.session or "")


def _grouped(notes: Sequence[NoteRecord], name_of: Callable[[NoteRecord], str]) -> list[Payload]:
    """Return each group with its number of notes, its client and project, and the date of its latest note."""
    groups = defaultdict[str, list[NoteRecord]](list)
    for note in notes:
        if not _is_kept(note):
            groups[name_of(note)].append(note)
    groups.pop("", None)
    return [
        {"name": name, "notes": len(found), "client": latest.source, "project": latest.project, "last": latest.day}
        for name, found in groups.items()
        for latest in found[:1]
    ]


_FINDERS: Mapping[str, Callable[[Core], Found]] = {"fragment": _fragments, "unused": _unused, "expired": _expired}
_GROUPS: Mapping[str, Callable[[Core], list[Payload]]] = {"imported": _imports, "session": _sessions}
