"""Lists a note's links to other notes, each with its line, its type, and the name that identifies its target.

The type of a link is the property or the start of the line that contains it (`because: [[note]]`), or a relation right
before it, else `link`. Names are compared without case; names that begin with `/` are whole paths. Links of a source
stay within the source, so the names of its notes begin with `@source:` there.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from mcp_memory.models import NotePath
from mcp_memory.text.markdown.frontmatter import split_head
from mcp_memory.text.markdown.links import divided, find_links, resolve

MOST_LINKS = 10_000
"""The most links of a note."""
PLAIN = "link"
SUPERSEDES, SUPERSEDED_BY, DERIVED_FROM = "supersedes", "superseded_by", "derived_from"
HISTORY = frozenset({SUPERSEDES, SUPERSEDED_BY, DERIVED_FROM})
"""The types of links to the note's origins, which may be expired or replaced."""

BY_ID, BY_PATH, BY_NAME, BY_ALIAS, BY_TITLE = range(5)
"""The ways in which a name identifies a note; only notes with the lowest value match."""

OUTSIDE = "../"
"""The start, after the `/`, of a target outside the vault, whose folder is ignored."""

SHOWN_ID_CHARS = 6
"""The length of the end of an id, as agents see it."""
REASONS = frozenset({"because", "caused_by"})
REPLACES = "replaces"
_MOST_NAME_CHARS = 300
_MOST_TYPE_CHARS = 80
_TYPED = re.compile(
    r"(?:(?:[-*+]|[0-9]{1,9}[.)]) )?(?:\[[ xX]\] )?[*_]{0,2}([^\W\d_][\w -]{0,38}?)[*_]{0,2}::?[*_]{0,2}"
)
_INLINE = re.compile(r"[\s,;.(](because|caused by|replaces|part of)::?$", re.IGNORECASE)
_BETWEEN = re.compile(r"[ ,;&+]{1,4}(?:and )?")
_IN_HEAD = re.compile(r"\[\[([^\[\]\n|]+)(?:\|[^\[\]\n]*)?\]\]")
_BARE = re.compile(r"[^\s,\[\]\"']+")
_ORIGIN = re.compile(
    r"""(?P<quote>["'])[A-Za-z][\w+.-]*:(?:(?!(?P=quote))[^\n])*"""  # in quotes
    r"""|(?:^[ \t]*-[ \t]+|:[ \t]+)[A-Za-z][\w+.-]*:[^\n]*"""  # the only value of its line
    r"""|(?<=[\s,\[])[A-Za-z][\w+.-]*:[^,\]\n]*""",  # in a list
    re.MULTILINE,
)
"""Matches the place outside the vault that a note was imported from: `obsidian:/home/ada/My notes/kiln.md`, a URL."""
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_ATTACHMENT = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|bmp|avif|pdf|mp[34]|webm|wav|ogg|m4a|mov|zip|canvas|base)$", re.IGNORECASE
)
_TEXT_KEYS = frozenset({"title", "description", "aliases", "alias", "tags", "id"})


class NoteLink(NamedTuple):
    """A link with `text[at : at + len(target)] == target`. `kind` is `markdown`, `wiki`, or `id` for a link without
    brackets."""

    line: int
    at: int
    kind: str
    type: str
    target: str
    key: str


class ResolvedLink(NamedTuple):
    """A link of the note at `source`. `targets` are the paths of the notes that it may lead to: none for a broken link,
    several for an ambiguous link."""

    source: NotePath
    link: NoteLink
    targets: tuple[NotePath, ...]


def note_links(text: str, body_start: int, path: str) -> list[NoteLink]:
    """Return the links in order, without links in code, and links that can't lead to a note."""
    if not any(mark in text for mark in ("[[", "](", "]:", "\nsupersede", "\nderived_from")):
        return []
    found: list[NoteLink] = []
    line, counted = 1, 0
    for at, kind, link_type, target in (*_in_head(text), *_in_body(text, body_start)):
        if (key := key_of(kind, target, path)) and len(found) < MOST_LINKS:
            line += text.count("\n", counted, at)
            counted = at
            found.append(NoteLink(line, at, kind, link_type, target, key))
    return found


