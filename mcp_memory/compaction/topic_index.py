"""Builds jobs that update the index of topics (`topics/_index.md`) and the lists of related topics on topic pages."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from ulid import ULID

from mcp_memory.errors import NotFound
from mcp_memory.index.base import Index
from mcp_memory.models import Clock, NoteId, NotePath, is_below, is_closed
from mcp_memory.runs.journal import JobEntry, RemoveStep, WriteStep
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.link_targets import unlinked
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.text.pluralize import counted
from mcp_memory.text.tokens import CHARS_PER_TOKEN
from mcp_memory.topics.cluster import unit
from mcp_memory.topics.page import (
    MAP,
    link,
    related_section,
    render_related,
    span,
    summary_text,
    with_related_section,
)
from mcp_memory.topics.page_parts import RELATED_PART, own_text, parts_of
from mcp_memory.topics.topic_tree import Topic, all_topics
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import quotes_forgotten

MAP_TOKENS = 2000
"""The length of `_index.md`, the map of all topics."""

SUMMARY_CHARS = 140
"""The most characters of each topic's summary."""

HEADING = "# Topics\n\nWhat is remembered, by topic. Each link leads to a page that says more, and on to its notes."

_MARKUP = re.compile(r"[\[<`]")


class MapEntry(NamedTuple):
    """A topic. `page` is the path of its page, None without a readable page; `level` is 0 at the top."""

    id: NoteId | None
    title: str
    page: NotePath | None
    level: int
    notes: int
    earliest: datetime | None = None
    latest: datetime | None = None


def render_map(
    map_id: NoteId,
    path: NotePath,
    entries: Sequence[MapEntry],
    summary_of: Callable[[MapEntry], str],
    budget_tokens: int,
    created: datetime,
    updated: datetime,
) -> str:
    """Return the file's text. `entries` are in the order of the tree; top levels come first, and topics beyond the
    budget are only counted. `summary_of` returns the summary of a topic that fits."""
    room = budget_tokens * CHARS_PER_TOKEN - len(HEADING) - len(_rest(len(entries))) - 4
    lines: dict[int, str] = {}
    for number in sorted(range(len(entries)), key=lambda at: entries[at].level):
        line = _line(path, entries[number], summary_of(entries[number]))
        room -= len(line) + 1
        if room < 0:
            break
        lines[number] = line
    shown = sorted(lines)
    parts = [HEADING, "\n".join(lines[number] for number in shown)]
    if len(shown) < len(entries):
        parts.append(_rest(len(entries) - len(shown)))
    meta = {
        "id": map_id,
        "title": "Topics",
        "created": created,
        "updated": updated,
        "source": "mcp-memory",
        "derived_from": [topic_id for number in shown if (topic_id := entries[number].id)],
        "node_kind": "map",
        "descendant_count": sum(entry.notes for entry in entries if not entry.level),
    }
    return frontmatter.render(meta, "\n\n".join(part for part in parts if part))


def short_summary(summary: str) -> str:
    """Return the first sentence of a summary in one line of at most SUMMARY_CHARS, without links."""
    text = next((sentence.text for sentence in sentences(unlinked(summary))), "")
    if len(text) > SUMMARY_CHARS:
        text = text[: SUMMARY_CHARS - 1].rsplit(" ", 1)[0] + "…"
    return _MARKUP.sub(lambda mark: chr(92) + mark[0], text)


def _line(path: NotePath, entry: MapEntry, summary: str) -> str:
    name = link(path, entry.title, entry.page) if entry.page else entry.title
    parts = [name, counted(entry.notes, "note"), span(entry.earliest, entry.latest)]
    line = f"{'  ' * entry.level}- {' · '.join(filter(None, parts))}"
    return f"{line} — {short}" if (short := short_summary(summary)) else line


def _rest(count: int) -> str:
    return f"… and {counted(count, 'topic')} more, found by the links above."


def build_topic_index(tree: Sequence[Topic], vault: Vault, index: Index, root: str, clock: Clock) -> JobEntry | None:
    """Return None if the page is up to date, or your own. `root` is the folder of all topics. Reads files and the
    index, so call it in a worker thread."""
    path = NotePath(f"{root}/{MAP}")
    try:
        before = vault.read(path)
    except NotFound:
        before = None
    if before and not vault.filing.is_as_we_wrote(before):
        return None
    if not tree:
        if before is None:
            return None
        return JobEntry("no topic is left", [RemoveStep(path, before.text)])
    now = clock().replace(microsecond=0)
    page_id = before.record.id if before else NoteId(str(ULID.from_datetime(now)))
    created = (before.record.created if before else None) or now
    entries = [entry for topic in tree for entry in _entries(topic, 0, vault, index)]

    def summary(entry: MapEntry) -> str:
        return summary_text(vault.read(entry.page).body) if entry.page else ""

    def render(updated: datetime) -> str:
        return render_map(page_id, path, entries, summary, MAP_TOKENS, created, updated)

    if before and render(before.record.updated or now) == before.text:
        return None
    text = render(now)
    step = WriteStep(path, text, before.text if before else None)
    return JobEntry(f"map of {counted(len(entries), 'topic')}", [step])


