"""Turn retrieved rows and their passages into an ordered list without repeats. Pure functions on values."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntEnum
from math import inf
from typing import Any, NamedTuple

from mcp_memory.models import Hit, NotePath, NoteRecord, NoteState, Passage
from mcp_memory.search.boosts import BoostWeights, ParsedQuestion, boosts
from mcp_memory.search.confidence import ConfidenceFeatures
from mcp_memory.search.fusion import DENSE, FusionWeights, RetrieverRows
from mcp_memory.text.language.identifiers import is_word_in, words_and_parts
from mcp_memory.text.markdown.logs import is_log_path
from mcp_memory.text.tokens import CHARS_PER_TOKEN, truncate
from mcp_memory.vault.draft import past
from mcp_memory.vault.marks.set_aside import original_of
from mcp_memory.vault.note_file import is_memory, is_whole
from mcp_memory.vault.ownership import author_of
from mcp_memory.vault.succession.entry_marks import note_of

FIRST_READ = 2
"""The multiple of the wanted passages that is read at first."""


ORDERS = frozenset({"decision", "preference", "commitment"})


class SourceRank(IntEnum):
    """The sources of a note's words, the weightiest first."""

    STANDING = 0
    """Standing orders, decisions, preferences and promises of the person."""
    OWN = 1
    LOG = 2
    CAPTURED = 3
    IMPORTED = 4
    SOURCE = 5
    """Notes of a read-only source."""


def rank_of(note: NoteRecord) -> SourceRank:
    """Return the rank of a note by state, path, id and kind."""
    if note.state is NoteState.TRANSCRIPT:
        return SourceRank.CAPTURED
    if note.is_foreign:
        return SourceRank.SOURCE if note.path.startswith("@") else SourceRank.IMPORTED
    if note.is_log:
        return SourceRank.LOG
    is_order = note.always_load or note.kind in ORDERS or is_memory(note.path)
    return SourceRank.STANDING if is_order else SourceRank.OWN


@dataclass(frozen=True, slots=True)
class WeightedRow:
    """A passage with its score: the retrievers' score (`fused`) plus the boosts."""

    passage: Passage
    score: float
    fused: float
    boosts: Mapping[str, float]
    copy: NotePath | None = None
    """A conflict copy of its file that has the same words."""


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A passage with its final score, 0 to 1, comparable between questions."""

    passage: Passage
    score: float
    explain: Mapping[str, Any] | None = None
    relevance: float = 1.0
    """The probability that it helps with a prompt; 1 if it wasn't computed."""


@dataclass(frozen=True)
class RankedList:
    """Passages, best first, no text twice. `confidence`: the probability that memory holds the answer."""

    passages: tuple[RankedChunk, ...]
    confidence: float
    signs: ConfidenceFeatures
    degraded: str | None = None
    stale: tuple[str, ...] = ()
    """A remark on each file that has changed since it was indexed. File names in it are untrusted data."""


def weigh(
    fused: Mapping[int, float], passages: Mapping[int, Passage], question: ParsedQuestion, weights: BoostWeights
) -> list[WeightedRow]:
    """Return the passages, best first. Equals are ordered by source, the weightier first, then by age, the newer first,
    then by path, so that the order never depends on when something was indexed."""
    weighed: list[WeightedRow] = []
    for chunk, passage in passages.items():
        added = boosts(question, passage, weights)
        weighed.append(WeightedRow(passage, fused[chunk] + sum(added.values()), fused[chunk], added))
    return sorted(weighed, key=lambda row: _order(row, question.asked_at))


def best_of(
    scores: Mapping[int, float],
    limit: int,
    *,
    read: Callable[[Collection[int]], Mapping[int, Passage]],
    weighed: Callable[[Mapping[int, Passage]], Iterable[WeightedRow]],
    most: float,
    passages_of: Callable[[NotePath], Sequence[Passage]],
) -> tuple[list[WeightedRow], bool]:
    """Return the `limit` best of the chunks with these fused scores, a note's statement in place of its quotation, and
    whether all chunks that were read still existed.

    To save reading, the best few chunks are read first. Then only chunks are read that a boost of `most` could still
    bring among the best, or all of them if repeats took places."""
    passages: dict[int, Passage] = {}
    best: list[WeightedRow] = []
    bar = min(sorted(scores.values())[-FIRST_READ * limit :], default=0.0)
    while wanted := [chunk for chunk, score in scores.items() if score >= bar and chunk not in passages]:
        found = read(wanted)
        passages.update(found)
        best = without_repeats(weighed(passages), limit)
        if len(found) < len(wanted):
            return best, False
        bar = best[-1].score - most if len(best) == limit else -inf
    return _with_statements(best, passages_of), True


def without_repeats(weighed: Iterable[WeightedRow], limit: int) -> list[WeightedRow]:
    """Return the first `limit` passages, of those with the same words only the best."""
    best: dict[str, WeightedRow] = {}
    for row in weighed:
        words = " ".join(row.passage.chunk.text.split())
        best[words] = _kept(best[words], row) if words in best else row
        if len(best) >= limit:
            break
    return list(best.values())


