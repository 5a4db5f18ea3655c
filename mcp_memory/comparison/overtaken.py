"""Estimates how likely a newer note makes an older note of its project untrue when the two share hardly a word. A
person sees at once that they conflict: "We ship in September", "The full game comes out in February".

Boosted trees (Friedman 2001) compare the embedding distance of the two notes with the distance to the next older note,
and use wording that separates a change from a look-alike. `tests/benchmarks/train_overtaken.py` fits `overtaken.json`
to the bundled model. With another model, or none, no note is judged: word features are wrong half of the time without
vectors. `tests/eval/claims` has the figures.
"""

import json
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from importlib.resources import files
from itertools import product
from math import exp
from typing import Any

from mcp_memory.comparison.change_words import REPLACED, WEAK, words_of_change
from mcp_memory.comparison.other_value import Contradiction, NoteText, clipped, find_contradiction
from mcp_memory.comparison.sentence import ParsedSentence, numbers_differ, parse_statement
from mcp_memory.comparison.values import MEASURED, common_keys
from mcp_memory.text.language.facts import EXACT, facts
from mcp_memory.text.language.terms import fold
from mcp_memory.text.language.word_overlap import are_two

LIKELY_FROM = 0.6
"""The likelihood from which an older note is marked as perhaps outdated. Chosen in `tests/eval/claims`, with authors
held out."""
NEAREST_OLDER = 5
"""The number of nearest older notes that are judged."""
MOST_CHARS = 500
SAID_AGAIN = 0.9
"""The cosine from which a note with the same values, names and negations repeats another note."""
LASTING = ("decision", "fact", "preference", "workflow", "note")
"""Kinds of notes that describe the present state; the other kinds describe the past and stay true."""

_KINDS = (*LASTING[:4], "fix", "lesson", "note")
_SIGHTED, _LEAD = 400, 3
_WORD = re.compile(r"[\w@/.:-]*\w")
"""A word; an address, a time or a version is a single word."""
_LEADING = re.compile(r"[^:.\n]{1,40}: +")


@dataclass(frozen=True, slots=True)
class _Trees:
    """The fitted trees. `embedding` is the fingerprint of the model that computed the distances. The rows of a tree are
    its nodes: feature, threshold up to which to go left, left node, right node (0 at a leaf), and value."""

    embedding: str
    start: float
    trees: Sequence[Sequence[Sequence[float]]]

    def sum(self, features: Sequence[float]) -> float:
        total = self.start
        for nodes in self.trees:
            at = 0
            while left := nodes[at][2]:
                at = int(left if features[int(nodes[at][0])] <= nodes[at][1] else nodes[at][3])
            total += nodes[at][4]
        return total


@cache
def _trees() -> _Trees:
    table: dict[str, Any] = json.loads((files("mcp_memory.comparison") / "overtaken.json").read_text("utf-8"))
    return _Trees(table["embedding"], table["start"], table["trees"])


def judges(embedding: str) -> bool:
    """Return whether the trees were fitted to the model with this fingerprint."""
    return embedding == _trees().embedding


def may_overtake(newer: NoteText) -> bool:
    """Return whether the kind and length of a note allow it to make an older note untrue."""
    return newer.kind in _KINDS and len(newer.text) <= MOST_CHARS


def may_be_overtaken(older: NoteText, newer: NoteText) -> bool:
    """Return whether the older note describes the present state of the same project, and doesn't concern a different
    number."""
    if not may_overtake(newer) or older.kind not in LASTING or older.project != newer.project:
        return False
    if len(older.text) > MOST_CHARS:
        return False
    pairs = product(_said(older.text).parsed, _said(newer.text).parsed)
    return not any(numbers_differ(*pair) for pair in pairs)  # `Rover 1` and `Rover 2`


def likelihood(older: NoteText, newer: NoteText, near: float, rest: float) -> float:
    """Return the likelihood, 0 to 1. `near` is the cosine of the two notes; `rest` is the cosine of the newer note and
    the nearest other older note, or 0."""
    told = facts(older.text)
    if near >= SAID_AGAIN and told == facts(newer.text) and any(fact.kind in EXACT for fact in told):
        return 0.0  # "the field is called `ref`", "the field is named `ref`"
    return 1 / (1 + exp(-_trees().sum(pair_features(older, newer, near, rest))))


def replacement(older: NoteText) -> Contradiction:
    """Return a likely contradiction that quotes the first sentence of the older note."""
    said = next((one.text for one in parse_statement(older.text, older.title)), older.title)
    return Contradiction(clipped(said), None, is_likely=True)


def pair_features(older: NoteText, newer: NoteText, near: float, rest: float) -> list[float]:
    """Compute the features of a pair for the trees."""
    # A lead such as `Garden plan: ` does not help to compare the two.
    lead = _LEADING.match(older.text)
    skipped = lead.end() if lead and newer.text.startswith(lead[0]) else 0
    before, after = _said(older.text[skipped:]), _said(newer.text[skipped:])
    keys, news = _keys(before.parsed), _keys(after.parsed)
    shared = len(common_keys(keys, news))
    values, new_values = _values(before.parsed), _values(after.parsed)
    signs = words_of_change(newer.text) - {"again"}
    found = find_contradiction(NoteText(older.text, kind=older.kind), NoteText(newer.text, kind=newer.kind))
    matcher = SequenceMatcher(None, before.words, after.words, autojunk=False)
    changed = [
        all(map(_has_digit, [*before.words[i:j], *after.words[k:m]]))
        for tag, i, j, k, m in matcher.get_opcodes() if tag == "replace"
    ]  # fmt: skip
    numbers, new_numbers = set(filter(_has_digit, before.words)), set(filter(_has_digit, after.words))
    return [
        near, near - rest, older.kind == newer.kind,
        *(older.kind == kind for kind in _KINDS), *(newer.kind == kind for kind in _KINDS),
        len(after.parsed), min(len(older.text), _SIGHTED), min(len(newer.text), _SIGHTED),
        shared / max(1, len(keys)), shared / max(1, len(news)), min(shared, 6),
        found is not None, bool(signs - WEAK), bool(signs), any(one.rejections for one in after.parsed),
        REPLACED.search(newer.text) is not None,
        bool(values & new_values), are_two(values, new_values),
        len(numbers & new_numbers), len(numbers - new_numbers), len(new_numbers - numbers),
        matcher.ratio(), sum(changed), len(changed) - sum(changed),
        _lead_share(before.words, after.words), _lead_share(after.words, before.words),
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Said:
    parsed: Sequence[ParsedSentence]
    words: Sequence[str]


@lru_cache(maxsize=2048)
def _said(text: str) -> _Said:
    return _Said(parse_statement(text, ""), [fold(word) for word in _WORD.findall(text.lower())])


def _keys(parsed: Sequence[ParsedSentence]) -> frozenset[str]:
    return frozenset[str]().union(*(one.keys for one in parsed))


def _values(parsed: Sequence[ParsedSentence]) -> Set[str]:
    return {token.key for one in parsed for token in one.tokens if token.type in MEASURED}


def _has_digit(word: str) -> bool:
    return any(character.isdigit() for character in word)


def _lead_share(these: Sequence[str], others: Sequence[str]) -> float:
    """Return the share of the first longer words that also occur in `others`."""
    lead = [word for word in these if len(word) > _LEAD][:_LEAD]
    return sum(word in others for word in lead) / max(1, len(lead))