def _entries(topic: Topic, level: int, vault: Vault, index: Index) -> Iterator[MapEntry]:
    """Yield the topic, then its subtopics. A page that may quote a forgotten note is skipped."""
    page = topic.page
    if page and quotes_forgotten(vault.read(page.path).text, vault, index):
        page = None
    title, path = (page.title, page.path) if page else (topic.name, None)
    yield MapEntry(page.id if page else None, title, path, level, topic.notes, *topic.span)
    for below in topic.topics:
        yield from _entries(below, level + 1, vault, index)


MOST = 3
LEAST_COSINE = 0.65
"""The minimum cosine between the centroids of two topics. Folders of two programs' documentation reach .62
(all-MiniLM-L6-v2), folders of a single program up to .73."""


def build_related(tree: Sequence[Topic], written: Collection[NoteId], vault: Vault, index: Index) -> JobEntry | None:
    """Update the lists on pages that were just `written`, and lists with a broken link or an outdated title. A changed
    relation doesn't make a page stale, so pages don't wait for each other.

    Return None if all lists are up to date. Reads files and the index, so call it in a worker thread."""
    topics = [topic for topic in all_topics(tree) if topic.page]
    titles = {topic.page_path: topic.title for topic in topics}
    texts: dict[NotePath, str] = {}
    for topic in topics:
        if not topic.ours or topic.is_yours:
            continue
        file = vault.read(topic.page_path)
        section = related_section(file.text)
        is_due = not section or file.record.id in written or not _is_valid(topic.page_path, section, titles)
        made = vault.ledger.parts(file.record.id)
        is_ours = bool(made) and (not own_text(section, made) if section else not made[-1].get(RELATED_PART))
        if is_due and is_ours:
            texts[topic.page_path] = file.text
    steps = [step for step in _with_new_lists(topics, texts, vault, index) if step.text != step.before]
    if not steps:
        return None
    return JobEntry(f"related topics on {counted(len(steps), 'page')}", steps)


def nearest_topics(at: int, folders: Sequence[str], directions: NDArray[np.float32]) -> list[int]:
    """Return the indices of at most `MOST` topics nearest to the topic `at`, nearest first; no topic in the result is
    above or below `at` or another result. `directions` has the shape (n, dimension) and length 1, or 0 for a topic
    without vectors."""
    cosines = directions @ directions[at]
    chosen: list[int] = []
    for other in sorted(range(len(folders)), key=lambda topic: (-float(cosines[topic]), folders[topic])):
        if len(chosen) == MOST or cosines[other] < LEAST_COSINE:
            break
        known = [folders[topic] for topic in (at, *chosen)]
        if not any(is_below(folders[other], folder) or is_below(folder, folders[other]) for folder in known):
            chosen.append(other)
    return chosen


def _direction(topic: Topic, index: Index) -> NDArray[np.float32]:
    """Return the unit vector between the notes of a topic."""
    vectors = index.mean_vectors([note.path for note in topic.all_notes])
    return unit(vectors.sum(axis=0))


def _with_new_lists(
    topics: Sequence[Topic], texts: dict[NotePath, str], vault: Vault, index: Index
) -> Iterator[WriteStep]:
    if not texts:
        return
    directions = np.stack([_direction(topic, index) for topic in topics])
    folders = [topic.folder for topic in topics]
    for at, topic in enumerate(topics):
        if (text := texts.get(topic.page_path)) is not None:
            open_ones = [one.project == topic.project or not is_closed(one.project) for one in topics]
            found = nearest_topics(at, folders, directions * np.array(open_ones)[:, None])
            near = [(topics[other].title, topics[other].page_path) for other in found]
            related = render_related(topic.page_path, near)
            assert topic.page
            parts = {
                **vault.ledger.parts(topic.page.id)[-1],
                RELATED_PART: parts_of(related).get(RELATED_PART, []),
            }
            yield WriteStep(topic.page_path, with_related_section(text, related), text, parts)


def _is_valid(page: NotePath, section: str, titles: dict[NotePath, str]) -> bool:
    """Return whether each line of a list of related topics links to a page by its current title."""
    near = [NotePath(resolve(link.target, page) or "") for link in find_links(section)]
    return titles.keys() >= {*near} and render_related(page, [(titles[path], path) for path in near]) == section