def _with_statements(rows: Iterable[WeightedRow], read: Callable[[NotePath], Sequence[Passage]]) -> list[WeightedRow]:
    """Return the rows with a note's statement in place of its quotation, each passage once. A note made from a session
    quotes the person's words, which may be about something else as well."""
    found: dict[int, WeightedRow] = {}
    for row in rows:
        passage, note = row.passage, row.passage.note
        if passage.ordinal and passage.chunk.text.startswith(">") and "voice" in note.meta:
            passage = next(iter(read(note.path)), passage)
        found.setdefault(passage.chunk_id, replace(row, passage=passage))
    return list(found.values())


def _kept(first: WeightedRow, again: WeightedRow) -> WeightedRow:
    """Return the first of two passages with the same words, but a file rather than its conflict copy."""
    one, other = first.passage.note.path, again.passage.note.path
    if original_of(other) == one:
        return replace(first, copy=other)
    if original_of(one) == other:
        return replace(again, score=first.score, copy=one)
    return first


def scored(best: Sequence[WeightedRow], confidence: float) -> list[float]:
    """Return each passage's score, 0 to 1: the confidence for the first one, and proportionally less for the others. So
    scores are comparable between questions."""
    top = best[0].score if best else 0.0
    return [round(confidence * max(row.score, 0.0) / top, 4) if top > 0 else 0.0 for row in best]


class _RetrieverPlace(NamedTuple):
    """A chunk's place in one retriever's rows: its rank from 1, its score, and its share of the fused score."""

    rank: int
    score: float
    share: float


def explained(
    best: Iterable[WeightedRow],
    retrieved: RetrieverRows,
    weights: FusionWeights,
    words: Iterable[str],
    meant: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Return the reasons for each passage, as JSON. For each retriever: the rank (from 1), the raw score, and the share
    of the final score. Also the boosts, and the question's words in the passage or in the headings above. Each word has
    its corrected spelling from `meant`."""
    places: dict[str, dict[int, _RetrieverPlace]] = {}
    for name, found, shares in retrieved.weighed(weights):
        places[name] = {}
        for rank, (scored_row, share) in enumerate(zip(found, shares.tolist(), strict=True), 1):
            places[name][scored_row.chunk_id] = _RetrieverPlace(rank, scored_row.score, share)
    forms = [(f"{word} ({meant[word]})" if word in meant else word, meant.get(word, word)) for word in words]
    reasons: list[dict[str, Any]] = []
    for row in best:
        passage = row.passage
        listed = {name: found[passage.chunk_id] for name, found in places.items() if passage.chunk_id in found}
        here = words_and_parts(" ".join([passage.note.title, *passage.chunk.headings, passage.chunk.text]))
        reasons.append(
            {
                "ranks": {name: place.rank for name, place in listed.items()},
                "scores": {name: round(place.score, 4) for name, place in listed.items()},
                "cosine": round(listed[DENSE].score, 4) if DENSE in listed else None,
                "parts": {name: round(place.share, 4) for name, place in listed.items()},
                "fused": round(row.fused, 4),
                "boosts": dict(row.boosts),
                "terms": [shown for shown, word in forms if is_word_in(word, here)],
            }
        )
    return reasons


def hit_of(ranked: RankedChunk, snippet_chars: int, now: datetime) -> Hit:
    """Return a passage as a caller sees it; the snippet is the whole chunk unless that is longer than
    `snippet_chars`."""
    chunk, note = ranked.passage.chunk, ranked.passage.note
    headings = chunk.headings[1:] if chunk.headings[:1] == (note.title,) else chunk.headings
    stated, is_short = note_of(ranked.passage), len(chunk.text) <= snippet_chars
    return Hit(
        id=ranked.passage.shown_id,
        path=note.path,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        heading=" > ".join(headings),
        title=note.title,
        kind=note.kind,
        date=_date(ranked.passage),
        score=ranked.score,
        snippet=chunk.text if is_short else truncate(chunk.text, snippet_chars // CHARS_PER_TOKEN),
        project=stated.project,
        client=author_of(stated),
        is_whole=is_short and is_whole(chunk.text, chunk.headings, chunk.entry or note.content_hash),
        status=stated.status(now),
        outdated=f"ended {stated.expires_at.date()}" if stated.expires_at and stated.has_ended(now) else None,
        private=stated.is_private or None,
        explain=ranked.explain,
    )


def _date(passage: Passage) -> str | None:
    """Return the day and time of a log entry; the day of the last change of another note."""
    if day := is_log_path(passage.note.path):
        return f"{day.isoformat()} {passage.chunk.time}" if passage.chunk.time else day.isoformat()
    return passage.note.day


def _order(row: WeightedRow, now: datetime) -> tuple[float, int, float, str, int]:
    note = row.passage.note
    when = past(note.date, now)
    return -round(row.score, 6), rank_of(note), -when.timestamp() if when else 0.0, note.path, row.passage.ordinal
