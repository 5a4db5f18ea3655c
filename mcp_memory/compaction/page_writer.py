"""Writes topic pages: reads the sources, has them named and summarized, and keeps what a person wrote on a page."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from ulid import ULID

from mcp_memory.compaction.page_lines import source_of
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.comparison.updates import Updates
from mcp_memory.errors import NotFound, Refused
from mcp_memory.index.base import Index
from mcp_memory.models import Clock, Filters, NoteId, NotePath, NoteRecord
from mcp_memory.runs.journal import WriteStep
from mcp_memory.runtime.health import give_way
from mcp_memory.summarizers.base import StatementRank, Summarizer, Summary, SummaryRequest, SummarySource
from mcp_memory.summarizers.extractive import NAME as EXTRACTIVE
from mcp_memory.summarizers.topic_labels import short_title, title_of
from mcp_memory.text.language.facts import Fact, facts
from mcp_memory.text.language.subjects import is_outgrown, shared_subject, subject_of
from mcp_memory.text.language.terms import content_words, words
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.link_targets import unlinked
from mcp_memory.text.tokens import CHARS_PER_TOKEN
from mcp_memory.topics.owned_notes import OF_MOST
from mcp_memory.topics.page import (
    PAGE,
    QUESTIONS,
    TOPICS,
    PageChild,
    TopicPageText,
    covers,
    link,
    related_section,
    render,
    span,
    summary_sentences,
    summary_text,
    with_related_section,
)
from mcp_memory.topics.page_parts import RELATED_PART, TITLE, is_sealed, merged, parts_of, sealed
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.vault.note_file import NoteFile, derive_title, short_slug
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import sources_of

SHARE = 0.5
"""The maximum share of the length of its sources that a summary has, besides rules and facts …"""
LEAST_TOKENS, MOST_TOKENS = 40, 1500
"""… within these limits."""
MOST = 10_000
"""The most sibling pages whose titles are compared."""
GIST_SENTENCES = 3
MOST_QUOTED = 500
"""The most characters of a page's statements on the page above it."""


class WrittenPage(NamedTuple):
    """The step that writes a page. `problem` is the reason why the page is provisional."""

    step: WriteStep
    problem: str


