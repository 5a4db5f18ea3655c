"""Summarizes with the sources' own sentences, chosen and put in order. No model, no network, deterministic.

Sentences are chosen one by one, by what each adds to the chosen ones relative to its length: words, weighted by their
rarity in memory, and facts (a submodular gain, for which the greedy choice is near the best: Lin and Bilmes 2011).
Sentences near the centroid of the sources count more (Radev et al. 2004), and so do the first ones of a note. Every
source contributes one sentence before any contributes two.

Of the facts in the lines that questions ask for, summaries of a quarter of the length keep 71 % on conversations (86 %
for four notes together), and 29 and 32 % on a developer's short notes; the first sentences keep 51, 65, 11 and 7 %.
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
from mcp_memory.summarizers.candidates import SummaryCandidate, candidates_of, plain_title
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.summarizers.topic_labels import Idf, title_of
from mcp_memory.text.language.clauses import defined_by, is_question, is_secondary, main_clause
from mcp_memory.text.language.facts import Fact, facts
from mcp_memory.text.language.terms import content_words, folded
from mcp_memory.text.language.word_lists import GENERIC_WORDS
from mcp_memory.text.tokens import CHARS_PER_TOKEN, truncate

NAME = "extractive"

CENTRAL = 1.0
"""The gain of a sentence at the centroid, compared with one that has nothing in common with the sources."""
FIRST = 0.2
"""The gain of the first sentence of a note; the n-th one has 1/n of it."""
FACT_BITS = 8.0
"""The worth of a fact, in bits. With 4, 4 points fewer of the facts that questions ask for are kept; with 12, 2 more on
conversations and as many fewer on notes."""
KIND_WEIGHTS = {
    "decision": 1.5, "fact": 1.3, "preference": 1.2, "workflow": 1.2, "lesson": 0.8, "fix": 0.7, "idea": 0.6,
}  # fmt: skip
"""In a gist: what was decided and what is so comes before what went wrong."""
LEAST_GIST = 2
"""So many sentences a gist has, whatever the budget."""
MOST_QUESTIONS = 5
MOST_LEAD_WORDS = 7
"""Of a note's title that is put before a sentence."""
VAGUE = 0.3
"""The weight of a word that names no subject, so that greetings and praise give way. With 1, 2 points fewer of the
facts that questions ask for are kept for four notes together; with 0, 1 point fewer for a single conversation."""
BREVITY = 0.7
"""A sentence's worth is divided by this power of its length: 1 makes fragments, .5 takes the longest."""


def open_extractive(config: SummarizerConfig, spent: Path) -> ExtractiveSummarizer:  # noqa: ARG001 -- a provider's signature
    return ExtractiveSummarizer()


class ExtractiveSummarizer:
    """The same sources give the same summary, and every word in it is theirs."""

    name = NAME

    def summarize(self, request: SummaryRequest) -> Summary:
        """Never raises; a source without sentences is represented by its title."""
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

    def close(self) -> None:
        pass


def _with_gist(title: str, candidates: Sequence[SummaryCandidate], idf: Idf, request: SummaryRequest) -> Summary:
    """The first chosen sentences are the gist, before all one that says what the topic is, the others a list; of both
    only the main clauses. What is asked is told apart, until a later source has its words."""
    asked = [at for at, candidate in enumerate(candidates) if is_question(candidate.text)]
    questions = [candidates[at].text for at in asked if not _is_settled(candidates[at], candidates)]
    told = [
        replace(candidate, text=main_clause(candidate.text, title), lead=_lead(candidate, request))
        for at, candidate in enumerate(candidates)
        if at not in asked and not request.sources[candidate.source].is_overtaken
    ]
    ranked, names = _by_rank(told), {folded(title), folded(request.hint)} - {frozenset()}
    defining = [each for each in ranked if folded(defined_by(each.text)) in names][:1]
    spent = sum(each.cost for each in defining) // CHARS_PER_TOKEN
    left = replace(request, budget_tokens=request.budget_tokens - spent)
    chosen = [*defining, *_choose_by_rank([each for each in ranked if each not in defining], idf, left)]
    gist = sorted(chosen[: request.gist_sentences], key=_in_order)
    rest = _listed(sorted(chosen[request.gist_sentences :], key=_in_order), gist)
    return Summary(
        title, "\n".join(rest), NAME, "\n".join(f"{candidate.lead}{candidate.text}" for candidate in gist),
        [main_clause(question, title, whole=True) for question in questions[:MOST_QUESTIONS]],
    )  # fmt: skip


