"""Judges the lines of daily logs: whether they are worth remembering, as which kind, or ask to forget something."""

import re
from collections.abc import Iterator, Sequence
from math import log1p
from typing import NamedTuple

from mcp_memory.statements.classifier import SentenceModel, each_likelihood
from mcp_memory.statements.cues import cue_features
from mcp_memory.text.conversation.off_record import says_off_record
from mcp_memory.text.conversation.own_words import lowered
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.word_tables import has_cue

KINDS = ("preference", "decision", "lesson")
LIKELY, OF_KIND, FORGETS = 0.6, 0.5, 0.7
"""The likelihoods from which a line is worth remembering, is of a kind, and asks to forget."""
_STAMP = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?\[?\d{1,2}:\d\d(?::\d\d)?\]?[ \t]+(?:[-–—][ \t]+)?(?=\S)", re.MULTILINE)
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
    """Return the entries of lists and the sentences of paragraphs, without times and emphasis."""
    return [one.text.replace("**", "") for one in sentences(_STAMP.sub("- ", text))]


def judge(lines: Sequence[str], model: SentenceModel | None) -> Iterator[LogLine]:
    """Yield the lines with the classifier's judgment."""
    states = model.states(lines) if model and lines else None
    for at, line in enumerate(lines):
        way, more = ("log_cues", ()) if states is None else ("log", states[at : at + 1])
        kept, forgets, *kinds = each_likelihood(way, log_features(line), *more, view=lowered(line))
        kind = KINDS[kinds.index(max(kinds))] if max(kinds) >= OF_KIND else "fact"
        is_asked = forgets >= FORGETS or has_cue("mcp_memory.curation.dreams", "log_lines.toml", "forgets", line)
        yield LogLine(line, kind, kept, is_asked or says_off_record(_QUOTES.sub(". ", line)))


def log_features(text: str) -> list[float]:
    """Compute the classifier's features of a line."""
    count = len(text.split())
    return [*cue_features(lowered(text), text), log1p(count) / 3, float(count < 4), float(count > 30)]
