"""Find the note that a caller names by id, the end of an id, or path."""

import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeVar
from unicodedata import normalize

from mcp_memory.errors import Ambiguous, IndexUnavailable, InvalidInput, NotFound
from mcp_memory.index.base import Index
from mcp_memory.models import NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.escape_invisible import in_line, named_again
from mcp_memory.text.markdown.logs import is_log_path
from mcp_memory.vault.journals.ledger import Ledger
from mcp_memory.vault.note_file import MEMORY

LOOK_S = 10.0

Place = tuple[NotePath, str | None]
"""A note's path, and the hash of a log entry."""

T = TypeVar("T")

ULID_CHARS = 26

_ENDING = re.compile("[0-9A-Za-z-]{6,}")
"""The end of an id, as answers name notes."""


class NoteLookup:
    """The lookup of notes by id or path."""

    def __init__(self, index: Index, ledger: Ledger) -> None:
        self._index = index
        self._ledger = ledger

    async def full_id(self, target: str) -> str:
        """Return the id with this end, in any case of letters; a path in the Unicode form that the disk has; any other
        target as it is. Raises Ambiguous for several ids."""
        named = named_by(target)
        if isinstance(named, tuple):
            path, entry = named
            spelled = await in_thread(self._spelled, path, deadline_s=LOOK_S, what="looking for the note")
            return target if spelled == path else f"{spelled}#{entry}" if entry else spelled
        if not _ENDING.fullmatch(named):
            return target

        def look() -> list[NoteId]:
            found = self._index.find_ids(named)
            if not self._index.note_by_id(named):
                return found
            # The whole id wins, unless it may be the end of one of ours, as answers show it.
            return [named, *(other for other in found if len(other) == ULID_CHARS and other != named)]

        found = await in_thread(look, deadline_s=LOOK_S, what="looking for the note")
        if len(found) > 1:
            some = ", ".join(map(in_line, found[:10]))
            message = f"{len(found)} ids end with {named}: {some}"
            raise Ambiguous(message, hint="pass one of them in full", ids=found[:10])
        return found[0] if found else target

    async def find(self, target: str, *, deleted: bool = False) -> Place:
        """Return the place of the note with this id, end of an id, or path. Among several with one id, a forgotten one
        is preferred if `deleted`, else the others. Raises InvalidInput, NotFound."""
        named = named_by(await self.full_id(target))
        if isinstance(named, tuple):
            return named
        records = await in_thread(self._index.note_by_id, named, deadline_s=LOOK_S, what="looking for the note")
        if not records:
            raise NotFound(f"no note with the id {named[:100]!r}", hint="memory_search finds ids")
        # A conflict copy has the same id; the note itself is where we wrote it last.
        places = self._ledger.places_of(named)

        def rank(record: NoteRecord) -> tuple[bool, int]:
            at = places.index(record.path) if record.path in places else -1
            return (record.state is NoteState.DELETED) is not deleted, -at

        return min(records, key=rank).path, None

    def _spelled(self, path: NotePath) -> NotePath:
        """Return the path as the disk spells it: macOS writes `é` as two characters, and a keyboard as one."""
        if path.isascii():
            return path
        try:
            is_known = self._index.note(path) is not None
            found = [] if is_known else self._index.named(f"/{normalize('NFC', path)}")
        except IndexUnavailable:
            return path
        return found[0] if len(found) == 1 else path

    async def reach(
        self, targets: Sequence[str], work: Callable[[Sequence[Place]], Awaitable[T]], *, deleted: bool = False
    ) -> T:
        """Call `work` with the places of the notes, and again if one has just been moved. Raises as `find`, and the
        errors of `work`."""
        targets = [await self.full_id(target) for target in targets]
        places = [await self.find(target, deleted=deleted) for target in targets]
        try:
            return await work(places)
        except NotFound:
            now = [(self._latest(target, at), entry) for target, (at, entry) in zip(targets, places, strict=True)]
            if now == places:
                raise
            with suppress(NotFound):
                return await work(now)
            raise

    def _latest(self, target: str, path: NotePath) -> NotePath:
        """Return where we moved the note at the path, since the index may not know it yet."""
        named = named_by(target)
        ids = self._ledger.ids_at(path) if isinstance(named, tuple) else {named}
        if len(ids) != 1:
            return path  # several notes were there, and any of them may be meant
        known = self._ledger.places_of(*ids)
        return known[-1] if known and path not in known else path


def named_by(target: str) -> tuple[NotePath, str | None] | NoteId:
    """Return a note's path, with the hash of a log entry; or an id that has to be looked up in the index.

    Raises InvalidInput."""
    plain = named_again(target.strip())
    plain = f"{MEMORY}{plain}" if plain.startswith("#") else plain
    if not plain or len(plain) > 5000:
        raise InvalidInput("id is empty or too long", hint="pass an id or path from memory_search")
    whole, _, entry = plain.rpartition("#")
    if is_log_path(whole) or whole == MEMORY:
        return NotePath(whole), entry
    if plain.startswith("path:"):
        return NotePath(plain.removeprefix("path:")), None
    if "/" in plain or plain.lower().endswith(".md"):
        return NotePath(plain.removeprefix("./")), None
    return NoteId(plain)
