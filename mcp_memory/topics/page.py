"""Names the places of topics, and renders and parses `_summary.md`, a topic's page: its summary, and links that any
Markdown viewer follows. Pure."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ulid import ULID

from mcp_memory.errors import InvalidInput
from mcp_memory.models import NoteId, NotePath
from mcp_memory.text.language.sentences import bare_sentence
from mcp_memory.text.language.terms import fold, words
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.inline_text import escaped
from mcp_memory.text.markdown.links import relative_link
from mcp_memory.text.pluralize import counted
from mcp_memory.text.text_hash import text_hash
from mcp_memory.text.tokens import count_tokens

TOPICS = "topics"
"""The folder of all topics, in the managed folder."""

FRESH = "_fresh"
"""The folder of notes without a topic, in the folder of all topics."""

_NUMBERED = re.compile(r"([0-9]{2,6})-[^/]+")
"""The name of a topic's folder."""

PAGE = "_summary.md"
MAP = "_index.md"
"""The name of the map in the folder of all topics."""

_GENERATED = frozenset({PAGE, MAP})

SUMMARIES, ENTITIES, CONTENTS = "summaries", "entities", "INDEX.md"
SESSIONS = f"{SUMMARIES}/sessions"
"""The folders of pages about periods, and about projects, people and services, and the page that lists them, all in the
managed folder. Our pages have a `node_kind`."""

NODE = "condensed"
"""The `node_kind` of a page."""

HOLDS, QUESTIONS, CHILDREN, RELATED = "## What holds", "## Open questions", "## Children", "## Related"

MOST_LISTED = 20
"""The most tags and sessions in the head of a page."""

LABEL_WORDS = 6
"""The most words of a note's title in a link, if the page's text already contains the note."""

_KINDS = ("", "decision", "preference", "fact", "workflow", "fix", "lesson", "reference", "idea", "note")


@dataclass(frozen=True)
class PageChild:
    """A note of the topic, or the page of a subtopic. `path` is the path of the file to read."""

    id: NoteId
    path: NotePath
    title: str
    covers: str
    """A note's content hash and title, or a page's own `covers`: differs when something below differs."""
    notes: int = 1
    """The number of notes that it represents."""
    earliest: datetime | None = None
    latest: datetime | None = None
    depth: int = 0
    kind: str = ""
    label: str = ""
    """The text of its link, instead of the title."""
    is_overtaken: bool = False
    """Whether a newer note replaces it."""
    sessions: Sequence[str] = ()
    tags: Sequence[str] = ()
    """The sessions and tags of its notes, with repeats."""


@dataclass(frozen=True)
class TopicPageText:
    """The contents of a page. `provisional`: a language model should rewrite `text`."""

    id: NoteId
    path: NotePath
    title: str
    text: str
    by: str
    children: Sequence[PageChild]
    created: datetime
    updated: datetime
    gist: str = ""
    questions: Sequence[str] = ()
    provisional: bool = False


def render(page: TopicPageText) -> bytes:
    """Return the file's bytes."""
    text = page.text.strip()
    parts = [page.gist.strip(), f"{HOLDS}\n\n{text}" if page.gist and text else text]
    if page.questions:
        parts.append(f"{QUESTIONS}\n\n{_list(page.questions)}")
    parts = [*filter(None, parts), CHILDREN, *_children(page)]
    body = "\n\n".join(parts)
    children = page.children
    meta = {
        "id": page.id,
        "title": page.title,
        "created": page.created,
        "updated": page.updated,
        "tags": _most_frequent(tag for child in children for tag in child.tags),
        "source": page.by,
        "provisional": page.provisional or None,
        "derived_from": [child.id for child in children],
        "depth": 1 + max((child.depth for child in children), default=0),
        "node_kind": NODE,
        "descendant_count": sum(child.notes for child in children),
        "earliest_at": min((child.earliest for child in children if child.earliest), default=None),
        "latest_at": max((child.latest for child in children if child.latest), default=None),
        "stale": False,
        "token_count": count_tokens(body),
        "sessions": _most_frequent(session for child in children for session in child.sessions),
        "covers": covers(page.path.rpartition("/")[0], children),
    }
    return frontmatter.render(meta, body).encode(errors="replace")


def _most_frequent(names: Iterable[str]) -> list[str] | None:
    return [name for name, _ in Counter(names).most_common(MOST_LISTED)] or None


def is_page(inner: str) -> bool:
    """Return whether a path in the managed folder belongs to a generated file."""
    folder, _, name = inner.rpartition("/")
    return name in _GENERATED and f"{folder}/".startswith(f"{TOPICS}/")


def page_id(*what: str) -> NoteId:
    """Return the permanent id of a page that belongs to no topic, derived from its subject."""
    digest = hashlib.sha256("\0".join(what).encode("utf-8", "surrogatepass")).digest()
    return NoteId(str(ULID.from_bytes(b"\1" + digest[:15])))


