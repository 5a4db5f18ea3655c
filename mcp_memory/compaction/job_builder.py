"""Turns planned jobs into steps. Reads notes and asks the summarizer; writes nothing.

The module has over 300 lines because its jobs share how sources are read and pages are written, and their results must
agree. The jobs are a new topic, a join, a rewritten page, and a name for a preview.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ulid import ULID

from mcp_memory.errors import NotFound, Refused
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.runs.journal import JobEntry, MoveStep, Step, WriteStep, hash_job
from mcp_memory.storage.path_rules import fold
from mcp_memory.summarizers.audit import audit
from mcp_memory.summarizers.base import Summarizer, Summary, SummaryRequest, SummarySource
from mcp_memory.summarizers.extractive import NAME as EXTRACTIVE
from mcp_memory.summarizers.topic_labels import short_title, title_of
from mcp_memory.text.language.subjects import is_outgrown, subject_of
from mcp_memory.text.language.terms import content_words, words
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.link_targets import unlinked
from mcp_memory.text.pluralize import counted
from mcp_memory.text.tokens import CHARS_PER_TOKEN
from mcp_memory.topics.page import (
    PAGE,
    TOPICS,
    PageChild,
    TopicPageText,
    covers,
    link,
    related_section,
    render,
    summary_sentences,
    summary_text,
    with_related_section,
)
from mcp_memory.topics.page_parts import RELATED_PART, TITLE, is_sealed, merged, parts_of, sealed
from mcp_memory.topics.places import next_number
from mcp_memory.topics.topic_tree import Topic, common_project, note_child, topic_child
from mcp_memory.vault.note_file import NoteFile, derive_title, short_slug
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import sources_of

SHARE = 0.27
"""The maximum share of the length of its sources that a summary has; a quarter without marks and headings …"""
LEAST_TOKENS, MOST_TOKENS = 40, 1500
"""… within these limits."""
MOST = 100_000
"""The most notes of a topic whose names are checked for conflicts."""
GIST_SENTENCES = 3
DROPPED_SHOWN = 200
"""The most lost facts of a page that the journal stores."""


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """Notes and whole topics that move into a topic."""

    leaves: Sequence[NoteRecord] = ()
    topics: Sequence[Topic] = ()


class JobBuilder:
    """Builds jobs synchronously, for worker threads; outside any lock. Methods raise NotFound for a source that is gone
    or changed, and the errors of the vault and the summarizer."""

    def __init__(self, vault: Vault, index: Index, summarizer: Summarizer, clock: Callable[[], datetime]) -> None:
        self._vault = vault
        self._index = index
        self._summarizer = summarizer
        self._clock = clock
        self.asked_in_s = summarizer.asked_in_s

    def build_new_topic(
        self, parent: NotePath, siblings: Iterable[str], moving: PlannedMove, title: str = ""
    ) -> JobEntry:
        """Build a topic in the folder `parent` beside these names. A top-level topic of a project has the project's
        name. `title` is your title, if any."""
        sources = self._sources(moving.topics, moving.leaves)
        project = _project_of(moving)
        is_root = bool(project) and parent == self._vault.layout.in_home(TOPICS)
        depth = 1 + max((topic.depth for topic in moving.topics), default=0)
        summary = self._summarize(sources, depth, hint=project, title=title or (project if is_root else ""))
        siblings = list(siblings)
        if not title and not is_root:
            summary = replace(summary, title=self._other_title(siblings, summary.title, sources, project))
        name = _folder_name(siblings, summary.title)
        folder = NotePath(f"{parent}/{name}")
        steps, children = self._moves(folder, moving, taken=())
        page = self._write_page(folder, summary, children, before=None)
        if title and page.parts:
            page = replace(page, parts={**page.parts, TITLE: []})
        about = f"{name}: {_counted(moving)} under {summary.title!r}"
        facts = audit_page(page, sources)
        return JobEntry(_move_key("found", moving, parent), about, [*steps, page], facts, problem=summary.problem)

    def build_join(self, topic: Topic, moving: PlannedMove) -> JobEntry:
        """Add notes or topics to a topic. Its page becomes stale and is rewritten with the other stale pages, or in
        this job if it links to notes that don't move."""
        steps, children = self._moves(topic.folder, moving, self._names_in(topic.folder))
        key, about = _move_key("join", moving, topic.folder), f"{topic.name}: {_counted(moving)} more"
        if all(map(self._is_inside, moving.leaves)):
            return JobEntry(key, about, steps)
        sources = [*self._sources(*topic.sources), *self._sources(moving.topics, moving.leaves)]
        page, summary = self._rewrite_page(topic, sources, [*topic.children, *children])
        return JobEntry(key, about, [*steps, page], audit_page(page, sources), problem=summary.problem)

    def build_refresh(self, topic: Topic) -> JobEntry | None:
        """Rewrite the page of a topic that changed; return None for a page that we never wrote. Your edits of the page
        stay."""
        before = self._vault.read(topic.page_path) if topic.page else None
        if before and not self._vault.filing.parts_made(before.record.id):
            return None
        sources = self._sources(*topic.sources)
        step, summary = self._rewrite_page(topic, sources, topic.children)
        about = f"{topic.name}: page {'rewritten' if before else 'written'}"
        key = hash_job(f"renew {topic.folder}", [topic.covers])
        return JobEntry(key, about, [step], audit_page(step, sources), problem=summary.problem)

    def name_topic(
        self, parent: str, siblings: Sequence[str], notes: Sequence[NoteRecord], topics: Sequence[str]
    ) -> tuple[str, str]:
        """Return the folder name and title of a new topic with these notes and with subtopics of these titles, below
        `parent` in the folder of all topics. They come from the notes' own words, whichever summarizer is configured.
        """
        sources = [*(SummarySource(title, "") for title in topics), *self._sources((), notes)]
        project = "" if topics else common_project(notes)
        if project and not parent:
            return _folder_name(siblings, project), project
        title = title_of(sources, self._common(sources), hint=project)
        title = self._other_title(siblings, title, sources, project)
        return _folder_name(siblings, title), title

    def _other_title(self, beside: Collection[str], title: str, sources: Sequence[SummarySource], project: str) -> str:
        """Extend the title by another shared subject of the notes if a sibling topic already has the title."""
        if short_slug(title) not in {name.partition("-")[2] for name in beside}:
            return title
        return short_title(f"{title}, {title_of(sources, self._common(sources), hint=f'{project} {title}')}")

    def build_rest(self, topic: Topic, gone: Collection[NoteId]) -> WriteStep:
        """Return the topic's page without these notes."""
        topics, leaves = topic.sources
        sources = self._sources(topics, [note for note in leaves if note.id not in gone])
        return self._rewrite_page(topic, sources, [child for child in topic.children if child.id not in gone])[0]

    # -- below -------------------------------------------------------------------------------------------------

    def _is_inside(self, record: NoteRecord) -> bool:
        """Return whether the note is below the folder of all topics, so that it moves into a topic."""
        return record.path.startswith(f"{self._vault.layout.in_home(TOPICS)}/")

    def _rewrite_page(
        self, topic: Topic, sources: Sequence[SummarySource], children: Sequence[PageChild]
    ) -> tuple[WriteStep, Summary]:
        """Return the page of a topic with these children, which may include new ones."""
        before = self._vault.read(topic.page_path) if topic.page else None
        previous, changed = _previous_summary(topic, before, children)
        # A title stays while its notes contain its words; a project's title always stays. Words of a removed note must
        # go.
        parent = topic.folder.rpartition("/")[0]
        is_root = bool(topic.project) and parent == self._vault.layout.in_home(TOPICS)
        title = topic.project if is_root else ""
        outgrown = not is_root and _is_outgrown(topic, before, sources)
        is_said = bool(before) and (_keeps_all(topic, before) or _say(sources, before.record.title))
        if before and (topic.state.titled or is_root or not sources or is_said):
            title = "" if outgrown else before.record.title
        summary = self._summarize(sources, topic.depth, previous, changed, hint=topic.project, title=title)
        if outgrown:
            title = self._other_title(self._names_beside(topic), summary.title, sources, topic.project)
            summary = replace(summary, title=title)
        step = self._write_page(topic.folder, summary, children, before)
        return (replace(step, parts={**(step.parts or {}), TITLE: []}) if topic.state.titled else step), summary

    def _names_beside(self, topic: Topic) -> set[str]:
        """Return the folder names of the sibling topics, also as their pages' current titles would name them."""
        parent = topic.folder.rpartition("/")[0]
        pages = self._index.notes(Filters(states=frozenset({NoteState.SUMMARY}), path_prefix=NotePath(parent)), MOST)
        titles = {f"-{short_slug(page.title)}" for page in pages
                  if page.path.removeprefix(f"{parent}/").count("/") == 1 and page.path != topic.page_path}  # fmt: skip
        return titles | (self._names_in(NotePath(parent)) - {topic.name})

    def _names_in(self, folder: NotePath) -> set[str]:
        """Return the names of notes and folders in the folder, in any state."""
        everything = Filters(states=frozenset(NoteState), path_prefix=folder)
        return {note.path[len(folder) + 1 :].partition("/")[0] for note in self._index.notes(everything, MOST)}

    def _sources(self, topics: Iterable[Topic], leaves: Iterable[NoteRecord]) -> list[SummarySource]:
        """Read sources. Raises NotFound for a note that has changed since it was indexed; the next run files it."""
        sources = [
            SummarySource(topic.title, summary_sentences(self._vault.read(topic.page_path).body))
            for topic in topics
            if topic.page
        ]
        overtaken = {conflict.older for conflict in self._index.conflicts()}
        for record in leaves:
            file = self._vault.read(record.path)
            if file.record.etag != record.etag:
                raise NotFound(f"{record.path} has changed meanwhile")
            sources.append(SummarySource(record.title, file.body, record.kind, record.tags, record.id in overtaken))
        return sources

    def _summarize(
        self,
        sources: Sequence[SummarySource],
        depth: int,
        previous: str = "",
        changed: Set[int] = frozenset(),
        *,
        hint: str = "",
        title: str = "",
    ) -> Summary:
        """Summarize the sources; `title` replaces the summarizer's title."""
        length = sum(map(_length, sources)) // CHARS_PER_TOKEN
        budget = min(MOST_TOKENS, max(LEAST_TOKENS, int(SHARE * length)))
        common = self._common(sources)
        request = SummaryRequest(sources, budget, depth, common, previous, changed, GIST_SENTENCES, hint)
        summary = self._summarizer.summarize(request)
        return replace(summary, title=title or summary.title)

    def _common(self, sources: Sequence[SummarySource]) -> Mapping[str, float]:
        unique = sorted({word for source in sources for word in words(f"{source.title} {source.text[:20_000]}")})
        whole = max(1, self._index.watermark().chunks)
        return {word: count / whole for word, count in self._index.frequencies(unique).items()}

    def _moves(self, folder: NotePath, moving: PlannedMove, taken: Iterable[str]) -> tuple[list[Step], list[PageChild]]:
        """Return the steps, and the entries of the topic's page."""
        names = {fold(name) for name in taken}
        steps: list[Step] = []
        children: list[PageChild] = []
        for topic in moving.topics:
            target = NotePath(f"{folder}/{free_name(topic.name, names)}")
            for record in topic.files:
                path = NotePath(f"{target}{record.path[len(topic.folder) :]}")
                steps.append(MoveStep(record.id, record.path, path))
            if topic.page:
                children.append(replace(topic_child(topic), path=NotePath(f"{target}/{PAGE}")))
        for record in moving.leaves:
            path = record.path
            if self._is_inside(record):
                path = NotePath(f"{folder}/{free_name(record.path.rpartition('/')[2], names)}")
                steps.append(MoveStep(record.id, record.path, path))
            children.append(replace(note_child(record), path=path))
        return steps, children

    def _write_page(
        self, folder: NotePath, summary: Summary, children: Sequence[PageChild], before: NoteFile | None
    ) -> WriteStep:
        now = self._clock().replace(microsecond=0)
        path = NotePath(f"{folder}/{PAGE}")
        page_id = before.record.id if before else NoteId(str(ULID.from_datetime(self._clock())))
        created = (before.record.created if before else None) or now
        labelled = [replace(child, label=summary.labels.get(at, "")) for at, child in enumerate(children)]
        page = TopicPageText(
            page_id, path, summary.title, unlinked(summary.text, path), summary.by, labelled, created, now,
            gist=unlinked(summary.gist, path), questions=[unlinked(question, path) for question in summary.questions],
            provisional=summary.provisional,
        )  # fmt: skip
        written = sealed(render(page).decode())
        if before is None:
            return WriteStep(path, written, parts=parts_of(written))
        if not (made := self._vault.filing.parts_made(page_id)):
            raise Refused(f"{path} is your own: remove it to have one made")
        related = related_section(before.text)
        parts = {**parts_of(written), RELATED_PART: made[-1].get(RELATED_PART, [])}
        if self._vault.filing.is_as_we_wrote(before):
            return WriteStep(path, with_related_section(written, related), before.text, parts)
        if is_sealed(before.text):  # written by another device of yours, so no line of it is a person's
            made = [*made, {**parts_of(before.text), TITLE: [], RELATED_PART: []}]
        written = merged(with_related_section(before.text, ""), written, made)
        return WriteStep(path, with_related_section(written, related), before.text, parts)


