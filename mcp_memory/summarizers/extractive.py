"""Summarizes with the sources' own sentences. No model, no network, deterministic.

Sentences are chosen greedily by their gain relative to their length. The gain counts facts, and words weighted by their
rarity in memory. It is submodular, so the greedy choice is near the best (Lin and Bilmes 2011). Sentences near the
centroid of the sources weigh more (Radev et al. 2004), and so do the first sentences of a note. Every source
contributes a sentence before any source contributes two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import inf
from pathlib import Path

import numpy as np

from mcp_memory.errors import SummarizerUnavailable
from mcp_memory.summarizers.base import LlmReply, Prompt, Summary, SummaryRequest
from mcp_memory.summarizers.candidates import Idf, SummaryCandidate, candidates_of, plain_title
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.summarizers.topic_labels import title_of
from mcp_memory.text.language.facts import Fact, facts
from mcp_memory.text.language.sentences import defined_by, is_question, is_secondary, main_clause
from mcp_memory.text.language.subjects import GENERIC_WORDS
from mcp_memory.text.language.terms import REPEATED, content_words, coverage, folded
from mcp_memory.text.tokens import CHARS_PER_TOKEN, truncate

NAME = "extractive"

CENTRAL = 1.0
"""The gain of a sentence at the centroid, relative to a sentence that has nothing in common with the sources."""
FIRST = 0.2
"""The gain of the first sentence of a note; the n-th sentence gets 1/n of it."""
FACT_BITS = 8.0
"""The value of a fact, in bits. Smaller values lose facts that questions ask for; larger values help conversations at
the expense of notes."""
KIND_WEIGHTS = {
    "decision": 1.5, "fact": 1.3, "preference": 1.2, "workflow": 1.2, "lesson": 0.8, "fix": 0.7, "idea": 0.6,
}  # fmt: skip
"""Factors for a gist: decisions and facts come before errors."""
LEAST_GIST = 2
"""The minimum number of sentences in a gist, whatever the budget."""
MOST_QUESTIONS = 5
MOST_LEAD_WORDS = 7
"""The most words of a note's title that is placed before a sentence."""
NAMED = 0.5
"""The share of a title's words from which a sentence needs no title before it."""
SETTLED, LEAST_SETTLED = 1 / 3, 2
"""The share and number of a question's telling words in a later source that settles the question."""
VAGUE = 0.3
"""The weight of a word that names no subject, so that greetings and praise lose. With 1, groups of notes keep fewer of
the facts that questions ask for; with 0, single conversations do."""
BREVITY = 0.7
"""The power of its length by which a sentence's value is divided: 1 prefers fragments, .5 the longest sentences."""


def open_extractive(config: SummarizerConfig, spent: Path) -> ExtractiveSummarizer:  # noqa: ARG001 -- a provider's signature
    return ExtractiveSummarizer()


class ExtractiveSummarizer:
    """Copies sentences. The same sources give the same summary, and every word comes from the sources."""

    name = NAME

    def summarize(self, request: SummaryRequest) -> Summary:
        """Summarize without ever raising; the title represents a source without sentences."""
        title = title_of(request.sources, request.common, request.hint)
        candidates = list(candidates_of(request.sources, with_titles=bool(request.gist_sentences)))
        idf = Idf(request.common)
        if request.gist_sentences:
            return _with_gist(title, candidates, idf, request)
        chosen = _choose(candidates, idf, request) if candidates else []
        lines = [f"- {candidates[at].text}" for at in sorted(chosen)]
        silent = set(range(len(request.sources))) - {candidate.source for candidate in candidates}
        lines += [f"- {request.sources[at].title}" for at in sorted(silent)]
        text = "\n".join(_fit(lines, request.budget_tokens * CHARS_PER_TOKEN))
        return Summary(title, text, NAME)

    def ask(self, prompt: Prompt) -> LlmReply:  # noqa: ARG002 -- the port's signature
        """Raises SummarizerUnavailable."""
        raise SummarizerUnavailable("no language model is configured", hint="see [summarizer] in the configuration")

    def asked_in_s(self) -> float:
        return inf

    def usage(self) -> None:
        return None

    def close(self) -> None:
        pass


