"""Reads the topic tree and determines the work for a run, without writing anything."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcp_memory.index.base import Index
from mcp_memory.models import PAGES, Clock, Filters, NotePath, NoteRecord, NoteState, PrivateMarks
from mcp_memory.text.language.subjects import EMPTY_WORDS, lead_of, subjects_of
from mcp_memory.text.language.terms import content_words, fold, words
from mcp_memory.text.language.word_lists import STOP_WORDS, function_words
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.owned_notes import PlanNote
from mcp_memory.topics.page import FRESH, TOPICS
from mcp_memory.topics.plan import PlanJob, plan
from mcp_memory.topics.topic_tree import Topic, age_of, all_topics, build_tree, place_notes
from mcp_memory.vault.vault import Vault

Places = Mapping[str, NoteRecord]
"""Notes by `PlanNote.place`."""

VersionMark = tuple[NotePath, str]
"""The path of a note or topic, and a hash of its version."""


@dataclass(frozen=True)
class PendingWork:
    """The numbers of notes and pages with pending work."""

    fresh: int = 0
    """Notes that no run has seen yet, except the newest ones (`topics.fresh_tail_count`)."""
    without_vectors: int = 0
    """Fresh notes that can't be filed yet, because they have no vector."""
    stale: int = 0
    provisional: int = 0
    """Pages that a language model should rewrite."""
    improvable: int = 0
    """Provisional pages for which the model may be asked now."""
    is_untidy: bool = False
    """Whether the index of topics or a list of related topics is outdated."""


class WorkLeft(NamedTuple):
    """The notes and topics that a run left unchanged, and that another run would leave unchanged, too."""

    fresh: Collection[VersionMark] = frozenset()
    stale: Collection[VersionMark] = frozenset()


MAX_ROUNDS = 20
"""The most rounds in a run: more than the levels that a tree can have."""

MAX_NOTES = 1_000_000

PASSING_KINDS = frozenset({"log", "task", "agent", "skill", "commitment"})
"""Kinds of notes that belong to no topic, because they are short-lived or found in another way. Expiring notes belong
to none, either."""


