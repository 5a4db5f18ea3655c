"""Splits a note into statements that are clear without context, each with its line. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence

from mcp_memory.curation.claims.claim import Evidence
from mcp_memory.curation.claims.subjects import shows
from mcp_memory.models import NoteRecord, Passage
from mcp_memory.statements.cues import VETO, has_cue
from mcp_memory.text.language.sentences import is_explaining, sentences
from mcp_memory.text.language.terms import content_words

MOST_PASSAGES = 8
"""The most passages of a note; a longer note is a document, of which only the title is a statement."""
MOST_CHARS = 600
"""A longer sentence isn't a statement: it would have to be cut."""
MOST_WORDS_OF_DOUBT = 4
"""The most content words of a sentence that only doubts the other sentences of its note."""

_REFERS_BACK = re.compile(
    r"(?:It|Its|They|Their|This|That|These|Those|He|His|She|Her|Both|There|Then|The (?:old|new|former|latter|other) one"
    r"|Er|Sie|Es|Dies\w*|Dort|Beide)\b"
)
"""Matches the start of a sentence that needs the sentence before it; English and German."""
_LISTED = re.compile(r"\s*(?:[-*+]|[0-9]{1,9}[.)])\s")


def statements(note: NoteRecord, passages: Sequence[Passage]) -> Iterator[Evidence]:
    """Yield the statements of a note or log entry with their lines in the file. Later sentences get the title as their
    subject, unless they contain its words. Reasons, errors and rejected options aren't statements."""
    if len(passages) > MOST_PASSAGES:
        yield Evidence(note, note.title, passages[0].chunk.start_line)
        return
    known, is_first = content_words(note.title), True
    is_below = False  # whether the line is in a list of reasons or of rejected options
    for passage in passages:
        body, found = passage.chunk.text, list[str]()
        for sentence in sentences(body):
            is_more = bool(found) and _REFERS_BACK.match(sentence.text)
            found.append(f"{found.pop()} {sentence.text}" if is_more else sentence.text)
        for text in found:
            at = _offset(body, text)
            is_listed = _LISTED.match(body[body.rfind("\n", 0, at) + 1 :]) is not None
            is_head = text.endswith(":")  # it introduces the lines below
            is_below = is_listed and is_below
            if is_below or is_head or is_explaining(text):
                is_below = is_below or (is_head and is_explaining(text) and not is_listed)
                continue
            if len(text) > MOST_CHARS:
                continue
            is_clear = (is_first and not is_listed) or known <= content_words(text)
            line = passage.chunk.start_line + body.count("\n", 0, at)
            yield Evidence(note, text, line, "" if is_clear else note.title)
            is_first = False


def without_doubts(title: str, stated: Iterable[Evidence]) -> list[Evidence]:
    """Return the statements without guesses and without what an assistant said in a copied conversation. Nothing is
    left of a note that is a guess as a whole, by its title or by words such as `Just a guess.`"""
    kept = list[Evidence]()
    for one in stated:
        if is_doubted(one.said):
            if len(content_words(one.said)) <= MOST_WORDS_OF_DOUBT:
                return []
        elif not shows("replayed", one.said):
            kept.append(one)
    return [] if is_doubted(title) else kept


def is_doubted(text: str) -> bool:
    """Return whether a text says that it is only a guess, hearsay or a joke."""
    view = text.lower().replace("'", "’")
    return shows("doubted", text) or has_cue(view, "hedge") or has_cue(view, "joke", part=VETO)


def _offset(text: str, sentence: str) -> int:
    """Return the offset of a sentence in which line breaks have become spaces."""
    first = sentence.split()[:4]
    at = text.find(" ".join(first))
    if at < 0:
        found = re.search(r"\s+".join(map(re.escape, first)), text)
        at = found.start() if found else 0
    return at
