"""Judges the lines of daily logs: whether they are worth remembering, as which kind, or ask to forget something."""

import re
from collections.abc import Iterator, Sequence
from math import log1p
from typing import NamedTuple

from mcp_memory.comparison.values import (
    FRAME,
    REPORTED,
    STATES,
    TENTATIVE,
    rejections,
)
from mcp_memory.statements.classifier import SentenceModel, each_likelihood
from mcp_memory.statements.cues import FOLLOWS, cue_features
from mcp_memory.statements.finder import PRONOUN
from mcp_memory.text.conversation.off_record import says_off_record
from mcp_memory.text.conversation.own_words import lowered
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.word_tables import has_cue
from mcp_memory.text.markdown.blocks import scan
from mcp_memory.text.markdown.log_items import itemized

KINDS = ("preference", "decision", "lesson")
LIKELY, OF_KIND, FORGETS = 0.85, 0.5, 0.7
"""The likelihoods from which a line is worth remembering, is of a kind, and asks to forget."""
MOST_CHARS = 300
"""The most characters of a statement; a longer statement doesn't fit a line of MEMORY.md."""
_LEANS = re.compile(rf"(?:{PRONOUN.pattern})|(?:{FOLLOWS.pattern})")
_FORMS = (
    *(FRAME, STATES, TENTATIVE),
    re.compile(r"^\w+(?:ed|ée?s?|iert|[ai]d[oa]s?)\b[^,;:.]*\W*$"),
    re.compile(r"\b(?:ge\w+(?:t|en)|\w+iert|\w{3,}ed|\w+ée?s?|\w+[ai]d[oa]s?)\W*$"),
)
"""Match a wish, an act or a state; the last two a single act, and a participle at the end."""
_QUOTES = re.compile(r"\s*:?\s*[“”„«»\"]\s*")
"""Matches the marks around the person's own words, which an agent's log quotes."""


class LogLine(NamedTuple):
    """A line. `kept`: how likely it is worth remembering. `kind`: the kind of note that it would be. `forgets`: it
    reports that the user wants something forgotten."""

    text: str
    kind: str
    kept: float
    forgets: bool


def lines_in(text: str) -> list[str]:
    """Return the entries of lists and the sentences of paragraphs, without times and emphasis. A sentence that takes up
    the sentence before it, such as `so it …`, is joined with it."""
    found = list[str]()
    for block in scan(plain := itemized(text)):
        for line, place in sentences(plain[block.start : block.end].replace("**", "")):
            leans = place and block.kind == "paragraph" and _LEANS.match(lowered(line))
            before = f"{found.pop()} " if leans and len(found[-1]) + len(line) < MOST_CHARS else ""
            found.append(before + line)
    return found


def judge(lines: Sequence[str], model: SentenceModel | None) -> Iterator[LogLine]:
    """Yield the lines with the classifier's judgment."""
    states = model.states(lines) if model and lines else None
    for at, line in enumerate(lines):
        way, more = ("log_cues", ()) if states is None else ("log", states[at : at + 1])
        kept, forgets, *kinds = each_likelihood(way, log_features(line), *more, view=lowered(line))
        kind = KINDS[kinds.index(max(kinds))] if max(kinds) >= OF_KIND else "fact"
        is_asked = forgets >= FORGETS or has_cue("mcp_memory.curation.dreams", "log_lines.toml", "forgets", line)
        yield LogLine(
            line, kind, max(kept, *kinds), is_asked or says_off_record(REPORTED.sub(". ", _QUOTES.sub(". ", line)))
        )


def log_features(text: str) -> list[float]:
    """Compute the classifier's features of a line, such as whether it is a wish, or reports an act or a state."""
    view, count = lowered(text), len(text.split())
    forms = [pattern.search(text) is not None for pattern in _FORMS]
    lengths = (log1p(count) / 3, float(count < 4), float(count > 30), text.count(",") / 3)
    return [*cue_features(view, text), *lengths, *map(float, forms), float(any(rejections(text)))]
