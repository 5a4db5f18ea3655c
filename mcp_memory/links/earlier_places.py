"""Traces the earlier places of notes from the change journal. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from mcp_memory.models import NoteId, NotePath
from mcp_memory.vault.journals.change_journal import DISK, NoteChange

Stay = tuple[int, NotePath]
"""The moment when a note left a place, and a place. A moment is the number of a change, so a wrong clock does no harm;
all changes found in a single sweep share a moment."""


@dataclass
class Whereabouts:
    """The history of the notes that exist now."""

    went: dict[NotePath, list[Stay]] = field(default_factory=lambda: defaultdict(list))
    """Maps a place to the current places of the notes that left it, oldest first."""
    came: dict[NotePath, list[Stay]] = field(default_factory=dict[NotePath, list[Stay]])
    """Maps a note's path to its earlier places, oldest first."""
    arrived: dict[NotePath, int] = field(default_factory=dict[NotePath, int])
    """Maps a path to the moment when its note arrived there."""
    written: dict[NotePath, int] = field(default_factory=dict[NotePath, int])
    """Maps a path to the moment when its text was last changed."""
    made: dict[NotePath, int] = field(default_factory=dict[NotePath, int])
    unknown: int = -1
    """The moment when too much changed at once to record the edits: any text may have changed then."""
    removed: set[NotePath] = field(default_factory=set[NotePath])
    """Places whose note has been removed."""


@dataclass
class _Traced:
    places: list[Stay] = field(default_factory=list[Stay])
    arrived: int = -1
    written: int = -1
    made: int = -1


def trace(changes: Iterable[NoteChange], paths: Collection[NotePath], ids: Mapping[NoteId, NotePath]) -> Whereabouts:
    """Trace the notes. `changes` are oldest first; `paths` are the paths of all notes; `ids` maps each note with its
    own id to its path."""
    at, lost = dict[NotePath, _Traced](), dict[NoteId, _Traced]()
    sweeps = (list(group) for _, group in groupby(enumerate(changes), _moment))
    known = Whereabouts()
    for now, sweep in enumerate(sweeps):
        left = dict[NotePath, _Traced]()
        for _, change in sweep:  # departures first, since another note may have taken the place
            place = change.other if change.kind == "moved" else change.path
            if place and change.kind in {"moved", "removed"}:
                left[NotePath(place)] = note = at.pop(NotePath(place), _Traced())
                note.places.append((now, NotePath(place)))
                if change.kind == "removed":
                    lost[change.note] = note
        for _, change in sweep:
            if change.kind == "moved" and change.other in left:
                at[change.path] = note = left[NotePath(change.other or "")]
                note.arrived = now
                note.written = now if change.before and change.before != change.after else note.written
            elif change.kind in {"stored", "imported"} and not change.entry:
                at[change.path] = note = lost.pop(change.note, _Traced())
                note.arrived = note.written = note.made = now
            elif change.kind == "edited":
                note = at.setdefault(change.path, _Traced(arrived=now if change.path in left else -1))
                note.written = now
            known.unknown = now if change.count else known.unknown
    known.removed = {place for note in lost.values() for _, place in note.places[-1:]} - set(paths)
    for path, note in (*at.items(), *((ids[lost_id], note) for lost_id, note in lost.items() if lost_id in ids)):
        if path in paths:
            known.came[path], known.arrived[path] = note.places, note.arrived
            known.written[path], known.made[path] = note.written, note.made
            known.removed -= {place for _, place in note.places}
            for left_at, place in note.places:
                known.went[place].append((left_at, path))
    for stays in known.went.values():
        stays.sort()
    return known


def _moment(numbered: tuple[int, NoteChange]) -> tuple[float, bool, int]:
    number, change = numbered
    return (change.at, True, 0) if change.client == DISK else (change.at, False, number)
