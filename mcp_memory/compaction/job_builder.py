"""Turns planned jobs into steps. Reads notes and asks the summarizer; writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ulid import ULID

from mcp_memory.compaction.journal import JobEntry, MoveStep, Step, WriteStep, hash_job
from mcp_memory.errors import NotFound
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.storage.path_rules import fold
from mcp_memory.summarizers.audit import Audit, audit
from mcp_memory.summarizers.base import Summarizer, Summary, SummaryRequest, SummarySource
from mcp_memory.summarizers.extractive import NAME as EXTRACTIVE
from mcp_memory.summarizers.topic_labels import title_of
from mcp_memory.text.language.terms import words
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.link_targets import unlinked
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import (
    PAGE,
    PROPOSAL,
    PageChild,
    TopicPageText,
    covers,
    link,
    related_section,
    render,
    summary_text,
    with_related_section,
)
from mcp_memory.topics.plan import next_number
from mcp_memory.topics.topic_tree import Topic, note_child, topic_child
from mcp_memory.vault.note_file import NoteFile, short_slug
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import sources_of

SHARE = 0.25
"""A gist has at most this share of its sources' length …"""
LEAST_TOKENS, MOST_TOKENS = 200, 1500
"""… within these bounds."""
MOST = 100_000
"""Of the notes of one topic, whose names are taken."""
DROPPED_SHOWN = 200
"""So many lost facts of a page are kept in the journal."""


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """What goes into a topic: notes, and whole topics."""

    leaves: Sequence[NoteRecord] = ()
    topics: Sequence[Topic] = ()


