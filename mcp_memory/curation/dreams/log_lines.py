"""Judges the lines of daily logs: whether they are worth remembering, as which kind, or ask to forget something."""

import re
from collections.abc import Iterator, Sequence
from math import log1p
from typing import NamedTuple

from mcp_memory.statements.classifier import SentenceModel, States, each_likelihood
from mcp_memory.statements.cues import cue_features
from mcp_memory.text.conversation.off_record import says_off_record
from mcp_memory.text.conversation.own_words import lowered
from mcp_memory.text.language.sentences import sentences

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
    kept: float
    kind: str
    forgets: bool


def lines_in(text: str) -> list[str]:
    """Return the entries of lists and the sentences of paragraphs, without times and emphasis."""
    return [one.text.replace("**", "") for one in sentences(_STAMP.sub("- ", text))]


def judge(lines: Sequence[str], model: SentenceModel | None) -> Iterator[LogLine]:
    """Yield the lines with the classifier's judgment."""
    states = model.states(lines) if model and lines else None
    for at, line in enumerate(lines):
        kept, forgets, *kinds = _likelihoods(line, None if states is None else states[at])
        kind = KINDS[kinds.index(max(kinds))] if max(kinds) >= OF_KIND else "fact"
        yield LogLine(line, kept, kind, forgets >= FORGETS or says_off_record(_QUOTES.sub(". ", line)))


def log_features(text: str) -> list[float]:
    """Compute the classifier's features of a line."""
    count = len(text.split())
    return [*cue_features(lowered(text), text), log1p(count) / 3, float(count < 4), float(count > 30)]


def _likelihoods(text: str, states: States | None) -> list[float]:
    view = lowered(text)
    if states is None:
        return each_likelihood("log_cues", log_features(text), view=view)
    return each_likelihood("log", log_features(text), states, view=view)
