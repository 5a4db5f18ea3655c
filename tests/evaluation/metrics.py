"""Scores a list of hits as read from the top within a token budget, with bootstrap intervals. Pure.

Evidence within N tokens is the share of gold lines seen if the hits are read in order and line by line until N tokens
(4 characters each) are spent. A line costs again if an earlier hit had it, so repeats are not free. Blank gold lines
don't count.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mcp_memory.text.tokens import CHARS_PER_TOKEN
from tests.evaluation.sets import EvalQuestion, LineLengths

BUDGETS = (500, 1000, 2000)
NOTES_AT, LINES_AT, RANKED = (1, 5, 10), (5, 10), 10

Line = tuple[str, int]
"""Path and number of a line."""


@dataclass(frozen=True, slots=True)
class FoundEvidence:
    """A hit: its position, and the text that it shows."""

    path: str
    start_line: int
    end_line: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class RetrievalScore:
    """`confidence`: 0 to 1, that the question can be answered at all; `signs`: the features that it comes from."""

    question: EvalQuestion
    hits: Sequence[FoundEvidence]
    confidence: float
    latency_ms: float
    signs: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class RecallScore:
    """The lines that `memory_recall` shows, and the tokens of its whole text, by budget."""

    question: EvalQuestion
    shown: Mapping[int, set[Line]]
    tokens: Mapping[int, int]


def score(answer: RetrievalScore, lengths: LineLengths, budgets: Iterable[int] = BUDGETS) -> dict[str, float]:
    """Returns all metrics of an answerable question."""
    question, hits = answer.question, answer.hits
    gold = gold_lines(question, lengths)
    notes = {path for path, _ in gold}
    ranked = list(dict.fromkeys(hit.path for hit in hits))
    scores = {f"note_recall@{k}": len(notes & set(ranked[:k])) / len(notes) for k in NOTES_AT}
    for k in LINES_AT:
        covered = {line for hit in hits[:k] for line in _covered(hit, gold)}
        scores[f"line_recall@{k}"] = len(covered) / len(gold)
    scores |= _ranks(question, hits, gold)
    seen = {budget: _seen(hits, gold, budget, lengths) for budget in sorted({*budgets, BUDGETS[-1]})}
    scores |= {evidence_at(budget): len(seen[budget]) / len(gold) for budget in budgets}
    scores[f"all_evidence@{BUDGETS[-1]}tok"] = float(seen[BUDGETS[-1]] == gold)
    return scores


def recall_score(recall: RecallScore, lengths: LineLengths) -> dict[str, float]:
    """Returns the evidence within each budget, which the whole answer uses up, with its frame and headers."""
    gold = gold_lines(recall.question, lengths)
    return {evidence_at(budget): len(gold & shown) / len(gold) for budget, shown in recall.shown.items()}


def evidence_at(budget: int) -> str:
    return f"evidence@{budget}tok"


def gold_lines(question: EvalQuestion, lengths: LineLengths) -> set[Line]:
    """Returns the first line of each span, and those of the others that aren't blank."""
    found: set[Line] = set()
    for span in question.gold:
        known = lengths(span.path)
        for number in range(span.start, span.end + 1):
            if number == span.start or known is None or number > len(known) or known[number - 1] > 1:
                found.add((span.path, number))
    return found


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Returns the chance that a positive has a higher score than a negative (ties count half); None if there is
    no positive or no negative. After Mann and Whitney (1947)."""
    if not positive or not negative:
        return None
    ordered = np.sort(negative)
    below, up_to = (np.searchsorted(ordered, positive, side) for side in ("left", "right"))
    return float((below + up_to).sum()) / 2 / (len(positive) * len(negative))


def share_below(values: Sequence[float], bar: float) -> float:
    """Takes at least one value."""
    return sum(value < bar for value in values) / len(values)


def _covered(hit: FoundEvidence, gold: set[Line]) -> set[Line]:
    return {line for line in gold if line[0] == hit.path and hit.start_line <= line[1] <= hit.end_line}


def _ranks(question: EvalQuestion, hits: Sequence[FoundEvidence], gold: set[Line]) -> dict[str, float]:
    """A hit's gain is the number of gold spans that it is the first to touch."""
    seen: set[int] = set()
    first, gained = 0, 0.0
    for rank, hit in enumerate(hits[:RANKED], 1):
        covered = _covered(hit, gold)
        new = {
            at
            for at, span in enumerate(question.gold)
            if any((span.path, number) in covered for number in range(span.start, span.end + 1))
        } - seen
        if new:
            seen |= new
            first = first or rank
            gained += len(new) / math.log2(rank + 1)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(question.gold), RANKED) + 1))
    return {f"mrr@{RANKED}": 1 / first if first else 0.0, f"ndcg@{RANKED}": min(gained / ideal, 1.0)}


def _seen(hits: Sequence[FoundEvidence], gold: set[Line], budget: int, lengths: LineLengths) -> set[Line]:
    left, seen = float(budget * CHARS_PER_TOKEN), set[Line]()
    for hit in hits:
        for number, paid in _paid(hit, lengths):
            left -= paid
            if left < 0:
                return seen
            if (hit.path, number) in gold:
                seen.add((hit.path, number))
    return seen


def _paid(hit: FoundEvidence, lengths: LineLengths) -> list[tuple[int, float]]:
    """Returns each line of a hit and the characters spent on it: its share of what the hit shows."""
    known = lengths(hit.path)
    if known is None:
        count = hit.end_line - hit.start_line + 1
        return [(number, len(hit.text) / count) for number in range(hit.start_line, hit.end_line + 1)]
    numbers = range(hit.start_line, min(hit.end_line, len(known)) + 1)
    scale = len(hit.text) / max(1, sum(known[number - 1] for number in numbers))
    return [(number, known[number - 1] * scale) for number in numbers]


ROUNDS = 2000
SURE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and the interval that holds it with a probability of `SURE`."""

    mean: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


def interval(values: Sequence[float]) -> Interval:
    """Takes at least one value, one for each question."""
    return ratio_interval([(value, 1) for value in values])


def ratio_interval(parts: Sequence[tuple[float, float]]) -> Interval:
    """Takes what counts and of how much, for each question; returns the ratio of their sums."""
    drawn = np.array(parts, dtype=np.float64)
    picks = np.random.default_rng(1).integers(0, len(drawn), (ROUNDS, len(drawn)))
    counted, of = drawn[picks].sum(axis=1).T
    low, high = np.quantile(counted / of, [(1 - SURE) / 2, (1 + SURE) / 2])
    return Interval(float(drawn[:, 0].sum() / drawn[:, 1].sum()), float(low), float(high))


def paired(before: Sequence[float], after: Sequence[float]) -> Interval:
    """Returns the interval of the difference between two figures of the same questions, in the same order."""
    return interval([new - old for old, new in zip(before, after, strict=True)])