class JobBuilder:
    """Synchronous, for worker threads; outside any lock."""

    def __init__(self, vault: Vault, index: Index, summarizer: Summarizer, clock: Callable[[], datetime]) -> None:
        self._vault = vault
        self._index = index
        self._summarizer = summarizer
        self._clock = clock

    def build_new_topic(self, parent: NotePath, siblings: Iterable[str], moving: PlannedMove) -> JobEntry:
        """A new topic in the folder `parent`, beside these names. Raises NotFound where a source is gone, and what the
        vault and the summarizer raise."""
        sources = self._sources(moving.topics, moving.leaves)
        summary = self._summary(sources, 1 + max((topic.depth for topic in moving.topics), default=0))
        name = _named(siblings, summary.title)
        folder = NotePath(f"{parent}/{name}")
        steps, children = self._moves(folder, moving, taken=())
        page_id = NoteId(str(ULID.from_datetime(self._clock())))
        page = self._page(folder, page_id, summary, children, before=None)
        said = f"{name}: {_counted(moving)} under {summary.title!r}"
        entry = _entry("found", moving, str(parent), [*steps, page], said, audit_page(page, sources))
        return replace(entry, problem=summary.problem)

    def build_join(self, topic: Topic, moving: PlannedMove) -> JobEntry:
        """More notes or topics for a topic; its page becomes stale and is made anew with the other stale ones."""
        everything = Filters(states=frozenset(NoteState), path_prefix=topic.folder)
        taken = {note.path[len(topic.folder) + 1 :].partition("/")[0] for note in self._index.notes(everything, MOST)}
        steps, _ = self._moves(topic.folder, moving, taken)
        return _entry("join", moving, topic.folder, steps, f"{topic.name}: {_counted(moving)} more", None)

    def build_refresh(self, topic: Topic) -> JobEntry | None:
        """The page of a topic that changed; None where a person wrote it."""
        before = self._vault.read(topic.page_path) if topic.page else None
        if before and not self._vault.filing.is_as_we_wrote(before):
            return None
        sources = self._sources(*topic.sources)
        summary = self._summary(sources, topic.depth, *_so_far(topic, before))
        # A title stays while its notes do: it may be made of the words of one that is gone.
        title = before.record.title if before and (not sources or _keeps_all(topic, before)) else summary.title
        page_id = before.record.id if before else NoteId(str(ULID.from_datetime(self._clock())))
        step = self._page(topic.folder, page_id, replace(summary, title=title), topic.children, before)
        said = f"{topic.name}: page {'made anew' if before else 'made'}"
        key = hash_job(f"renew {topic.folder}", [topic.covers])
        return JobEntry(key, said, [step], _told(audit_page(step, sources)), problem=summary.problem)

    def asked_in_s(self) -> float:
        """As `Summarizer.asked_in_s`."""
        return self._summarizer.asked_in_s()

    def build_proposal(self, topic: Topic) -> JobEntry:
        """What we would say in place of a person's own page, in a file beside it."""
        before = self._vault.read(topic.proposal.path) if topic.proposal else None
        sources = self._sources(*topic.sources)
        page_id = before.record.id if before else NoteId(str(ULID.from_datetime(self._clock())))
        step = self._page(topic.folder, page_id, self._summary(sources, topic.depth), topic.children, before, PROPOSAL)
        said = f"{topic.page_path} is a person's own and out of date: {topic.proposal_path} says what we would"
        return JobEntry(proposal_key(topic), said, [step], _told(audit_page(step, sources)))

    def name_topic(
        self, siblings: Sequence[str], notes: Sequence[NoteRecord], topics: Sequence[str]
    ) -> tuple[str, str]:
        """What a new topic of these notes and of topics with these titles might be called: its folder and its title,
        from words of their own, whoever is to summarise them."""
        sources = [*(SummarySource(title, "") for title in topics), *self._sources((), notes)]
        title = title_of(sources, self._common(sources))
        return _named(siblings, title), title

    # -- below -------------------------------------------------------------------------------------------------

    def _sources(self, topics: Iterable[Topic], leaves: Iterable[NoteRecord]) -> list[SummarySource]:
        """Raises NotFound for a note that is not as the index knows it: the next run sees what became of it."""
        sources = [
            SummarySource(topic.title, summary_text(self._vault.read(topic.page_path).body))
            for topic in topics
            if topic.page
        ]
        for record in leaves:
            file = self._vault.read(record.path)
            if file.record.etag != record.etag:
                raise NotFound(f"{record.path} has changed meanwhile")
            sources.append(SummarySource(record.title, file.body))
        return sources

    def _summary(
        self, sources: Sequence[SummarySource], depth: int, previous: str = "", changed: Set[int] = frozenset()
    ) -> Summary:
        length = sum(len(source.text) for source in sources) // 4
        budget = min(MOST_TOKENS, max(LEAST_TOKENS, int(SHARE * length)))
        return self._summarizer.summarize(
            SummaryRequest(sources, budget, depth, self._common(sources), previous, changed)
        )

    def _common(self, sources: Sequence[SummarySource]) -> Mapping[str, float]:
        said = sorted({word for source in sources for word in words(f"{source.title} {source.text[:20_000]}")})
        whole = max(1, self._index.watermark().chunks)
        return {word: count / whole for word, count in self._index.frequencies(said).items()}

    def _moves(self, folder: NotePath, moving: PlannedMove, taken: Iterable[str]) -> tuple[list[Step], list[PageChild]]:
        """The steps, and what the topic's page will list."""
        names = {fold(name) for name in taken}
        steps: list[Step] = []
        children: list[PageChild] = []
        for topic in moving.topics:
            target = NotePath(f"{folder}/{_free(topic.name, names)}")
            for each in topic.walk():
                below = each.folder[len(topic.folder) :]
                steps += [_move(record, f"{target}{below}") for record in each.leaves]
                steps += [_move(page, f"{target}{below}") for page in (each.page, each.proposal) if page]
            if topic.page:
                children.append(_at(topic_child(topic), f"{target}/{PAGE}"))
        for record in moving.leaves:
            name = _free(record.path.rpartition("/")[2], names)
            steps.append(MoveStep(record.id, record.path, NotePath(f"{folder}/{name}")))
            children.append(_at(note_child(record), f"{folder}/{name}"))
        return steps, children

    def _page(
        self,
        folder: NotePath,
        page_id: NoteId,
        summary: Summary,
        children: Sequence[PageChild],
        before: NoteFile | None,
        name: str = PAGE,
    ) -> WriteStep:
        now = self._clock().replace(microsecond=0)
        path = NotePath(f"{folder}/{name}")
        text = unlinked(summary.text, path)
        created = (before.record.created if before else None) or now
        page = TopicPageText(
            page_id, path, summary.title, text, summary.by, children, created, now, provisional=summary.provisional
        )
        written = render(page).decode()
        if before is None:
            return WriteStep(path, written)
        return WriteStep(path, with_related_section(written, related_section(before.text)), before.text)


