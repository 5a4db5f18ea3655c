"""Builds the topic tree from the index: folders, their notes, and their pages. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from mcp_memory.errors import NotFound
from mcp_memory.models import NotePath, NoteRecord, NoteState
from mcp_memory.text.language.terms import words
from mcp_memory.topics.page import FRESH, PAGE, PageChild, covers, upwards


class PageState(NamedTuple):
    """The parts of a topic's page that a person has changed."""

    edited: bool = False
    """Part of the text is edited; it stays while the rest is rewritten."""
    titled: bool = False
    """The title is edited."""


class Topic(NamedTuple):
    """A folder below `topics/`. `folder` is its path in the vault."""

    folder: NotePath
    leaves: Sequence[NoteRecord]
    """Active notes directly in the folder, and the notes elsewhere that its page links to; oldest first."""
    topics: Sequence[Topic]
    page: NoteRecord | None
    ours: bool
    """Whether we made the folder; nothing is written to a folder of yours."""
    state: PageState = PageState()

    @property
    def is_yours(self) -> bool:
        """Return whether the whole page is yours, because you wrote it or removed its properties; nothing in it is
        rewritten."""
        return self.page is not None and "covers" not in self.page.meta

    @property
    def page_path(self) -> NotePath:
        return NotePath(f"{self.folder}/{PAGE}")

    @property
    def name(self) -> str:
        return self.folder.rpartition("/")[2]

    @property
    def parent(self) -> str:
        """The folder that the topic is in."""
        return self.folder.rpartition("/")[0]

    @property
    def title(self) -> str:
        """The page's title. If a source of the page is gone, the folder's name is used unless it contains all words of
        the title."""
        if self.page and (not self._has_lost or set(words(self.page.title)) <= set(words(self.name))):
            return self.page.title
        return self.name

    @property
    def _has_lost(self) -> bool:
        """Return whether a source of its page has been forgotten or moved."""
        made_of = self.page.meta.get("derived_from", ()) if self.page and not self.state.titled else ()
        topics, notes = self.sources if made_of else ((), ())
        return not {one.id for one in (*notes, *(topic.page for topic in topics)) if one}.issuperset(made_of)

    @property
    def notes(self) -> int:
        """The number of notes in it and below."""
        return len(self.all_notes)

    @property
    def all_notes(self) -> list[NoteRecord]:
        """The notes in it and below, the deepest first."""
        return [note for topic in self.walk() for note in topic.leaves]

    @property
    def depth(self) -> int:
        """The depth of the tree; 1 for a topic that contains only notes."""
        return 1 + max((topic.depth for topic in self.topics), default=0)

    @property
    def span(self) -> tuple[datetime | None, datetime | None]:
        """The first and last dates of the notes in it and below."""
        dates = [when for note in self.all_notes if (when := note.first_date)]
        return min(dates, default=None), max(dates, default=None)

    @property
    def project(self) -> str:
        """The common project of all its notes; empty without one."""
        return common_project(self.all_notes)

    @property
    def sources(self) -> tuple[list[Topic], list[NoteRecord]]:
        """The sources of its page: the nearest subtopics with a page, and the notes in it and in folders without a
        page, such as yours."""
        topics, notes = [topic for topic in self.topics if topic.page], list(self.leaves)
        for folder in (topic for topic in self.topics if not topic.page):
            below = folder.sources
            topics += below[0]
            notes += below[1]
        return topics, notes

    @property
    def children(self) -> list[PageChild]:
        """The sources as its page lists them."""
        topics, notes = self.sources
        return [*map(topic_child, topics), *map(note_child, notes)]

    @property
    def covers(self) -> str:
        return covers(self.folder, self.children)

    @property
    def stale(self) -> bool:
        """Return whether its page is missing or outdated."""
        if self.page is None:
            return self.ours and self.notes > 0
        return self.ours and not self.is_yours and self.page.meta.get("covers") != self.covers

    @property
    def provisional(self) -> bool:
        """Return whether a language model should still write its page."""
        return self.ours and self.page is not None and self.page.meta.get("provisional") is True

    @property
    def outdated(self) -> bool:
        """Return whether its page must be rewritten, or the page of a subtopic that is a source of it."""
        return not self.is_yours and (self.stale or any(topic.outdated for topic in self.topics))

    def walk(self) -> Iterator[Topic]:
        """Yield the subtopics and the topic itself, deepest first."""
        for topic in self.topics:
            yield from topic.walk()
        yield self


Ours = Callable[[NotePath, NoteRecord | None], bool]
"""Returns whether we made the topic with a page at this path."""


