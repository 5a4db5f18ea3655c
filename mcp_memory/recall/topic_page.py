"""Find the page of the topic that a question asks about as a whole, if it may be shown."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mcp_memory.index.base import Index
from mcp_memory.models import PAGES, Filters, NotePath, NoteRecord, NoteState, Passage
from mcp_memory.recall.context_budget import BudgetedText, choose, size
from mcp_memory.recall.excerpts import Excerpt, stretches
from mcp_memory.summarizers.extractive import EARLIER
from mcp_memory.summarizers.extractive import NAME as EXTRACTIVE
from mcp_memory.text.escape_invisible import visible
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import content_words, fold, folded, words
from mcp_memory.topics.page import PAGE, TOPICS, summary_text
from mcp_memory.topics.topic_tree import Topic, build_tree
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten

PAGE_SHARE = 0.6
"""The most of an answer that a topic's page may fill; the rest is for notes."""

Vector = NDArray[np.float32]

MOST_NOTES = 100_000


@dataclass(frozen=True)
class TopicPage:
    """The text of a topic's page, without its links. `notes` are the notes that it covers, `hidden` the notes among
    them that it must not show. `call` gets more text, if it isn't the page's path. `name`: the folded words of the
    person that the page is about, as other people may be named in the same note."""

    notes: frozenset[NotePath]
    hidden: frozenset[NotePath]
    excerpt: Excerpt
    call: str = ""
    name: frozenset[str] = frozenset()

    @property
    def recall(self) -> str:
        """The call that gets the page."""
        return f"memory_recall path={json.dumps(self.excerpt.path, ensure_ascii=False)}"

    @property
    def more(self) -> str:
        """The line that names the call for the whole page."""
        return self.call or f"The whole page, with links to its notes: {self.recall}"

    def tells(self, path: NotePath, text: str) -> bool:
        """Return whether the page covers this passage of the note at `path`: it has all its sentences, or all that
        contain the name, or the passage must be hidden."""
        whole = _plain(self.excerpt.text)
        named = (sentence.text for sentence in sentences(text) if self.name <= folded(sentence.text))
        is_told = (path in self.notes or bool(self.name)) and all(_plain(each) in whole for each in named)
        return is_told or path in self.hidden


class SubjectPages(Protocol):
    """Called in worker threads."""

    def page_about(self, subject: frozenset[str], filters: Filters, *, projects: bool) -> TopicPage | None:
        """Return the current facts of the project, or else of the person, service or tool, that these folded words
        name."""
        ...


def choose_with_page(
    passages: Sequence[Passage],
    topic: TopicPage | None,
    room_chars: int,
    known: Callable[[Passage], bool] | None,
    asking: str | None,
) -> tuple[BudgetedText, tuple[Passage, ...]]:
    """Return the text that fits, and its passages: first a topic's page, then notes that say more."""
    page = fit_page(topic, int(PAGE_SHARE * room_chars)) if topic else BudgetedText(())
    if topic and page.excerpts:
        passages = [each for each in passages if not topic.tells(each.note.path, each.chunk.text)]
    found, quoted = choose(passages, room_chars - size(page), known or (lambda _: False), asking)
    return BudgetedText((*page.excerpts, *found.excerpts), (*page.notices, *found.notices)), quoted


def fit_page(page: TopicPage, room_chars: int) -> BudgetedText:
    """Return as much of a page as fits, and the call that gets the whole page. These are all lines, or all that aren't
    earlier statements, or every second or third of these and so on, since lines follow the order of the notes. The text
    is empty if not even a single line fits."""
    whole = page.excerpt
    numbered = enumerate(whole.text.split("\n"), whole.start_line)
    filled = {at: line for at, line in numbered if line.strip() and not line.startswith(EARLIER)}
    for step in range(len(filled) + 1):
        lines = filled if step else dict(enumerate(whole.text.split("\n"), whole.start_line))
        text = BudgetedText(tuple(stretches(whole, dict(list(lines.items())[:: step or 1]))), (visible(page.more),))
        if size(text) <= room_chars:
            return text
    return BudgetedText(())


def without_sentences(page: Excerpt, texts: Sequence[str]) -> Excerpt | None:
    """Return a page of the sources' own sentences, a line each, without the sentences of these texts, and without the
    earlier statements below them. None if no other is left."""
    hidden = {_plain(sentence.text) for text in texts for sentence in sentences(text)} - {""}
    wholes = [_plain(text) for text in texts]

    def is_theirs(line: str) -> bool:
        words = _plain(line)
        return any(words in whole for whole in wholes) or any(sentence in words for sentence in hidden)

    lines, is_above_shown = list[str](), True
    for line in page.text.split("\n"):
        is_earlier = line.startswith(EARLIER)
        statement = line.partition("): ")[2] if is_earlier else line
        is_shown = (is_above_shown or not is_earlier) and not (line.strip() and is_theirs(statement))
        lines.append(line if is_shown else "")
        is_above_shown = is_above_shown if is_earlier else is_shown
    return replace(page, text="\n".join(lines)) if any(map(str.strip, lines)) else None


def _plain(text: str) -> str:
    """Return the folded words, with a blank before and behind each; empty without any."""
    found = " ".join(map(fold, words(text)))
    return found and f" {found} "


_SORTS = content_words("trip project plan app setup team Reise Projekt voyage projet viaje proyecto")
"""Words that a question adds to the name of a topic."""


