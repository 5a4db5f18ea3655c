"""Finds the intended target of a link from earlier places of notes, and the text to write. Pure, except that it reads
the index."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from mcp_memory.index.base import Index
from mcp_memory.links.earlier_places import Whereabouts
from mcp_memory.models import NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.text.markdown.link_targets import retargeted
from mcp_memory.text.markdown.note_links import HISTORY, OUTSIDE, NoteLink, ResolvedLink, fold, key_of, names_of

GENERIC = frozenset({"readme", "index", "_summary", "changelog", "license", "home", "todo"})
"""Names that don't identify a note."""
BY_NAME = "name"


@dataclass(frozen=True, slots=True)
class Repair:
    """A repair. `target` is the text to write; `how` is the evidence for the note: its id, content or name."""

    to: NotePath
    target: str
    how: str


class Repairer:
    def __init__(
        self,
        index: Index,
        notes: Mapping[NotePath, NoteRecord],
        places: Whereabouts,
        ids_at: Callable[[NotePath], Collection[NoteId]],
    ) -> None:
        """Create a repairer. `ids_at` returns the ids of notes that we once put at a path."""
        self._index, self._notes, self._places, self._ids_at = index, notes, places, ids_at
        self._places_named, self._removed = defaultdict[str, set[NotePath]](set), set[str]()
        for place in places.went:
            for name in names_of(place, "path:", "", ()):
                self._places_named[name].add(place)
        for place in places.removed:
            self._removed |= names_of(place, "path:", "", ()).keys()

    def find(self, one: ResolvedLink) -> Repair | str | None:
        """Return the repair of a link, the reason why it can't be repaired, or None if it is intact."""
        link, places = one.link, self._places
        written = max(places.written.get(one.source, -1), places.unknown)
        then = next((place for left, place in places.came.get(one.source, ()) if left > written), one.source)
        meant = self._moved(one, then, written) or self._there(link, then, one.source)
        if one.targets:
            is_taken = len(one.targets) == 1 and (
                then != one.source or places.arrived.get(one.targets[0], -1) > written
            )
            if len(meant) != 1 or not is_taken or meant == set(one.targets):
                return None
            return self._repair(one, meant.pop())
        if not meant:
            for place in (one.source, *(place for _, place in places.came.get(one.source, ()))):
                meant |= self._left(link, place) | self._there(link, place, one.source)
        if not meant and link.key.startswith("/"):
            found = [self._index.note_by_id(note_id) for note_id in self._ids_at(NotePath(link.key[1:]))]
            meant = {note.path for notes in found for note in notes}
        if not meant and link.key in self._removed:
            return "its note was removed"
        by_name = not meant
        meant = meant or self._with_name(link)
        if by_name or link.type in HISTORY:
            meant -= {one.source}  # a note doesn't link to itself, so another note has the name
        if len(meant) != 1:
            return (
                f"{len(meant)} notes may be meant: {', '.join(sorted(meant)[:3])}" if meant else "no note has its name"
            )
        return self._repair(one, meant.pop(), BY_NAME if by_name else "")

    def _moved(self, one: ResolvedLink, path: NotePath, written: int) -> set[NotePath]:
        """Return the current places of notes that left the link's target since the text was last changed. Include notes
        that left before, in case the link is older than the rest of the text."""
        meant, made = set[NotePath](), self._places.made.get(one.source, -1)
        for place in self._places_named.get(key_of(one.link.kind, one.link.target, path) or "", ()):
            stays = self._places.went[place]
            if first := next((now for left, now in stays if left > written), None):
                meant |= {first, *(now for left, now in stays if made < left <= written)}
        return meant

    def _left(self, link: NoteLink, path: NotePath) -> set[NotePath]:
        """Return the current places of all notes that the link is known to have led to."""
        old = self._places_named.get(key_of(link.kind, link.target, path) or "", ())
        return {now for place in old for _, now in self._places.went[place]}

    def _there(self, link: NoteLink, path: NotePath, source: NotePath) -> set[NotePath]:
        """Return the notes that the link leads to from an earlier place of its own note."""
        key = key_of(link.kind, link.target, path) if path != source else None
        return set(self._index.named(key)) if key else set()

    def _with_name(self, link: NoteLink) -> set[NotePath]:
        name = fold(link.key.rpartition("/")[2].removesuffix(".md"))
        is_vague = "/" not in link.key or link.key.startswith(f"/{OUTSIDE}") or name in GENERIC
        found = [] if is_vague else self._index.named(name)
        return {path for path in found if fold(path.rpartition("/")[2].removesuffix(".md")) == name}

    def _repair(self, one: ResolvedLink, to: NotePath, how: str = "") -> Repair | str:
        link, note = one.link, self._notes.get(to)
        if note is None or note.state is NoteState.DELETED:
            return "its note was forgotten"

        def leads(target: str) -> bool:
            key = key_of(link.kind, target, one.source)
            return key is not None and self._index.named(key) == [to]

        target = retargeted(link.kind, link.target, one.source, to, leads)
        if target is None:
            return f"no link of this form can name {to}"
        return Repair(to, target, how or ("content" if note.id.startswith("path:") else "id"))