def _listed(chosen: Sequence[SummaryCandidate], gist: Sequence[SummaryCandidate]) -> Iterator[str]:
    """A line for each source: its title, if that states something, and what else is told of it. Nothing more of one
    whose title is in the gist, since its sentences alone don't say what they are about."""
    titled = {candidate.source for candidate in gist if candidate.is_title}
    for source, some in groupby(chosen, key=lambda candidate: candidate.source):
        if source not in titled:
            first, *others = some
            lead = "" if first.is_title else first.lead
            yield f"- {lead}{' '.join(each.text for each in (first, *others))}"


def _lead(candidate: SummaryCandidate, request: SummaryRequest) -> str:
    title = plain_title(request.sources[candidate.source].title).rstrip(".…")
    named = content_words(title)
    is_short = 0 < len(title.split()) <= MOST_LEAD_WORDS
    return f"{title}: " if is_short and 2 * len(named & candidate.words) < len(named) else ""


def _in_order(candidate: SummaryCandidate) -> tuple[int, int]:
    return candidate.source, candidate.place


def _choose_by_rank(
    candidates: Sequence[SummaryCandidate], idf: Idf, request: SummaryRequest
) -> list[SummaryCandidate]:
    """In the order of their worth: of each source its first sentence, then its second, while they fit."""
    chosen: list[SummaryCandidate] = []
    left = request.budget_tokens * CHARS_PER_TOKEN
    for rank in sorted({candidate.place for candidate in candidates}):
        some = [candidate for candidate in candidates if candidate.place == rank]
        count = len(chosen)
        whole = sum(candidate.cost for candidate in some)
        for at in _choose(some, idf, replace(request, budget_tokens=whole)):
            if len(chosen) < LEAST_GIST or some[at].cost <= left:
                chosen.append(some[at])
                left -= some[at].cost
        if len(chosen) - count < len(some) and len(chosen) >= LEAST_GIST:
            break  # what a source says first is worth more than what another says next
    return chosen


def _by_rank(candidates: Sequence[SummaryCandidate]) -> list[SummaryCandidate]:
    """Those that state something by themselves, if there are any, without lists of what was rejected; `place` is their
    number in the source."""
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
    """Whether a later source has a third of its words, but for those that most sources have."""
    sources: dict[str, set[int]] = {word: {c.source for c in candidates if word in c.words} for word in question.words}
    count = len({candidate.source for candidate in candidates})
    rare = {word for word, having in sources.items() if len(having) <= max(2, count // 2)}
    later = (candidate.words & rare for candidate in candidates if candidate.source > question.source)
    return any(3 * len(shared) >= len(rare) and len(shared) > 1 for shared in later)


def _choose(candidates: Sequence[SummaryCandidate], idf: Idf, request: SummaryRequest) -> list[int]:
    """Indices of candidates. Each round takes one sentence of each source, the best first, while they fit. If none
    fits, the best of all, to be cut."""
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
    """More for a sentence near the centroid of the sources, and more at the start of a note."""
    columns = {word: at for at, word in enumerate(sorted(bits))}
    vectors = np.zeros((len(candidates), len(columns)), dtype=np.float32)
    for row, candidate in enumerate(candidates):
        for word in candidate.words:
            vectors[row, columns[word]] = bits[word]
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    sources = np.array([candidate.source for candidate in candidates])
    # Each source counts the same, however long it is.
    centroid = np.sum([vectors[sources == source].mean(axis=0) for source in np.unique(sources)], axis=0)
    centroid /= max(float(np.linalg.norm(centroid)), 1e-9)
    return [
        (1 + CENTRAL * float(near)) * (1 + FIRST / (1 + candidate.place))
        for near, candidate in zip(vectors @ centroid, candidates, strict=True)
    ]


def _fit(lines: Sequence[str], limit_chars: int) -> Iterator[str]:
    """Whole lines while they fit; cuts the first one rather than leaving it out."""
    left = limit_chars
    for number, line in enumerate(lines):
        if len(line) + 1 <= left:
            left -= len(line) + 1
            yield line
        elif number == 0:
            yield truncate(line, limit_chars // CHARS_PER_TOKEN)
            return