def _length(source: SummarySource) -> int:
    """Return the length in characters, including the title unless it was taken from the text."""
    return len(source.text) + (0 if source.title == derive_title(source.text) else len(source.title))


def _project_of(moving: PlannedMove) -> str:
    """Return the common project of all notes; empty without one."""
    notes = list(moving.leaves)
    for topic in moving.topics:
        for below in topic.walk():
            notes += below.leaves
    return common_project(notes)


def _previous_summary(topic: Topic, page: NoteFile | None, children: Sequence[PageChild]) -> tuple[str, Set[int]]:
    """Return a language model's summary of the topic, and the children added since. Empty if any source of the summary
    is gone or changed, because its words might stay in the next summary."""
    meta = frontmatter.parse(page.text).meta if page else {}
    used = {str(note_id) for note_id in meta.get("derived_from") or ()}
    earlier = [child for child in topic.children if child.id in used]
    is_by_model = meta.get("source") not in {None, EXTRACTIVE}
    is_complete = len(earlier) == len(used) and covers(topic.folder, earlier) == meta.get("covers")
    if page is None or not is_by_model or not is_complete:
        return "", frozenset()
    return summary_text(page.body), {place for place, child in enumerate(children) if child.id not in used}


def _say(sources: Sequence[SummarySource], title: str) -> bool:
    """Return whether the sources contain all words of a title."""
    said = (f"{source.title} {' '.join(source.tags)} {source.text}" for source in sources)
    return content_words(title) <= content_words(" ".join(said))


