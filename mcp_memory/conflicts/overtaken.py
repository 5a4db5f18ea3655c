"""Judges how likely a newer note makes an older one of its project untrue, which a person would see though the two have
hardly a word in common: "We ship in September", "The full game comes out in February".

Boosted trees (Friedman 2001) look at how near the two are by the embedding model, nearer than the next older note, and
at what in their words tells a change from a look-alike. `tests/benchmarks/train_overtaken.py` fits `overtaken.json` for
the bundled model; with any other, or none, nothing is judged so: by words alone half of what was named was wrong.
`tests/eval/claims` has the figures.
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

from mcp_memory.conflicts.change_words import REPLACED, WEAK, words_of_change
from mcp_memory.conflicts.detector import Contradiction, NoteText, clipped, find_contradiction, numbers_differ
from mcp_memory.conflicts.sentence import ParsedSentence, parse_statement
from mcp_memory.conflicts.values import MEASURED, common_keys
from mcp_memory.text.language.facts import EXACT, facts
from mcp_memory.text.language.terms import fold

LIKELY_FROM = 0.6
"""Likelihood from which on an older note is perhaps outdated: with authors left out, 9 of 10 notes so marked are right
in vaults that are a third look-alikes; where nothing changes 6 of 151 notes are marked."""
NEAREST_OLDER = 5
"""So many older notes, the nearest, are judged."""
MOST_CHARS = 500
SAID_AGAIN = 0.9
"""Cosine from which on a note with the same values, names and negations says the same again."""
LASTING = ("decision", "fact", "preference", "workflow", "note")
"""Kinds of notes that say what holds; the others say what was, and stay true."""

_KINDS = (*LASTING[:4], "fix", "lesson", "note")
_SIGHTED, _LEAD = 400, 3
_WORD = re.compile(r"[\w@/.:-]*\w")
"""An address, a time or a version is one word."""
_LEADING = re.compile(r"[^:.\n]{1,40}: +")


@dataclass(frozen=True, slots=True)
class _Trees:
    """`embedding`: the fingerprint of the model that closeness was taken from. A tree's rows are its nodes: feature,
    threshold up to which it goes left, left and right node (0 at a leaf), and value."""

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
    table: dict[str, Any] = json.loads((files("mcp_memory.conflicts") / "overtaken.json").read_text("utf-8"))
    return _Trees(table["embedding"], table["start"], table["trees"])


def judges(embedding: str) -> bool:
    """Whether the trees were fitted for the vectors of the model with this fingerprint."""
    return embedding == _trees().embedding


def may_overtake(newer: NoteText) -> bool:
    """Whether a note of this kind and length may make an older one untrue."""
    return newer.kind in _KINDS and len(newer.text) <= MOST_CHARS


def may_be_overtaken(older: NoteText, newer: NoteText) -> bool:
    """Whether the older one says what holds in the same project, and not of another number."""
    if not may_overtake(newer) or older.kind not in LASTING or older.project != newer.project:
        return False
    if len(older.text) > MOST_CHARS:
        return False
    pairs = product(_said(older.text).parsed, _said(newer.text).parsed)
    return not any(numbers_differ(*pair) for pair in pairs)  # `Rover 1` and `Rover 2`


def likelihood(older: NoteText, newer: NoteText, near: float, rest: float) -> float:
    """0 to 1. `near`: the cosine of the two; `rest`: that of the newer and the nearest other older note, else 0."""
    told = facts(older.text)
    if near >= SAID_AGAIN and told == facts(newer.text) and any(fact.kind in EXACT for fact in told):
        return 0.0  # "the field is called `ref`", "the field is named `ref`"
    return 1 / (1 + exp(-_trees().sum(pair_features(older, newer, near, rest))))


def replacement(older: NoteText) -> Contradiction:
    """That it is probably replaced, by the first sentence that it says."""
    said = next((one.text for one in parse_statement(older.text, older.title)), older.title)
    return Contradiction(clipped(said), None, is_likely=True)


def pair_features(older: NoteText, newer: NoteText, near: float, rest: float) -> list[float]:
    """What the trees see of a pair."""
    lead = _LEADING.match(older.text)
    skipped = lead.end() if lead and newer.text.startswith(lead[0]) else 0  # `Garden plan: ` says nothing of the two
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
        bool(values & new_values), bool(values - new_values and new_values - values),
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
    """The share of the first longer words that the others have."""
    lead = [word for word in these if len(word) > _LEAD][:_LEAD]
    return sum(word in others for word in lead) / max(1, len(lead))