def proposal_key(topic: Topic) -> str:
    """Of the job that proposes a page for the topic as it is now."""
    return hash_job(f"propose {topic.folder}", [topic.covers])


def _so_far(topic: Topic, page: NoteFile | None) -> tuple[str, Set[int]]:
    """What a language model has said of the topic, and the places in its sources of those that are new since; nothing
    where any of what it had read is gone or says something else: its words might stay, and nobody could tell which."""
    meta = frontmatter.parse(page.text).meta if page else {}
    told = {str(each) for each in meta.get("derived_from") or ()}
    earlier = [child for child in topic.children if child.id in told]
    is_by_model = meta.get("source") not in {None, EXTRACTIVE}
    all_stands = len(earlier) == len(told) and covers(topic.folder, earlier) == meta.get("covers")
    if page is None or not is_by_model or not all_stands:
        return "", frozenset()
    return summary_text(page.body), {place for place, child in enumerate(topic.children) if child.id not in told}


def _keeps_all(topic: Topic, page: NoteFile) -> bool:
    """Whether all that the page was made from is there, under the same titles where it is a topic."""
    ids, told = {child.id for child in topic.children}, sources_of(page.text)
    topics = [(each, each.page) for each in topic.sources[0] if each.page and each.page.id in told]
    links = [link(page.record.path, each.title, found.path) for each, found in topics]
    return ids.issuperset(told) and all(each in page.text for each in links)


def audit_page(page: WriteStep, sources: Sequence[SummarySource]) -> Audit:
    """Of all that a reader of the page sees, the titles and dates of its links too."""
    document = frontmatter.parse(page.text)
    told = f"{document.meta['title']}\n\n{document.body}"
    return audit(told, [f"{source.title}\n\n{source.text}" for source in sources])


def _entry(
    verb: str, moving: PlannedMove, place: str, steps: Sequence[Step], about: str, lost: Audit | None
) -> JobEntry:
    told = [f"{record.id} {record.etag}" for record in moving.leaves] + [topic.covers for topic in moving.topics]
    return JobEntry(hash_job(f"{verb} {place}", told), about, steps, _told(lost) if lost else {})


def _told(lost: Audit) -> dict[str, Any]:
    dropped = [f"{fact.kind}: {fact.key}" for fact in lost.dropped[:DROPPED_SHOWN]]
    return {"kept": round(lost.share, 3), "of": lost.kept + len(lost.dropped), "dropped": dropped}


def _move(record: NoteRecord, folder: str) -> MoveStep:
    return MoveStep(record.id, record.path, NotePath(f"{folder}/{record.path.rpartition('/')[2]}"))


def _at(child: PageChild, path: str) -> PageChild:
    return replace(child, path=NotePath(path))


def _free(name: str, taken: set[str]) -> str:
    """The name, or one like it that is not taken; it is taken now."""
    stem, dot, ending = name.partition(".")
    number = 2
    free = name
    while fold(free) in taken:
        free = f"{stem}-{number}{dot}{ending}"
        number += 1
    taken.add(fold(free))
    return free


def _named(siblings: Iterable[str], title: str) -> str:
    """A new topic's folder: after the first phrase of its title that no sibling is called by."""
    names = list(siblings)
    taken = {name.partition("-")[2] for name in names}
    slugs = [short_slug(phrase) for phrase in title.split(", ")]
    return f"{next_number(names):02}-{next((each for each in slugs if each not in taken), slugs[0])}"


def _counted(moving: PlannedMove) -> str:
    said = [counted(len(moving.leaves), "note")] if moving.leaves else []
    return " and ".join(said + ([counted(len(moving.topics), "topic")] if moving.topics else []))