def _with_gist(title: str, candidates: Sequence[SummaryCandidate], idf: Idf, request: SummaryRequest) -> Summary:
    """Build a summary whose gist is the best sentences, first a definition of the topic if there is one; the other
    chosen sentences form a list. Both contain only main clauses. Questions are listed separately unless a later source
    answers them."""
    asked = [at for at, candidate in enumerate(candidates) if is_question(candidate.text)]
    questions = [candidates[at].text for at in asked if not _is_settled(candidates[at], candidates)]
    told = [
        replace(candidate, text=main_clause(candidate.text, title), lead=_lead(candidate, request))
        for at, candidate in enumerate(candidates)
        if at not in asked and not request.sources[candidate.source].is_overtaken
    ]
    ranked, names = _by_rank(told), {folded(title), folded(request.hint)} - {frozenset()}
    defining = [each for each in ranked if folded(defined_by(each.text)) in names][:1]
    defined = {each.source for each in defining}
    first = [*defining, *(each for each in _rules(request) if each.source not in defined)]
    spent = sum(each.cost for each in first) // CHARS_PER_TOKEN
    left = replace(request, budget_tokens=max(0, request.budget_tokens - spent))
    stated = {each.source for each in first}
    others = [each for each in ranked if each.source not in stated]
    chosen = _choose_by_rank(others, idf, left, least=LEAST_GIST - len(first))
    every = [*first, *sorted(chosen, key=_in_order)]
    gist = every[: request.gist_sentences]
    rest = _listed([each for each in every if each not in gist], gist)
    return Summary(
        title, "\n".join(rest), NAME, "\n".join(f"{candidate.lead}{candidate.text}" for candidate in gist),
        [main_clause(question, title, whole=True) for question in questions[:MOST_QUESTIONS]],
    )  # fmt: skip


def _rules(request: SummaryRequest) -> list[SummaryCandidate]:
    """Return what the sources say is to be done, newest first, while it fits a page of rules alone."""
    found: list[SummaryCandidate] = []
    left = request.budget_tokens * CHARS_PER_TOKEN
    for at, source in reversed(list(enumerate(request.sources))):
        rule = SummaryCandidate(source.rule, at, 0, content_words(source.rule))
        rule = replace(rule, lead=_lead(rule, request))
        is_said = any(coverage(rule.words, other.words) >= REPEATED for other in found)
        if rule.text and not source.is_overtaken and not is_said and rule.cost <= left:
            found.append(rule)
            left -= rule.cost
    return found


def _listed(chosen: Sequence[SummaryCandidate], gist: Sequence[SummaryCandidate]) -> Iterator[str]:
    """Yield a line for each source: its title, if that states something, and its other sentences. Skip sources whose
    title is in the gist, because their other sentences don't name their subject."""
    titled = {candidate.source for candidate in gist if candidate.is_title}
    for source, some in groupby(chosen, key=lambda candidate: candidate.source):
        if source not in titled:
            first, *others = some
            lead = "" if first.is_title else first.lead
            yield f"- {lead}{' '.join(each.text for each in (first, *others))}"


def _lead(candidate: SummaryCandidate, request: SummaryRequest) -> str:
    title = plain_title(request.sources[candidate.source].title).rstrip(".…")
    named = content_words(title)
    is_short = len(title.split()) <= MOST_LEAD_WORDS
    return f"{title}: " if named and is_short and coverage(named, candidate.words) < NAMED else ""


def _in_order(candidate: SummaryCandidate) -> tuple[int, int]:
    return candidate.source, candidate.place


def _choose_by_rank(
    candidates: Sequence[SummaryCandidate], idf: Idf, request: SummaryRequest, *, least: int
) -> list[SummaryCandidate]:
    """Choose sentences by rank while they fit: the first sentence of each source, then the second. Choose `least` even
    if they don't fit."""
    chosen: list[SummaryCandidate] = []
    left = request.budget_tokens * CHARS_PER_TOKEN
    for rank in sorted({candidate.place for candidate in candidates}):
        some = [candidate for candidate in candidates if candidate.place == rank]
        count = len(chosen)
        whole = sum(candidate.cost for candidate in some)
        for at in _choose(some, idf, replace(request, budget_tokens=whole)):
            if len(chosen) < least or some[at].cost <= left:
                chosen.append(some[at])
                left -= some[at].cost
        if len(chosen) - count < len(some) and len(chosen) >= least:
            break  # the first sentence of a source is worth more than the next sentence of another
    return chosen


