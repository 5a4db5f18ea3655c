"""Splits a note into statements that are clear without context, each with its line. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence

from mcp_memory.curation.claims.subjects import cues
from mcp_memory.models import Passage
from mcp_memory.statements.cues import has_cue
from mcp_memory.text.language.sentences import is_explaining, sentences
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.markdown import logs

MOST_PASSAGES = 8
"""The most passages of a note; a longer note is a document, of which only the title is a statement."""
MOST_CHARS = 300
MOST_WORDS_OF_DOUBT = 4
"""The most content words of a sentence that only doubts the other sentences of its note."""

_REFERS_BACK = re.compile(
    r"(?:It|Its|They|Their|This|That|These|Those|He|His|She|Her|Both|There|Then|The (?:old|new|former|latter|other) one"
    r"|Er|Sie|Es|Dies\w*|Dort|Beide)\b"
)
"""Matches the start of a sentence that needs the sentence before it; English and German."""
_LISTED = re.compile(r"\s*(?:[-*+]|[0-9]{1,9}[.)])\s")


def statements(passages: Sequence[Passage]) -> Iterator[tuple[str, int]]:
    """Yield the statements of a note or log entry with their lines in the file. Later sentences get the title as a
    prefix, unless they contain its words. Reasons, errors and rejected options aren't statements."""
    first = passages[0]
    heading = first.chunk.headings[-1] if first.chunk.headings else ""
    title = logs.title_and_labels([heading])[0] if first.note.is_log else first.note.title
    if len(passages) > MOST_PASSAGES:
        yield title, first.chunk.start_line
        return
    known, is_first = content_words(title), True
    is_below = False  # whether the line is in a list of reasons or of rejected options
    for passage in passages:
        found: list[tuple[str, int]] = []
        for sentence in sentences(passage.chunk.text):
            if found and _REFERS_BACK.match(sentence.text):
                found[-1] = f"{found[-1][0]} {sentence.text}", found[-1][1]
            else:
                found.append((sentence.text, _offset(passage.chunk.text, sentence.text)))
        for text, at in found:
            is_listed = _LISTED.match(passage.chunk.text[passage.chunk.text.rfind("\n", 0, at) + 1 :]) is not None
            is_head = text.endswith(":")  # it introduces the lines below
            is_below = is_listed and is_below
            if is_below or is_head or is_explaining(text):
                is_below = is_below or (is_head and is_explaining(text) and not is_listed)
                continue
            is_alone = is_first and not is_listed
            named = text if is_alone or known <= content_words(text) else f"{title}: {text}"
            if len(named) > MOST_CHARS:
                named = f"{named[: MOST_CHARS - 2].rsplit(' ', 1)[0]} …"
            yield named, passage.chunk.start_line + passage.chunk.text.count("\n", 0, at)
            is_first = False


def without_doubts(title: str, stated: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Yield the statements without guesses and without what an assistant said in a copied conversation. Nothing is
    left of a note that is a guess as a whole, by its title or by words such as `Just a guess.`"""
    kept = list[tuple[str, int]]()
    for text, line in stated:
        said = text.removeprefix(f"{title}: ")
        if is_doubted(said):
            if len(content_words(said)) <= MOST_WORDS_OF_DOUBT:
                return
        elif not cues()["replayed"].match(said):
            kept.append((text, line))
    if not is_doubted(title):
        yield from kept


def is_doubted(text: str) -> bool:
    """Return whether a text says that it is only a guess."""
    return bool(cues()["doubted"].search(text)) or has_cue(text.lower().replace("'", "’"), "hedge")


def _offset(text: str, sentence: str) -> int:
    """Return the offset of a sentence in which line breaks have become spaces."""
    words = [re.escape(word) for word in sentence.split()[:4]]
    found = re.search(r"\s+".join(words), text)
    return found.start() if found else 0
