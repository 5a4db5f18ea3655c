"""Choose the notes that every session of a project should know, each as one line: preferences, rules that hold until
further notice, and decisions. Pure functions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from mcp_memory.comparison.comparison import Comparison
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.models import NoteId, NoteRecord
from mcp_memory.recall.excerpts import Excerpt
from mcp_memory.text.dates.ends import find_limit
from mcp_memory.text.language.denials import ADVISES_AGAINST, FORBIDS, denies
from mcp_memory.text.language.sentences import sentences, statement_of, without_reasons
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.language.word_tables import has_cue
from mcp_memory.usage.note_use import NoteUse

PREFERENCE, DECISION = "preference", "decision"
LASTING = frozenset({PREFERENCE, DECISION, "lesson", "workflow", "fact", "note"})
"""The kinds of notes that may last."""

LINE_CHARS = 220
"""The longest line, without reasons. A longer statement is cut to its sentence with the rule."""

FEWEST_WORDS = 3


_has = partial(has_cue, "mcp_memory.recall.moments", "lasting.toml")


class _Rank(IntEnum):
    FOR_A_TIME = 0
    PREFERENCE = 1
    RULE = 2
    DECISION = 3


class LastingStatement(NamedTuple):
    note: NoteRecord
    text: str


def choose_statements(
    notes: Iterable[tuple[NoteRecord, str]], uses: Mapping[NoteId, NoteUse], told: Sequence[str], now: datetime
) -> Iterator[LastingStatement]:
    """Yield the statements of notes and their texts: rules for a time, then preferences and rules, then decisions; each
    the most used first, else in the order of the notes. Preferences and rules of the project and those without a
    project take turns, so that neither crowds out the other. Skip statements that a line of `told` or an earlier
    statement contains."""
    found: list[tuple[_Rank, int, int, LastingStatement]] = []
    for note, text in notes:
        ranked = _line(note, statement_of(text), now)
        if ranked:
            rank, line = ranked
            use = uses.get(note.id, NoteUse())
            found.append((rank, -use.used, -len(use.used_days), LastingStatement(note, line)))
    found.sort(key=lambda one: one[:3])

    def of(*ranks: _Rank) -> list[LastingStatement]:
        return [line for rank, *_, line in found if rank in ranks]

    standing = of(_Rank.PREFERENCE, _Rank.RULE)
    own, general = ([line for line in standing if (line.note.project is None) is wide] for wide in (False, True))
    turns = (line for pair in zip_longest(own, general) for line in pair if line)
    told = [*told]
    for line in (*of(_Rank.FOR_A_TIME), *turns, *of(_Rank.DECISION)):
        if not any(_contains(other, line.text) for other in told):
            told.append(line.text)
            yield line


def told_in(excerpts: Iterable[Excerpt]) -> list[str]:
    """Return the lines of excerpts, without headings and list marks."""
    lines = (line for excerpt in excerpts for line in excerpt.text.splitlines())
    return [line.lstrip("-*+ ") for line in lines if not line.startswith("#")]


def is_rule(text: str) -> bool:
    """Return whether a text states a rule that holds until further notice."""
    return _has("rule", text)


def _line(note: NoteRecord, statement: str, now: datetime) -> tuple[_Rank, str] | None:
    """Return the rank of a note and its line; None for a note that no start shows."""
    statement = without_reasons(statement)
    found = [statement] if len(statement) <= LINE_CHARS else [sentence.text for sentence in sentences(statement)]
    whole = [line for line in found if len(line) <= LINE_CHARS and is_whole(line)]
    if note.kind == PREFERENCE:
        return (_Rank.PREFERENCE, whole[0]) if whole else None
    ends = _ends_later(note, statement, now)
    if note.kind not in LASTING or (_has("moment", statement) and not ends):
        return None
    was_extracted = "voice" in note.meta
    rules = [
        line
        for line in whole
        if is_rule(line) or (not was_extracted and _has("universal", line)) or (ends and denies(line))
    ]
    rank = _Rank.RULE if rules else _Rank.DECISION
    if not rules and note.kind == DECISION:
        rules = whole
    return (_Rank.FOR_A_TIME if ends else rank, rules[0]) if rules else None


def _ends_later(note: NoteRecord, statement: str, now: datetime) -> bool:
    """Return whether a note names the day until which it holds, and that day isn't over."""
    if note.expires_at:
        return not note.has_ended(now)
    limit = find_limit(statement, note.date) if note.date else None
    return limit is not None and limit.day >= now.date()


def _contains(told: str, line: str) -> bool:
    """Return whether a told line says all that another line says. In doubt it doesn't: a repeated line costs little, a
    missing rule much."""
    if told == line:
        return True
    if any(bool(denial.search(told)) != bool(denial.search(line)) for denial in (ADVISES_AGAINST, FORBIDS)):
        return False
    return Comparison(NoteText(told), NoteText(line)).adds_nothing


def is_whole(sentence: str) -> bool:
    """Return whether a sentence makes sense by itself."""
    return len(content_words(sentence)) >= FEWEST_WORDS and not _has("fragment", sentence)