def _by_rank(candidates: Sequence[SummaryCandidate]) -> list[SummaryCandidate]:
    """Keep the candidates that are clear without context, if any, and drop lists of rejected options; `place` becomes
    the number of the candidate in its source."""
    ends: dict[int, int] = {}
    for candidate in candidates:
        if candidate.text.endswith(":") and is_secondary(candidate.text):
            ends.setdefault(candidate.source, candidate.place)
    candidates = [each for each in candidates if each.place < ends.get(each.source, each.place + 1)]
    found = [candidate for candidate in candidates if not candidate.text.endswith((":", ":."))]
    stating = [candidate for candidate in found if not is_secondary(candidate.text)]
    found = stating if len({candidate.source for candidate in stating}) >= LEAST_GIST else found
    order = sorted(found, key=lambda each: (each.source, is_secondary(each.text), each.place))
    places = Counter[int]()
    for at, candidate in enumerate(order):
        order[at] = replace(candidate, place=places[candidate.source])
        places[candidate.source] += 1
    return order


def _is_settled(question: SummaryCandidate, candidates: Sequence[SummaryCandidate]) -> bool:
    """Return whether a later source has enough of the question's words, apart from words that most sources have."""
    count = len({candidate.source for candidate in candidates})
    rare = set[str]()
    for word in question.words:
        sources = {candidate.source for candidate in candidates if word in candidate.words}
        if len(sources) <= max(2, count // 2):
            rare.add(word)
    later = (candidate.words for candidate in candidates if candidate.source > question.source)
    return any(coverage(rare, words) >= SETTLED and len(rare & words) >= LEAST_SETTLED for words in later)


def _choose(candidates: Sequence[SummaryCandidate], idf: Idf, request: SummaryRequest) -> list[int]:
    """Return indices of candidates. Each round takes the best fitting sentence of each source. If none fits, return the
    best of all, to be cut."""
    bits = {
        word: idf.bits(word) * (VAGUE if word in GENERIC_WORDS else 1)
        for candidate in candidates
        for word in candidate.words
    }
    weights = _weights(candidates, bits)
    if request.gist_sentences:
        kinds = (request.sources[candidate.source].kind for candidate in candidates)
        weights = [weight * KIND_WEIGHTS.get(kind, 1.0) for weight, kind in zip(weights, kinds, strict=True)]
    facts_in = [facts(candidate.text) for candidate in candidates]
    costs = [candidate.cost for candidate in candidates]
    known_words, known_facts = set[str](), set[Fact]()

    def gain(at: int) -> tuple[float, int]:
        new = sum(bits[word] for word in candidates[at].words - known_words)
        new += FACT_BITS * len(facts_in[at] - known_facts)
        return new * weights[at] / costs[at] ** BREVITY, -at

    left = request.budget_tokens * CHARS_PER_TOKEN
    chosen: list[int] = []
    represented: set[int] = set()
    while fitting := [at for at in range(len(candidates)) if at not in chosen and costs[at] <= left]:
        unrepresented = [at for at in fitting if candidates[at].source not in represented]
        if not unrepresented:
            represented.clear()
        best = max(unrepresented or fitting, key=gain)
        chosen.append(best)
        left -= costs[best]
        represented.add(candidates[best].source)
        known_words |= candidates[best].words
        known_facts |= facts_in[best]
    return chosen or [max(range(len(candidates)), key=gain)]


def _weights(candidates: Sequence[SummaryCandidate], bits: Mapping[str, float]) -> list[float]:
    """Compute weights that grow near the centroid of the sources and at the start of a note."""
    columns = {word: at for at, word in enumerate(sorted(bits))}
    vectors = np.zeros((len(candidates), len(columns)), dtype=np.float32)
    for row, candidate in enumerate(candidates):
        for word in candidate.words:
            vectors[row, columns[word]] = bits[word]
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    sources = np.array([candidate.source for candidate in candidates])
    # Each source has the same weight, whatever its length.
    centroid = np.sum([vectors[sources == source].mean(axis=0) for source in np.unique(sources)], axis=0)
    centroid /= max(float(np.linalg.norm(centroid)), 1e-9)
    return [
        (1 + CENTRAL * float(near)) * (1 + FIRST / (1 + candidate.place))
        for near, candidate in zip(vectors @ centroid, candidates, strict=True)
    ]


def _fit(lines: Sequence[str], limit_chars: int) -> Iterator[str]:
    """Yield whole lines while they fit. A first line that doesn't fit is cut."""
    left = limit_chars
    for number, line in enumerate(lines):
        if len(line) + 1 <= left:
            left -= len(line) + 1
            yield line
        elif number == 0:
            yield truncate(line, limit_chars // CHARS_PER_TOKEN)
            return