@dataclass(frozen=True)
class PageWriter:
    """Builds pages synchronously, for worker threads; outside any lock. Writes nothing. Methods raise NotFound for a
    source that is gone or changed, and the errors of the vault and the summarizer."""

    vault: Vault
    index: Index
    summarizer: Summarizer
    clock: Clock

    def read_sources(self, topics: Iterable[Topic], leaves: Iterable[NoteRecord]) -> list[SummarySource]:
        """Read the sources of a page. Raises NotFound for a note that has changed since it was indexed; the next run
        files it."""
        sources = list[SummarySource]()
        for topic in topics:
            if topic.page:
                text = summary_sentences(body := self.vault.read(topic.page_path).body)
                said = f"{topic.title}: {_gist(body)}"
                sources.append(SummarySource(topic.title, text, "", topic.page.tags, False, said, StatementRank.RULE))
        notes = [(record, self.vault.read(record.path)) for record in leaves]
        for record, file in notes:
            if file.record.etag != record.etag:
                raise NotFound(f"{record.path} has changed meanwhile")
        overtaken = {conflict.older for conflict in self.index.conflicts() if not conflict.is_double}
        days = [span(note.first_date, None) for note, _ in notes]
        updates = Updates([NoteText(file.body, note.title, note.kind) for note, file in notes], days)
        first = len(sources)
        for at, (note, file) in enumerate(notes):
            give_way()
            later = updates.find(at)
            source = source_of(note, file.body, days[at], is_overtaken=note.id in overtaken)
            if later is not None:
                source = replace(source, newer=first + later, is_changed=updates.is_clear(at, later))
            sources.append(source)
        return sources

    def project_title(self, folder: NotePath, project: str, notes: Sequence[SummarySource]) -> str:
        """Return the title of a project's own topic: the project's name, and the subject that all `notes` name, if any;
        empty for any other topic. Notes of subtopics don't matter."""
        if not project or folder.rpartition("/")[0] != self.vault.layout.in_home(TOPICS):
            return ""
        return ", ".join(filter(None, [project, shared_subject([subject_of(note.tags, project) for note in notes], 1)]))

    def names_above(self, folder: NotePath, project: str) -> str:
        """Return what a topic's title needn't repeat: its project, the subject of most of the project's notes, and the
        title of the topic that contains its folder."""
        parent = NotePath(f"{folder.rpartition('/')[0]}/{PAGE}")
        notes = self.index.notes(Filters(project=project), MOST) if project else []
        subjects = [subject_of(note.tags, project) for note in notes if note.project == project]
        titles = [page.title for page in self.index.pages(parent) if page.title.partition(", ")[0] != project]
        return " ".join([project, shared_subject(subjects, OF_MOST), *titles]).strip()

    def summarize(
        self, sources: Sequence[SummarySource], depth: int, above: str, title: str, siblings: Collection[str]
    ) -> Summary:
        """Summarize the sources of a new page. `title` is the title if it is known; otherwise the page gets one that no
        sibling folder is named after, and that doesn't repeat the names `above`."""
        summary = self._summarize(SummaryRequest(sources, 0, depth, hint=above), title)
        return summary if title else replace(summary, title=self._distinct(summary.title, siblings, sources, above))

    def write(
        self, folder: NotePath, summary: Summary, children: Sequence[PageChild], before: NoteFile | None = None,
        *, is_titled: bool,
    ) -> WrittenPage:  # fmt: skip
        """Write the page of a topic, in place of the page `before`. `is_titled`: the title is a person's."""
        now = self.clock().replace(microsecond=0)
        path = NotePath(f"{folder}/{PAGE}")
        page_id = before.record.id if before else NoteId(str(ULID.from_datetime(self.clock())))
        created = (before.record.created if before else None) or now
        labelled = [
            replace(child, label=summary.labels.get(at, ""), is_overtaken=at in summary.overtaken)
            for at, child in enumerate(children)
        ]
        page = TopicPageText(
            page_id, path, summary.title, unlinked(summary.text, path), summary.by, labelled, created, now,
            gist=unlinked(summary.gist, path), questions=[unlinked(question, path) for question in summary.questions],
            provisional=summary.provisional,
        )  # fmt: skip
        step = self._with_own_text(path, sealed(render(page).decode()), before)
        if is_titled:
            step = replace(step, parts={**(step.parts or {}), TITLE: []})
        return WrittenPage(step, summary.problem)

    def rewrite(
        self, topic: Topic, children: Sequence[PageChild], sources: Sequence[SummarySource] | None = None
    ) -> WrittenPage:
        """Write the page of a topic with these children, which may include new ones. `sources` are the children's; by
        default those of the topic."""
        sources = self.read_sources(*topic.sources) if sources is None else sources
        before = self.vault.read(topic.page_path) if topic.page else None
        above = self.names_above(topic.folder, topic.project)
        outgrown = (  # whether a title chosen from the first notes no longer describes most notes
            before
            and not topic.state.titled
            and frontmatter.parse(before.text).meta.get("source") == EXTRACTIVE
            and is_outgrown(before.record.title, [subject_of(source.tags, above) for source in sources])
        )
        project_title = title = self.project_title(topic.folder, topic.project, () if topic.topics else sources)
        # A title stays while its notes contain its words. Words of a removed note must go.
        is_said = bool(before) and (_keeps_all(topic, before) or _say(sources, before.record.title))
        if before and (topic.state.titled or not sources or (is_said and not project_title)):
            title = before.record.title
        if outgrown and not project_title:
            title = ""
        previous, changed = _previous_summary(topic, before, children)
        request = SummaryRequest(sources, 0, topic.depth, previous=previous, changed=changed, hint=above)
        summary = self._summarize(request, title)
        if outgrown and not title:
            beside = self._names_beside(topic)
            summary = replace(summary, title=self._distinct(summary.title, beside, sources, above))
        return self.write(topic.folder, summary, children, before, is_titled=topic.state.titled)

    # -- below -------------------------------------------------------------------------------------------------

    def _distinct(self, title: str, siblings: Collection[str], sources: Sequence[SummarySource], above: str) -> str:
        """Extend the title by another shared subject of the notes if a sibling topic already has the title."""
        if short_slug(title) not in {name.partition("-")[2] for name in siblings}:
            return title
        return short_title(f"{title}, {title_of(sources, self._common(sources), hint=f'{above} {title}')}")

    def _names_beside(self, topic: Topic) -> set[str]:
        """Return the folder names of the sibling topics, also as their pages' current titles would name them."""
        names: set[str] = set()
        for page in self.index.pages(topic.parent):
            parent, _, name = page.folder.rpartition("/")
            if parent == topic.parent and name != topic.name:
                names |= {name, f"-{short_slug(page.title)}"}
        return names

    def _summarize(self, request: SummaryRequest, title: str) -> Summary:
        """Summarize within the budget of a page; `title` replaces the summarizer's title."""
        titles = (one.title for one in request.sources if one.title != derive_title(one.text))
        length = sum(map(len, [*titles, *(one.text for one in request.sources)])) // CHARS_PER_TOKEN
        budget = min(MOST_TOKENS, max(LEAST_TOKENS, int(SHARE * length)))
        common = self._common(request.sources)
        summary = self.summarizer.summarize(
            replace(request, budget_tokens=budget, common=common, gist_sentences=GIST_SENTENCES)
        )
        overtaken = frozenset(at for at, source in enumerate(request.sources) if source.is_overtaken)
        return replace(summary, title=title or summary.title, overtaken=overtaken)

    def _common(self, sources: Sequence[SummarySource]) -> Mapping[str, float]:
        unique = sorted({word for source in sources for word in words(f"{source.title} {source.text[:20_000]}")})
        whole = max(1, self.index.watermark().chunks)
        return {word: count / whole for word, count in self.index.frequencies(unique).items()}

    def _with_own_text(self, path: NotePath, written: str, before: NoteFile | None) -> WriteStep:
        """Keep a person's text on the page, and the list of related topics."""
        if before is None:
            return WriteStep(path, written, parts=parts_of(written))
        if not (made := self.vault.ledger.parts(before.record.id)):
            raise Refused(f"{path} is your own: remove it to have one made")
        related = related_section(before.text)
        parts = {**parts_of(written), RELATED_PART: made[-1].get(RELATED_PART, [])}
        if not self.vault.filing.is_as_we_wrote(before):
            if is_sealed(before.text):  # written by another device of yours, so no line of it is a person's
                made = [*made, {**parts_of(before.text), TITLE: [], RELATED_PART: []}]
            written = merged(with_related_section(before.text, ""), written, made)
        return WriteStep(path, with_related_section(written, related), before.text, parts)