def _is_outgrown(topic: Topic, page: NoteFile | None, sources: Sequence[SummarySource]) -> bool:
    """Return whether a title chosen from the first notes no longer describes most notes."""
    if page is None or topic.state.titled or frontmatter.parse(page.text).meta.get("source") != EXTRACTIVE:
        return False
    return is_outgrown(page.record.title, [subject_of(source.tags, topic.project) for source in sources])


def _keeps_all(topic: Topic, page: NoteFile) -> bool:
    """Return whether all sources of the page are still in the topic, and its subtopics have the same titles."""
    ids, used = {child.id for child in topic.children}, sources_of(page.text)
    links = [link(page.record.path, below.title, below.page.path) for below in topic.sources[0]
             if below.page and below.page.id in used]  # fmt: skip
    return ids.issuperset(used) and all(line in page.text for line in links)


def audit_page(page: WriteStep, sources: Sequence[SummarySource]) -> dict[str, Any]:
    """Return as plain values which facts a reader finds on the page, including the titles and dates of its links."""
    document = frontmatter.parse(page.text)
    text = f"{document.meta['title']}\n\n{document.body}"
    found = audit(text, [f"{source.title}\n\n{source.text}" for source in sources])
    dropped = [f"{fact.kind}: {fact.key}" for fact in found.dropped[:DROPPED_SHOWN]]
    return {"kept": round(found.share, 3), "of": found.kept + len(found.dropped), "dropped": dropped}


def _move_key(verb: str, moving: PlannedMove, place: str) -> str:
    items = [f"{record.id} {record.etag}" for record in moving.leaves] + [topic.covers for topic in moving.topics]
    return hash_job(f"{verb} {place}", items)


def free_name(name: str, taken: set[str]) -> str:
    """Return the name, or a variant that isn't taken, and add it to `taken`."""
    stem, dot, ending = name.partition(".")
    number = 2
    free = name
    while fold(free) in taken:
        free = f"{stem}-{number}{dot}{ending}"
        number += 1
    taken.add(fold(free))
    return free


def _folder_name(siblings: Iterable[str], title: str) -> str:
    """Return a new topic's folder name, from the first phrase of its title that no sibling uses."""
    names = list(siblings)
    taken = {name.partition("-")[2] for name in names}
    slugs = [short_slug(phrase) for phrase in title.split(", ")]
    return f"{next_number(names):02}-{next((slug for slug in slugs if slug not in taken), slugs[0])}"


def _counted(moving: PlannedMove) -> str:
    counts = {"note": len(moving.leaves), "topic": len(moving.topics)}
    return " and ".join(counted(number, what) for what, number in counts.items() if number)
