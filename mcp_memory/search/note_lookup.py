"""Finds notes by what names them, and the notes nearest to a text."""

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypeVar
from unicodedata import normalize

import numpy as np

from mcp_memory.comparison.comparison import SIMILAR_WORDS, Comparison
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.errors import IndexUnavailable, InvalidInput, McpMemoryError, NotFound
from mcp_memory.index.base import Index
from mcp_memory.indexing.conflict_scan import ConflictScan
from mcp_memory.indexing.stated_texts import passages_near
from mcp_memory.models import (
    Clock,
    Contradicted,
    Filters,
    NoteId,
    NotePath,
    NoteRecord,
    NoteState,
    Passage,
    PrivateMarks,
)
from mcp_memory.runtime.threads import ThreadPool, in_thread, place_of
from mcp_memory.search.embedder_lifecycle import EmbedderLifecycle
from mcp_memory.text.escape_invisible import in_line, named_again
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import coverage, telling_words, terms
from mcp_memory.text.markdown.logs import is_log_path
from mcp_memory.text.tokens import truncate
from mcp_memory.vault.journals.ledger import Ledger
from mcp_memory.vault.note_file import MEMORY, Layout, is_memory
from mcp_memory.vault.project_state import PROJECTS
from mcp_memory.vault.succession.entry_marks import admits

LOOK_S = 10.0

Place = tuple[NotePath, str | None]
"""A note's path, and the hash of a log entry."""

T = TypeVar("T")

ULID_CHARS = 26

_ENDING = re.compile("[0-9A-Za-z-]{6,}")
"""The end of an id, as answers name notes."""


@dataclass(frozen=True)
class NoteLookup:
    """The lookup of notes by id or path."""

    index: Index
    ledger: Ledger
    layout: Layout

    async def full_id(self, target: str) -> str:
        """Return the id with this end, in any case of letters; a path in the Unicode form that the disk has; any other
        target as it is. Raises InvalidInput for several ids."""
        named = named_by(target)
        if target == f"path:{MEMORY}":
            return target  # a person's own at the root, as hits name it
        if isinstance(named, tuple):
            path, entry = named
            spelled = await in_thread(self._spelled, path, deadline_s=LOOK_S, what="looking for the note")
            return target if spelled == path else f"{spelled}#{entry}" if entry else spelled
        if not _ENDING.fullmatch(named):
            return target

        def look() -> list[NoteId]:
            found = self.index.find_ids(named)
            if not self.index.note_by_id(named):
                return found
            # The whole id wins, unless it may be the end of one of ours, as answers show it.
            return [named, *(other for other in found if len(other) == ULID_CHARS and other != named)]

        found = await in_thread(look, deadline_s=LOOK_S, what="looking for the note")
        if len(found) > 1:
            some = ", ".join(map(in_line, found[:10]))
            message = f"{len(found)} ids end with {named}: {some}"
            raise InvalidInput(message, hint="pass one of them in full")
        return found[0] if found else target

    async def find(self, target: str, *, deleted: bool = False) -> Place:
        """Return the place of the note with this id, end of an id, or path. Among several with one id, a forgotten one
        is preferred if `deleted`, else the others. Raises InvalidInput, NotFound."""
        named = named_by(await self.full_id(target))
        if isinstance(named, tuple):
            return named
        records = await in_thread(self.index.note_by_id, named, deadline_s=LOOK_S, what="looking for the note")
        if not records:
            raise NotFound(f"no note with the id {named[:100]!r}", hint="memory_search finds ids")
        # A conflict copy has the same id; the note itself is where we wrote it last.
        places = self.ledger.places_of(named)

        def rank(record: NoteRecord) -> tuple[bool, int]:
            at = places.index(record.path) if record.path in places else -1
            return (record.state is NoteState.DELETED) is not deleted, -at

        return min(records, key=rank).path, None

    def _spelled(self, path: NotePath) -> NotePath:
        """Return the path as the disk spells it: macOS writes `é` as two characters, and a keyboard as one. A project's
        state and `MEMORY.md` are named without the managed folder; a person's `MEMORY.md` at the root is meant only
        while agents have none."""
        place = self.layout.place_of(path)
        if path.isascii() and not path.startswith(PROJECTS) and place == path:
            return path
        try:
            is_known = self.index.note(path) is not None
            if place != path:
                return path if is_known and not self.index.note(place) else place
            inside = self.layout.in_home(path)
            found = [inside] if self.index.note(inside) else self.index.named(f"/{normalize('NFC', path)}")
        except IndexUnavailable:
            return place
        return found[0] if len(found) == 1 and not is_known else path

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
        ids = self.ledger.ids_at(path) if isinstance(named, tuple) else {named}
        if len(ids) != 1:
            return path  # several notes were there, and any of them may be meant
        known = self.ledger.places_of(*ids)
        return known[-1] if known and path not in known else path


def named_by(target: str) -> tuple[NotePath, str | None] | NoteId:
    """Return a note's path, with the hash of a log entry; or an id that has to be looked up in the index.

    Raises InvalidInput."""
    plain = named_again(target.strip())
    plain = f"{MEMORY}{plain}" if plain.startswith("#") else plain
    if not plain or len(plain) > 5000:
        raise InvalidInput("id is empty or too long", hint="pass an id or path from memory_search")
    whole, _, entry = plain.rpartition("#")
    if is_log_path(whole) or is_memory(whole):
        return NotePath(whole), entry
    if plain.startswith("path:"):
        return NotePath(plain.removeprefix("path:")), None
    if "/" in plain or plain.lower().endswith(".md"):
        return NotePath(plain.removeprefix("./")), None
    return NoteId(plain)