def _gist(body: str) -> str:
    """Return the first statements of a page without earlier ones: its gist, and more if there is room."""
    lines = summary_text(body).partition(QUESTIONS)[0].splitlines()
    said = [line.removeprefix("- ") for line in lines if line and not line.startswith(("#", "  "))]
    ends = enumerate(accumulate(map(len, said)))
    return " ".join(said[at] for at, end in ends if at < GIST_SENTENCES or end <= MOST_QUOTED)


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


def _keeps_all(topic: Topic, page: NoteFile) -> bool:
    """Return whether all sources of the page are still in the topic, and its subtopics have the same titles."""
    ids, used = {child.id for child in topic.children}, sources_of(page.text)
    links = [link(page.record.path, below.title, below.page.path) for below in topic.sources[0]
             if below.page and below.page.id in used]  # fmt: skip
    return ids.issuperset(used) and all(line in page.text for line in links)


class Audit(NamedTuple):
    """The kept and dropped facts; `dropped` is ordered by kind and key."""

    kept: int
    dropped: tuple[Fact, ...]


def audit(summary: str, sources: Iterable[str]) -> Audit:
    """Compare a summary, including its title, with its sources."""
    stated = frozenset[Fact]().union(*(facts(source) for source in sources))
    kept = facts(summary)
    dropped = sorted(fact for fact in stated if fact not in kept and not _is_verbatim(fact, summary))
    return Audit(len(stated) - len(dropped), tuple(dropped))


def _is_verbatim(fact: Fact, summary: str) -> bool:
    """Find facts that `facts` can't recognize: a name at the start of a sentence, an identifier without code marks."""
    if fact.kind not in {"name", "identifier"}:
        return False
    found = fact.key in summary  # faster than compiling thousands of patterns
    return found and re.search(rf"(?<!\w){re.escape(fact.key)}(?!\w)", summary) is not None