class PlannerView:
    """Reads the tree synchronously, for worker threads. Each method reads the index, and raises IndexUnavailable."""

    def __init__(
        self,
        vault: Vault,
        index: Index,
        config: TopicsConfig,
        private: PrivateMarks,
        clock: Clock,
    ) -> None:
        self._vault = vault
        self._index = index
        self._config = config
        self._private = private
        self._clock = clock
        self.root = vault.layout.in_home(TOPICS)
        passing = {kind.name for kind in vault.kinds if kind.ttl_days}
        self._kinds_out = frozenset(PASSING_KINDS | passing)
        inside = {kind.folder.partition("/")[0] for kind in vault.kinds if kind.name not in self._kinds_out}
        self._folders = sorted(vault.layout.in_home(folder) for folder in inside - {TOPICS})

    def read_tree(self) -> tuple[list[Topic], list[NoteRecord]]:
        """Return the tree, and the notes without a topic that may be filed, oldest first."""
        below = Filters(PAGES | {NoteState.ACTIVE}, path_prefix=self.root, now=self._clock())
        # No other note may quote private ones.
        records = [note for note in self._index.notes(below, limit=MAX_NOTES) if not self._private.cover(note)]
        linkable = list[NoteRecord]()
        for folder in self._folders:  # of kinds, where topics link to lasting notes by any author
            lasting = Filters(path_prefix=folder, kinds_out=self._kinds_out, private=self._private, now=self._clock())
            linkable += self._index.notes(lasting, limit=MAX_NOTES)
        filing = self._vault.filing
        tree = build_tree([*records, *linkable], self.root, filing.made_by_us, filing.page_state)
        topics = all_topics(tree)
        filed = {note.path for topic in topics for note in topic.leaves}
        fresh = [note for note in records if note.folder == f"{self.root}/{FRESH}"]
        fresh = [note for note in fresh if filing.may_move(note.path, note.id)]
        return tree, sorted([*fresh, *(note for note in linkable if note.path not in filed)], key=age_of)

    def concerns(self, path: NotePath) -> bool:
        """Return whether a change of this file may affect a topic."""
        return path.startswith((f"{self.root}/", *(f"{folder}/" for folder in self._folders)))

    def plan_round(self, tree: Sequence[Topic], fresh: Sequence[NoteRecord]) -> tuple[list[PlanJob], Places]:
        """Return the jobs, and the notes at the places that the jobs name."""
        places = place_notes(tree, self._without_tail(fresh), self.root)
        notes = [self._plan_note(place, note) for place, note in places.items()]
        return plan(notes, self._vectors(places.values()), self._config), places

    def find_pending(
        self,
        left: WorkLeft,
        may_improve: Callable[[Topic], bool],
        is_due: Callable[[Sequence[Topic]], bool],
        *,
        whole: bool,
    ) -> PendingWork:
        """Return the work for a run, apart from `left`; pages are included only if the `whole` tree is read."""
        tree, fresh = self.read_tree()
        new = [note for note in self._without_tail(fresh) if _note_mark(note) not in left.fresh]
        with_vectors = len(self._with_vectors(new))
        topics = all_topics(tree) if whole else []
        provisional = [topic for topic in topics if topic.provisional]
        return PendingWork(
            with_vectors,
            len(new) - with_vectors,
            sum(topic.stale and (topic.folder, topic.covers) not in left.stale for topic in topics),
            len(provisional),
            sum(map(may_improve, provisional)),
            whole and is_due(tree),
        )

    def work_left(self, fresh: Sequence[NoteRecord], tried: Collection[VersionMark]) -> WorkLeft:
        """Return the work left by a run that saw these fresh notes and `tried` to write the pages of these topics."""
        seen = self._with_vectors(self._without_tail(fresh))
        return WorkLeft(frozenset(map(_note_mark, seen)), frozenset(tried))

    # -- below -------------------------------------------------------------------------------------------------

    def _plan_note(self, place: str, note: NoteRecord) -> PlanNote:
        project = note.project or ""
        is_yours = not self._vault.filing.may_move(note.path, note.id)
        is_fixed = is_yours and note.path.startswith(f"{self.root}/")
        subjects = subjects_of([*note.tags, *lead_of(note.title).split(", ")], project)
        text = "" if subjects else " ".join(passage.chunk.text for passage in self._index.passages(note.path))
        named, said = (_words(each, project) for each in (" ".join([note.title, *note.tags]), text))
        return PlanNote(place, age_of(note)[0], project, is_fixed, subjects, named, said)

    def _without_tail(self, fresh: Sequence[NoteRecord]) -> Sequence[NoteRecord]:
        """Drop the newest notes, which aren't filed yet."""
        return fresh[: max(0, len(fresh) - self._config.fresh_tail_count)]

    def _with_vectors(self, notes: Sequence[NoteRecord]) -> list[NoteRecord]:
        vectors = self._vectors(notes)
        return [note for note, vector in zip(notes, vectors, strict=True) if vector.any()]

    def _vectors(self, notes: Collection[NoteRecord]) -> NDArray[np.float32]:
        return self._index.mean_vectors([note.path for note in notes]) if notes else np.zeros((0, 1), dtype=np.float32)


class LatestTree:
    """Keeps the tree as it was when a note last changed, because to read 10,000 notes takes a third of a second."""

    def __init__(self, view: PlannerView) -> None:
        self._view = view
        self._changes = 0
        self._known: tuple[int, tuple[list[Topic], list[NoteRecord]]] | None = None

    def hear(self, _: Sequence[NotePath]) -> None:
        self._changes += 1

    def read(self) -> tuple[list[Topic], list[NoteRecord]]:
        """Return the tree and the fresh notes, as `PlannerView.read_tree` does. Reads the index."""
        changes = self._changes
        if self._known is None or self._known[0] != changes:
            self._known = changes, self._view.read_tree()
        return self._known[1]


def _words(text: str, project: str) -> frozenset[str]:
    """Return the words of a title or text, without values, its project's name and the function words of its
    language."""
    found = words(text)
    plain = {word for word in found if not word.isdigit()} - function_words(found) - STOP_WORDS
    return frozenset(map(fold, plain)) - content_words(project) - EMPTY_WORDS


def _note_mark(note: NoteRecord) -> VersionMark:
    return note.path, note.content_hash
