"""Chooses what the page of a topic says of each note: whole sentences about what holds, no history and no question."""

from collections.abc import Iterable

from mcp_memory.comparison.values import EVENT, LIMITS, PAST, words_of_change
from mcp_memory.models import NoteRecord
from mcp_memory.recall.moments.lasting_statements import is_rule
from mcp_memory.summarizers.base import StatementRank, SummarySource
from mcp_memory.text.language.denials import denies
from mcp_memory.text.language.facts import facts
from mcp_memory.text.language.sentences import is_question, is_secondary, sentences, statement_of
from mcp_memory.text.language.terms import content_words, coverage
from mcp_memory.text.markdown.inline_text import is_harmless

SHORT_CHARS, MOST_CHARS, LONGEST = 160, 200, 400
"""The length up to which a note's sentences are all quoted, up to which further rules join the first, and the length of
the longest sentence that is quoted."""
MOST_SENTENCES = 8
MOST_LEAD_WORDS = 12
"""The most words of a note's title that is placed before its sentences."""
NAMED = 0.6
"""The share of a title's words from which sentences need no title before them."""
FEWEST_WORDS = 2
"""The fewest content words of a sentence that is quoted alone."""
_RULING = frozenset({"decision", "preference", "workflow", "lesson"})
"""The kinds of notes that say what is to be done."""


def source_of(note: NoteRecord, text: str, day: str, *, is_overtaken: bool) -> SummarySource:
    said, title = _statement_in(note.kind, text), note.title.rstrip(".")
    is_plain = is_harmless(title) and [one.text for one in sentences(title)] == [title]
    is_lead = is_plain and len(title.split()) <= MOST_LEAD_WORDS and not title.endswith("…")
    if said and is_lead and coverage(content_words(title), content_words(said)) < NAMED:
        said = f"{title}{'' if is_question(title) else ':'} {said}"
    is_fact = note.kind == "fact" or _rules(said) or words_of_change(said)
    other = StatementRank.FACT if is_fact else StatementRank.OTHER
    rank = StatementRank.RULE if note.kind in _RULING else other
    return SummarySource(note.title, text, note.kind, note.tags, is_overtaken, said, rank, day=day)


def _statement_in(kind: str, text: str) -> str:
    """Return the sentences of a note that hold: all of a short note, else the first that rules or has a value, and
    further rules. A lesson's last sentence draws the conclusion. History remains only at the end, where it may turn
    down a proposal."""
    found = [one.text for one in sentences(text)[:MOST_SENTENCES]]
    found = [one for one in found if not is_question(one) and len(one) <= LONGEST]
    now = [one for one in found if one is found[-1] or not PAST.search(one)]
    if kind == "lesson":
        now = [one for one in now if not EVENT.search(one)] or now
    elif sum(map(len, now)) <= SHORT_CHARS:
        whole = statement_of(text)
        is_plain = now == found and bool(found) and whole.startswith(found[0]) and len(whole) <= SHORT_CHARS
        return whole if is_plain else _joined(now)
    telling = [
        one
        for one in now
        if not one.endswith(":") and not is_secondary(one) and len(content_words(one)) >= FEWEST_WORDS
    ] or now
    if kind == "lesson":
        ruling = list(filter(is_rule, telling))
        chosen = (ruling or telling)[-1:]
    else:
        ruling = [one for one in telling if _rules(one) or _has_value(one)]
        chosen = (ruling or telling)[:1]
    for one in ruling:
        if one not in chosen and sum(map(len, chosen)) + len(one) <= MOST_CHARS:
            chosen.append(one)
    return _joined(one for one in telling if one in chosen)


def _has_value(sentence: str) -> bool:
    return any(fact.kind not in {"name", "negation"} for fact in facts(sentence))


def _joined(found: Iterable[str]) -> str:
    """Join sentences and entries of lists."""
    return " ".join(one if one.endswith((".", "!", "?", ":", "…")) else f"{one}." for one in found)


def _rules(text: str) -> bool:
    return is_rule(text) or denies(text) or LIMITS.search(text) is not None