def key_of(kind: str, target: str, path: str) -> str | None:
    """Return the name of the note that a link in the note at `path` leads to; None for a link to anything else."""
    bare = divided(kind, target)[0].strip()
    if not bare or (kind != "markdown" and _ATTACHMENT.search(bare)):
        return None
    named = bare if kind == "markdown" or bare.lower().endswith(".md") else f"{bare}.md"
    if kind != "markdown" and not bare.startswith(("./", "../", "/")):
        return _scope(path, bare) + fold(named[:-3])
    place = resolve(f"/{named}", "-") if bare.startswith("@") else resolve(named, path)
    if not place and named.startswith("../"):
        place = f"{OUTSIDE}{named.rpartition('/')[2]}"
    return f"/{unicodedata.normalize('NFC', place)}" if place and place.lower().endswith(".md") else None


def names_of(path: str, note_id: str, title: str, aliases: Collection[str]) -> dict[str, int]:
    """Map each name of a note to the way in which it identifies the note."""
    folded, scope = fold(path.removesuffix(".md")), _scope(path)
    names = {f"/{unicodedata.normalize('NFC', path)}": BY_PATH, folded: BY_PATH}
    if not note_id.startswith("path:"):
        names[fold(note_id)] = names[fold(note_id)[-SHOWN_ID_CHARS:]] = BY_ID
    parts = folded.split("/")[1 if scope else 0 :]
    names.setdefault(scope + "/".join(parts), BY_PATH)
    for start in range(1, len(parts)):
        names.setdefault(scope + "/".join(parts[start:]), BY_NAME)
    for known, rank in (*((alias, BY_ALIAS) for alias in aliases), (title, BY_TITLE)):
        if (name := fold(known)) and len(name) <= _MOST_NAME_CHARS:
            names.setdefault(scope + name, rank)
    return names


def fold(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())


def _scope(path: str, target: str = "") -> str:
    return f"{path.partition('/')[0]}:" if path.startswith("@") and not target.startswith("@") else ""


def _in_body(text: str, body_start: int) -> Iterator[tuple[int, str, str, str]]:
    end, link_type = -1, PLAIN
    for link in find_links(text, body_start):
        if end < 0 or not _BETWEEN.fullmatch(text, end, min(link.start, end + 10)) or link.start > end + 10:
            start = max(body_start, link.start - _MOST_TYPE_CHARS)
            before = text[start : link.start].rpartition("\n")
            is_whole = before[1] or start == body_start
            ahead = " ".join(before[2].strip(" \t>").split())
            typed = (_TYPED.fullmatch(ahead) if is_whole else None) or _INLINE.search(ahead)
            link_type = _type(typed[1]) if typed else PLAIN
        end = link.end
        yield link.target_start, link.kind, link_type, link.target


def _in_head(text: str) -> Iterator[tuple[int, str, str, str]]:
    head, key = split_head(text), ""
    at = head.start
    while at < head.end:
        after = text.find("\n", at, head.end) + 1 or head.end
        value = at
        if text[at] not in " \t-#":
            colon = text.find(":", at, min(after, at + _MOST_TYPE_CHARS))
            key, value = (_type(text[at:colon]), colon + 1) if colon > 0 else ("", after)
        if key and key not in _TEXT_KEYS:
            wiki = [(match.start(1), "wiki", key, match[1]) for match in _IN_HEAD.finditer(text, value, after)]
            origins = [match.span() for match in _ORIGIN.finditer(text, value, after)] if key == DERIVED_FROM else []
            yield from wiki or (
                (match.start(), "id", key, match[0])
                for match in _BARE.finditer(text, value, after)
                if key in HISTORY and _is_reference(match[0], key)
                if not any(start <= match.start() < end for start, end in origins)
            )
        at = after


def _is_reference(word: str, key: str) -> bool:
    if key == DERIVED_FROM:
        return word.partition("#")[0].endswith(".md") or _ULID.fullmatch(word) is not None
    return word not in {"-", "null", "~"}


def _type(words: str) -> str:
    return "_".join(re.split(r"[\s_-]+", words.strip("\"' ").casefold()))


def without_spans(links: Sequence[NoteLink], spans: Sequence[tuple[int, int]]) -> list[NoteLink]:
    """Return the links outside these ranges of the text."""
    return [link for link in links if not any(start <= link.at < end for start, end in spans)]