def build_tree(
    records: Iterable[NoteRecord], root: str, ours: Ours, state_of: Callable[[NoteRecord], PageState]
) -> list[Topic]:
    """Build the topics in `root` (`topics` in the managed folder), without `_fresh/`. `state_of` returns the state of a
    page. A note elsewhere belongs to the deepest topic whose page was made from it."""
    leaves: dict[str, list[NoteRecord]] = defaultdict(list)
    pages: dict[str, NoteRecord] = {}
    folders: set[str] = set()
    elsewhere: dict[str, NoteRecord] = {}
    for record in sorted(records, key=lambda record: record.path):
        folder, _, name = record.path.rpartition("/")
        if not folder.startswith(f"{root}/"):
            if record.state is NoteState.ACTIVE:
                elsewhere.setdefault(record.id, record)
            continue
        if folder == f"{root}/{FRESH}":
            continue
        if name == PAGE:
            pages[folder] = record
        elif record.state is NoteState.ACTIVE:
            leaves[folder].append(record)
        else:
            continue
        folders.update(upwards(folder))
    for folder in sorted(pages, key=lambda folder: (-folder.count("/"), folder)):
        linked = [elsewhere.pop(source, None) for source in map(str, pages[folder].meta.get("derived_from", ()))]
        leaves[folder] += [note for note in linked if note]
    below: dict[str, list[str]] = defaultdict(list)
    for folder in sorted(folders):
        below[folder.rpartition("/")[0]].append(folder)

    def topic(folder: str) -> Topic:
        page = pages.get(folder)
        return Topic(
            NotePath(folder),
            sorted(leaves[folder], key=age_of),
            [topic(name) for name in below[folder]],
            page,
            ours(NotePath(f"{folder}/{PAGE}"), page),
            state_of(page) if page else PageState(),
        )

    return [topic(folder) for folder in below[root]]


def all_topics(tree: Iterable[Topic]) -> list[Topic]:
    """Return these topics and all below, the deepest first."""
    return [topic for top in tree for topic in top.walk()]


def age_of(note: NoteRecord) -> tuple[str, NotePath]:
    """Return a key that sorts notes by age."""
    return note.first_date.astimezone(UTC).isoformat() if note.first_date else "", note.path


def place_notes(tree: Sequence[Topic], fresh: Sequence[NoteRecord], root: str) -> dict[str, NoteRecord]:
    """Return the notes to plan by their `PlanNote.place`: notes without a topic, and notes in our topics."""
    found = {_place(note, FRESH, root): note for note in fresh}
    for topic in (topic for topic in all_topics(top for top in tree if top.ours) if topic.ours):
        found |= {_place(note, topic.folder[len(root) + 1 :], root): note for note in topic.leaves}
    return found


def _place(note: NoteRecord, folder: str, root: str) -> str:
    inside = note.path.startswith(f"{root}/")
    return note.path[len(root) + 1 :] if inside else f"{folder}/{note.path.replace('/', chr(0))}"


def common_project(notes: Sequence[NoteRecord]) -> str:
    """Return the common project of these notes; empty without one."""
    projects = {note.project for note in notes}
    return (projects.pop() or "") if len(projects) == 1 else ""


def find_topic(target: str, tree: Iterable[Topic], root: str) -> Topic:
    """Find a topic by its folder, with or without `topics/`, by its page, or by a unique title or folder name. Raises
    NotFound."""
    plain, called = target.strip().removeprefix("./").rstrip("/"), list[Topic]()
    for topic in all_topics(tree):
        names = {topic.folder, topic.folder.removeprefix(f"{root}/"), topic.page_path}
        if plain in names or (topic.page and plain == topic.page.id):
            return topic
        called += [topic] if plain.casefold() in {topic.title.casefold(), topic.name.casefold()} else []
    if len(called) == 1:
        return called[0]
    if called:
        folders = ", ".join(topic.folder for topic in called)
        raise NotFound(f"{len(called)} topics are called {target[:100]!r}", hint=f"name one by its folder: {folders}")
    raise NotFound(f"no topic {target[:100]!r}", hint="mcp-memory topics shows them; name one by its folder")


def note_child(note: NoteRecord) -> PageChild:
    when, covers = note.first_date, f"{note.content_hash} {note.title}"
    sessions = [note.session] if note.session else []
    return PageChild(
        note.id,
        note.path,
        note.title,
        covers,
        earliest=when,
        latest=when,
        kind=note.kind,
        sessions=sessions,
        tags=note.tags,
    )


def topic_child(topic: Topic) -> PageChild:
    assert topic.page
    covered = f"{topic.page.meta.get('covers', '')} {topic.title}"
    notes = topic.all_notes
    return PageChild(
        topic.page.id, topic.page_path, topic.title, covered, topic.notes, *topic.span, topic.depth,
        sessions=[note.session for note in notes if note.session], tags=[tag for note in notes for tag in note.tags],
    )  # fmt: skip