COMPARED_CHARS = 1600
"""The length of the longest passage; a longer text is compared only at its beginning."""
COMPARED = 8
"""The most passages that are compared by words, and by embedding."""
QUOTED_TOKENS = 30
"""The most tokens of a note that a receipt quotes: a sentence."""
MOST_BESIDE, LEAST_BESIDE = 3, 0.25
"""The most notes that are shown beside a text, and the least share of its words that each has."""
DEADLINE_S = 0.25
"""The seconds that an append waits for similar notes."""


log = logging.getLogger(__name__)


class NearPassage(NamedTuple):
    """A passage near a text. `cosine` is 0 if no model is loaded or the passage was found only by words."""

    passage: Passage
    cosine: float = 0.0

    @property
    def is_waiting(self) -> bool:
        return self.passage.note.state is NoteState.INBOX

    def compare(self, text: str) -> Comparison:
        """Compare a newer text with the passage."""
        return Comparison(NoteText(self.passage.chunk.text.strip()), NoteText(text), self.cosine)


def quote(text: str, words: str) -> str:
    """Return the sentence of a note that has most of these words."""
    wanted = telling_words(words)
    found = [sentence.text for sentence in sentences(text)] or [" ".join(text.split())]
    return truncate(max(found, key=lambda sentence: coverage(wanted, telling_words(sentence))), QUOTED_TOKENS)


class NearNotes:
    """Looks for notes near a text, and compares them with it."""

    def __init__(self, index: Index, conflicts: ConflictScan, model: EmbedderLifecycle, clock: Clock) -> None:
        self._index = index
        self._conflicts = conflicts
        self._model = model
        self._clock = clock
        self._pool = ThreadPool()

    async def similar(self, text: str, filters: Filters) -> list[Passage]:
        """Return passages that nearly repeat a text that is being written, nearest first; none if the look-up fails or
        is late. Only words are compared: they work while the model is busy, and a vector would cost ten times as
        much."""
        return await self._advise(lambda: self._similar(text[:COMPARED_CHARS], filters))

    async def contradicted_by(
        self, note: NoteText, when: datetime | None, private: PrivateMarks | None = None
    ) -> list[Contradicted]:
        """Return the notes that a text contradicts, the latest first, without private and muted notes. `when`: when the
        text was made, if not now. Empty on failure."""
        return await self._advise(
            lambda: [
                Contradicted(old.id, quote(old.note.text, contradiction.before), contradiction.why)
                for old, contradiction in self._conflicts.contradicted_by(note, when, private)
            ]
        )

    async def nearest(self, text: str, *, project: str | None = None) -> list[NearPassage]:
        """Return the passages of active notes and waiting candidates that are nearest by words, and by embedding if a
        model is loaded. Raises IndexUnavailable, DeadlineExceeded."""
        states = frozenset({NoteState.ACTIVE, NoteState.INBOX})
        filters = Filters(states=states, project=project, now=self._clock())
        return await in_thread(self._nearest, text, filters, deadline_s=LOOK_S, what="looking for near notes")

    async def beside(self, texts: Sequence[str]) -> list[list[Passage]]:
        """Return for each text the active notes that share most words with it, nearest first. Raises IndexUnavailable,
        DeadlineExceeded."""
        return await in_thread(lambda: list(map(self._beside, texts)), deadline_s=LOOK_S, what="looking for near notes")

    async def _advise(self, look: Callable[[], list[T]]) -> list[T]:
        try:
            return await self._pool.run(look, deadline_s=DEADLINE_S, what="looking for similar notes")
        except McpMemoryError:
            return []
        except Exception as error:  # a bug must not fail an append whose note may be on disk
            log.error("similar notes: %s", place_of(error))
            return []

    # -- in threads --------------------------------------------------------------------------------------------

    def _similar(self, text: str, filters: Filters) -> list[Passage]:
        shares: dict[int, float] = {}
        found = passages_near(self._index, terms(text), COMPARED, filters)
        for chunk_id, passage in found.items():
            shares[chunk_id] = Comparison(NoteText(passage.chunk.text[:COMPARED_CHARS]), NoteText(text)).shared_words
        alike = sorted(found.keys(), key=lambda chunk_id: (-shares[chunk_id], found[chunk_id].note.path, chunk_id))
        return [found[chunk_id] for chunk_id in alike if shares[chunk_id] >= SIMILAR_WORDS]

    def _beside(self, text: str) -> list[Passage]:
        wanted = telling_words(text[:COMPARED_CHARS])
        found = passages_near(self._index, terms(text[:COMPARED_CHARS]), COMPARED, Filters(now=self._clock()))
        shares = {
            passage.note.id: (coverage(wanted, telling_words(passage.chunk.text)), passage)
            for passage in found.values()
            if not passage.note.is_log
        }
        near = sorted(shares.values(), key=lambda one: one[0], reverse=True)
        return [passage for share, passage in near if share >= LEAST_BESIDE][:MOST_BESIDE]

    def _nearest(self, text: str, filters: Filters) -> list[NearPassage]:
        cosines: dict[int, float] = {}
        embedder = self._model.at_hand
        if embedder:
            try:
                rows = self._index.dense(np.asarray(embedder.embed_query(text)), COMPARED, filters)
                cosines = {row.chunk_id: row.score for row in rows}
            except McpMemoryError as error:  # only words decide
                log.warning("near notes: without a model: %s", error.code)
        found = passages_near(self._index, terms(text), COMPARED, filters)
        by_vector = self._index.get([chunk_id for chunk_id in cosines if chunk_id not in found])
        found |= {chunk_id: passage for chunk_id, passage in by_vector.items() if admits(filters, passage)}
        return [NearPassage(passage, cosines.get(chunk_id, 0.0)) for chunk_id, passage in found.items()]