def is_called(title: str, subject: frozenset[str]) -> bool:
    """Return whether a question is about a topic of this title: it contains a whole phrase of the title, and the other
    phrases cover the rest of the question. A single word of a phrase is not enough: it may belong to a much larger
    subject. A question with all words of the title may add the sort of its subject."""
    phrases = [content_words(phrase) for phrase in title.split(",")]
    named = len(phrases) == 1 or any(phrase and phrase <= subject for phrase in phrases)
    whole = frozenset[str]().union(*phrases)
    return named and (subject <= whole or (bool(whole) and whole <= subject <= whole | _SORTS))


@dataclass(frozen=True)
class TopicPages:
    """The pages of topics. Reads the index and files: for worker threads."""

    vault: Vault
    index: Index
    subjects: Sequence[SubjectPages] = ()

    def page_about(self, subject: frozenset[str], meaning: Vector | None, filters: Filters) -> TopicPage | None:
        """Return the first page found for this name, or None. First come the current facts of a person, service or
        tool; then the nearest topic of this name; then the facts of a project. The page of a topic doesn't show the
        text of private notes. A page that is stale, or made from filtered or forgotten notes, is never returned.
        `subject`: folded words; `meaning`: the question's vector. Raises the errors of reading a file."""
        page = self._subject_page(subject, filters, projects=False) or self._topic_about(subject, meaning, filters)
        return page or self._subject_page(subject, filters, projects=True)

    def _subject_page(self, subject: frozenset[str], filters: Filters, *, projects: bool) -> TopicPage | None:
        pages = (one.page_about(subject, filters, projects=projects) for one in self.subjects)
        return next(filter(None, pages), None)

    def _topic_about(self, subject: frozenset[str], meaning: Vector | None, filters: Filters) -> TopicPage | None:
        made = self.index.pages(self.vault.layout.in_home(TOPICS))
        pages = {page.folder: page for page in made if page.path.endswith(f"/{PAGE}")}

        def within(folder: str) -> frozenset[str]:
            """Return the subject without the names of the topics above, if it has them all: `harbor payments`."""
            above = frozenset[str]()
            while folder := _above(folder, pages):
                above |= content_words(pages[folder].title)
            return subject - above if above < subject else subject

        fitting = [pages[folder] for folder in sorted(pages) if is_called(pages[folder].title, within(folder))]
        vectors = self.index.mean_vectors([page.path for page in fitting])
        if fitting and meaning is not None and vectors.shape[1] == len(meaning):
            fitting = [fitting[int(np.argmax(vectors @ meaning))]]
        found = max(fitting, key=lambda page: len(subject & content_words(page.title)), default=None)
        return self._shown(found, filters) if found else None

    def _shown(self, page: NoteRecord, filters: Filters) -> TopicPage | None:
        topic = self._topic(page, filters.now)
        notes = topic.all_notes
        hidden = [note for note in notes if not filters.admits(note)]
        if not topic.ours or any(below.stale for below in topic.walk()):
            return None
        if not all(map(replace(filters, private=None).admits, hidden)):
            return None
        file = self.vault.read(page.path)
        if file.record.etag != page.etag or quotes_forgotten(file.text, self.vault, self.index):
            return None
        excerpt = _excerpt(file, topic)
        if hidden:  # a page's sentences of hidden notes are known only if none was paraphrased
            texts = [f"{note.title}\n{self.vault.read(note.path).body}" for note in hidden]
            excerpt = without_sentences(excerpt, texts) if file.record.source == EXTRACTIVE else None
            told = " ".join(note.title for note in notes if note not in hidden)
            if excerpt is None or not content_words(topic.title) <= content_words(f"{told} {excerpt.text}"):
                return None
        paths, left_out = (frozenset(note.path for note in some) for some in (notes, hidden))
        return TopicPage(paths, left_out, excerpt)

    def is_overtaken(self, page: NoteRecord) -> bool:
        """Return whether the page may still quote pages below it from before they were rewritten."""
        if page.path.startswith("@") or not page.path.endswith(f"/{PAGE}"):
            return False
        topic = self._topic(page)
        return bool(topic.topics) and topic.stale

    def _topic(self, page: NoteRecord, now: datetime | None = None) -> Topic:
        wanted = Filters(PAGES | {NoteState.ACTIVE}, path_prefix=page.folder, now=now)
        records = self.index.notes(wanted, limit=MOST_NOTES)
        records += linked_notes(records, self.index, now)
        (topic,) = build_tree(
            records, page.folder.rpartition("/")[0], self.vault.filing.made_by_us, self.vault.filing.page_state
        )
        return topic


def linked_notes(records: Sequence[NoteRecord], index: Index, now: datetime | None) -> list[NoteRecord]:
    """Return the active notes outside their folder that these pages were made from."""
    counted, inside = Filters(now=now), {record.id for record in records}
    pages = (record for record in records if record.state is NoteState.SUMMARY)
    return [note for note in index.sources(pages) if note.id not in inside and counted.admits(note)]


def _above(folder: str, pages: dict[str, NoteRecord]) -> str:
    """Return the closest folder above with a page; empty at the top."""
    above = folder.rpartition("/")[0]
    while above and above not in pages:
        above = above.rpartition("/")[0]
    return above


def _excerpt(file: NoteFile, topic: Topic) -> Excerpt:
    text = summary_text(file.body)
    before = file.text.count("\n", 0, file.body_start + file.body.find(text))
    days = dict.fromkeys(when.date().isoformat() for when in topic.span if when)
    about = " · ".join([f"topic of {topic.notes} notes", *([" to ".join(days)] if days else [])])
    return Excerpt(file.record, before + 1, before + 1 + text.count("\n"), text, (topic.title,), about=about)
