"""Lists undecided contradictions and doubles, and writes decisions into the notes' files."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import combinations

from ulid import ULID

from mcp_memory.client.credentials import PERSON
from mcp_memory.comparison.double import said_in
from mcp_memory.core.core import Core
from mcp_memory.core.requests import ReviewRequest
from mcp_memory.core.serializers import Choice, Payload, ReviewItem
from mcp_memory.core.verbs.storing import index_written
from mcp_memory.errors import IndexUnavailable, InvalidInput, NotFound
from mcp_memory.indexing.stated_texts import StatedText
from mcp_memory.models import DOUBLE, NoteId
from mcp_memory.recall.excerpts import shortened
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.dates import format_when
from mcp_memory.text.escape_invisible import visible_in
from mcp_memory.vault.journals.change_journal import DECISION, acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.note_file import NoteFile

CONFLICT, KEEP, BOTH = "conflict", "keep", "both"
MOST_DOUBLES = 20
"""The most groups of doubles that wait at once; the next come after a decision."""
_PART = "edit it instead if only part of it is wrong"
_PERSON = Caller(PERSON, is_person=True)

Undecided = tuple[str, Sequence[StatedText]]
"""Why notes wait for a decision, and the notes."""


class ConflictReview:
    """Decides conflicts and doubles for people; an agent decides by storing a note that supersedes another note."""

    prefix = f"{CONFLICT}-"
    kinds = (CONFLICT, "double")

    def __init__(self, core: Core) -> None:
        self._core = core
        self._conflicts = core.indexing.conflicts

    async def waiting(self, limit: int | None = None) -> Sequence[ReviewItem]:
        """Return the open conflicts, latest first, each with both notes, and the doubles."""
        if limit is None:
            await self._conflicts.scan()
        return await in_thread(lambda: [self._item(*pair) for pair in self._found(limit)], what="reading notes")

    async def decide(self, request: ReviewRequest) -> Sequence[Payload]:
        """Settle conflicts as a single change that can be undone: `keep` the note, or `both`. Contradictions of the
        kept note that are found only now are listed next, because nobody has seen them yet.

        Raises NotFound without such a conflict, InvalidInput, and the errors of changing a note."""
        choice, kept = request.choice, NoteId(request.note or "")
        if choice not in (KEEP, BOTH):
            raise InvalidInput(f"unknown choice {choice[:40]!r}", hint=f"{KEEP} or {BOTH}")
        await self._conflicts.scan()
        found = await in_thread(self._found, what="reading notes")
        known = {_item_id(pair[1]): pair for pair in found}
        if missing := [item for item in request.items if item not in known]:
            raise NotFound(f"no open conflict {missing[0][:100]}", hint="mcp-memory review lists them")
        decided = [known[item] for item in request.items]
        if choice == KEEP and any(kept not in [one.id for one in notes] for _, notes in decided):
            raise InvalidInput("keep needs a note of the conflict", hint="pass the id of a note in it")
        with acting(replace(_PERSON, run=f"{DECISION}-{ULID()}")):
            for _, notes in decided:
                supersede = self._core.vault.supersede
                retired = [partial(supersede, one.path, kept, _entry(one), _PERSON) for one in notes if one.id != kept]
                both = [partial(self._hold_both, *pair) for pair in combinations(notes, 2)]
                for change in retired if choice == KEEP else both:
                    file = await in_thread(change, what="changing the note")
                    await index_written(self._core, file)
        with suppress(IndexUnavailable):
            await self._conflicts.scan()
        shown = [(why, next((one for one in notes if one.id == kept), notes[0])) for why, notes in decided]
        return visible_in([{"id": one.id, "path": one.path, "title": why} for why, one in shown])

    # -- in threads --------------------------------------------------------------------------------------------

    def _found(self, limit: int | None = None) -> Sequence[Undecided]:
        """Return the open conflicts, latest first, each with the newer and the older note, and the doubles."""
        latest = self._conflicts.open_conflicts[::-1]
        found = [one for one in latest if one.why != DOUBLE][:limit]
        found += [one for one in latest if one.why == DOUBLE]  # all, because a group is decided as a whole
        paths = {path for one in found for path in (one.older_path, one.newer_path)}
        known = {one.id: one for path in paths for one in self._conflicts.texts.at(path)}
        pairs = [
            (one.why, (known[one.newer], known[one.older])) for one in found if {one.older, one.newer} <= known.keys()
        ]
        doubles = [(DOUBLE, notes) for notes in _groups([notes for why, notes in pairs if why == DOUBLE])]
        return [*(pair for pair in pairs if pair[0] != DOUBLE), *doubles]

    def _item(self, why: str, notes: Sequence[StatedText]) -> ReviewItem:
        if why == DOUBLE:
            kept, *gone = [shortened(one.id) or one.path for one in notes]
            why = f"{DOUBLE}: keeps {kept}, supersedes {', '.join(gone)}; undo with mcp-memory undo {kept}"
            what, roles = "double", ("keeps", *("supersedes" for _ in gone))
            keep = [Choice("k", KEEP, "[k]eep the first", f"keep: these notes {why}", notes[0].id)]
        else:
            what, roles, (newer, older) = CONFLICT, ("newer", "older"), notes
            keep = [
                Choice("n", KEEP, "keep [n]ewer", f"keep newer: the older note is retired; {_PART}", newer.id),
                Choice("o", KEEP, "keep [o]lder", f"keep older: the newer note is retired; {_PART}", older.id),
            ]
        keep.append(Choice("t", BOTH, "bo[t]h", "both: both are right, and they aren't shown again"))
        sides = list(map(self._side, roles, notes))
        private = any(side["private"] for side in sides)
        return ReviewItem(_item_id(notes), what, "", visible_in(why), keep, private=private, notes=visible_in(sides))

    def _side(self, role: str, stated: StatedText) -> Payload:
        record = self._core.index.note(stated.path)
        return {
            "role": role,
            "id": stated.id,
            "path": stated.path,
            "text": stated.note.text,
            "kind": stated.note.kind,
            "project": stated.note.project,
            "title": record.title if record and not record.is_log else "",
            "date": stated.when and format_when(stated.when),
            "source": record and record.source,
            "private": record is not None and record.is_private,
        }

    def _hold_both(self, newer: StatedText, older: StatedText) -> NoteFile:
        entry = _entry(newer)
        return self._core.vault.mark_compatible(newer.path, f"{entry}={older.id}" if entry else older.id, _PERSON)


def _groups(pairs: Iterable[Sequence[StatedText]]) -> list[list[StatedText]]:
    """Return groups of doubles, the largest first, each with the fullest or else newest note before those that add
    nothing to it."""
    partners = defaultdict[StatedText, list[StatedText]](list)
    for newer, older in pairs:
        partners[newer].append(older)
        partners[older].append(newer)
    groups, taken = list[list[StatedText]](), set[StatedText]()
    for kept in sorted(partners, key=lambda one: (len(said_in(one.note.text)), len(one.note.text)), reverse=True):
        others = [one for one in partners[kept] if one not in taken]
        if others and kept not in taken:
            groups.append([kept, *others])
            taken |= {kept, *others}
    return sorted(groups, key=len, reverse=True)[:MOST_DOUBLES]


def _item_id(notes: Sequence[StatedText]) -> str:
    return f"{CONFLICT}-{sha256(' '.join(one.id for one in reversed(notes)).encode()).hexdigest()[:12]}"


def _entry(stated: StatedText) -> str | None:
    return stated.id.partition("#")[2] or None