def is_generated(inner: str, node_kind: object) -> bool:
    """Return whether a file at this path in the managed folder, with this `node_kind` in its head, is a page made from
    notes or sessions without a topic."""
    return bool(node_kind) and (inner == CONTENTS or inner.partition("/")[0] in {SUMMARIES, ENTITIES})


def covers(folder: str, children: Iterable[PageChild]) -> str:
    """Return 16 hexadecimal digits that change when something below the folder changes or is renamed, but not when the
    folder moves."""
    lines = sorted(f"{child.id} {child.covers} {child.path.removeprefix(f'{folder}/')}" for child in children)
    return text_hash("\n".join(lines), 16)


def related_section(page: str) -> str:
    """Return a page's list of related topics, with its heading; may be empty."""
    at = _related_at(page)
    return page[at:].strip() if at >= 0 else ""


def with_related_section(page: str, part: str) -> str:
    """Replace the page's list of related topics."""
    at = _related_at(page)
    kept = (page[:at] if at >= 0 else page).rstrip("\n")
    return f"{kept}\n\n{part}\n" if part else f"{kept}\n"


def render_related(page: NotePath, related: Iterable[tuple[str, NotePath]]) -> str:
    """Return the list of related topics for a page at this path, from their titles and pages; empty without any."""
    lines = _list(link(page, title, path) for title, path in related)
    return f"{RELATED}\n\n{lines}" if lines else ""


def without_stale_flag(text: str) -> str:
    try:
        return frontmatter.patch(text, {"stale": None})
    except InvalidInput:
        return text


def summary_text(body: str) -> str:
    """Return the summary in a page's body, without the lists of links."""
    summary, found, _ = f"\n{body}".rpartition(f"\n{CHILDREN}")
    return (summary if found else body).strip()


def summary_sentences(body: str) -> str:
    """Return the summary without our headings."""
    return "\n".join(line for line in summary_text(body).splitlines() if line not in {HOLDS, QUESTIONS})


def _children(page: TopicPageText) -> Iterable[str]:
    """Yield lists of links: subtopics, then the notes of each kind."""
    told = "\n".join([page.gist, page.text, *page.questions])
    present = {child.kind for child in page.children}
    for kind in filter(present.__contains__, dict.fromkeys([*_KINDS, *sorted(present)])):
        lines = _list(_child(page.path, replace(child, label=_label(child, page.title, told)))
                      for child in page.children if child.kind == kind)  # fmt: skip
        yield f"### {kind.capitalize()}{'e' * (kind == 'fix')}s\n\n{lines}" if kind and len(present) > 1 else lines


def _label(child: PageChild, title: str, told: str) -> str:
    """Return the title of a note without the topic's; only its start if the page contains the title as a sentence."""
    if child.depth or child.label:
        return child.title if child.depth else child.label
    text = bare_sentence(child.title, title).rstrip(".")
    if _words(text) not in _words(told) or f"{text}: " in told:
        return text
    parts = text.rstrip("…").split()
    return f"{' '.join(parts[: min(LABEL_WORDS, max(2, len(parts) // 2))])} …"


def _words(text: str) -> str:
    return f" {' '.join(map(fold, words(text)))} "


def _child(page: NotePath, child: PageChild) -> str:
    shown = link(page, child.label or child.title, child.path)
    facts = [counted(child.notes, "note")] if child.depth else []
    facts += [span(child.earliest, child.latest)] if child.latest else []
    facts += ["replaced"] if child.is_overtaken else []
    return f"{shown} ({', '.join(facts)})" if facts else shown


def _related_at(page: str) -> int:
    return page.find(f"\n{RELATED}\n", max(0, page.rfind(f"\n{CHILDREN}\n")))


def span(earliest: datetime | None, latest: datetime | None) -> str:
    """Format a span of days."""
    days = [when.date().isoformat() for when in (earliest, latest) if when]
    return " to ".join(dict.fromkeys(days))


def link(page: NotePath, title: str, path: NotePath) -> str:
    """Return a link from the page at this path to the other path."""
    return f"[{escaped(title)}]({relative_link(page, path)})"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def next_number(names: Iterable[str]) -> int:
    """Return the next free number among the folders of a parent."""
    return max((int(match[1]) for name in names if (match := _NUMBERED.fullmatch(name))), default=0) + 1


def is_topic_name(name: str) -> bool:
    return bool(_NUMBERED.fullmatch(name))


def age_key(path: str) -> tuple[str, int, str]:
    """Return a key that sorts notes by age: within `_fresh/` by number, so that 1000 comes after 999."""
    folder, _, name = path.rpartition("/")
    number = name.partition("-")[0]
    return folder, int(number) if number.isascii() and number.isdigit() else 0, name


def upwards(folder: str) -> Iterator[str]:
    """Yield the folder and its parents, without the top."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
