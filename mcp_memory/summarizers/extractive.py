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
from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np

from mcp_memory.errors import SummarizerUnavailable
from mcp_memory.summarizers.base import LlmReply, Prompt, Summary, SummaryRequest, SummarySource
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.summarizers.topic_labels import MOST_SENTENCES, READ_CHARS, Idf, title_of
from mcp_memory.text.conversation.speaker_prefix import speaker_of
from mcp_memory.text.language.facts import Fact, facts
from mcp_memory.text.language.sentences import Sentence, sentences
from mcp_memory.text.language.terms import content_words
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
        candidates = list(_candidates(request.sources))
        idf = Idf(request.common)
        chosen = _choose(candidates, idf, request) if candidates else []
        lines = [f"- {candidates[at].text}" for at in sorted(chosen)]
        silent = set(range(len(request.sources))) - {candidate.source for candidate in candidates}
        lines += [f"- {request.sources[at].title}" for at in sorted(silent)]
        text = "\n".join(_fit(lines, request.budget_tokens * CHARS_PER_TOKEN))
        return Summary(title_of(request.sources, request.common), text, NAME)

    def ask(self, prompt: Prompt) -> LlmReply:  # noqa: ARG002 -- the port's signature
        """Raises SummarizerUnavailable."""
        raise SummarizerUnavailable("no language model is configured", hint="see [summarizer] in the configuration")

    def asked_in_s(self) -> float:
        return inf

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    source: int
    place: int
    """Its number in the note, from 0."""
    words: frozenset[str]


def _candidates(sources: Sequence[SummarySource]) -> Iterator[_Candidate]:
    for number, source in enumerate(sources):
        seen: set[frozenset[str]] = set()
        found = sentences(source.text[:READ_CHARS])[:MOST_SENTENCES]
        for sentence, speaker in zip(found, _speakers(found), strict=True):
            words = content_words(sentence.text)
            if words and words not in seen:
                seen.add(words)
                yield _Candidate(f"{speaker}{sentence.text}", number, sentence.place, words)


def _speakers(found: Sequence[Sentence]) -> Iterator[str]:
    """The prefix for each sentence, so that a later sentence of a turn in a conversation still names its speaker."""
    leads = [speaker_of(sentence.text) for sentence in found]
    times = Counter(filter(None, leads))
    is_talk = bool(leads and leads[0]) and 2 * len(times) <= times.total()
    speaker = ""
    for lead in leads:
        if lead and times[lead] > 1:
            speaker = f"{lead}: "
        yield speaker if is_talk and not lead else ""


def _choose(candidates: Sequence[_Candidate], idf: Idf, request: SummaryRequest) -> list[int]:
    """Indices of candidates. Each round takes one sentence of each source, the best first, while they fit. If none
    fits, the best of all, to be cut."""
    bits = {
        word: idf.bits(word) * (VAGUE if word in GENERIC_WORDS else 1)
        for candidate in candidates
        for word in candidate.words
    }
    weights = _weights(candidates, bits)
    facts_in = [facts(candidate.text) for candidate in candidates]
    costs = [len(candidate.text) + 3 for candidate in candidates]  # in characters, as a line of a list
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


def _weights(candidates: Sequence[_Candidate], bits: Mapping[str, float]) -> list[float]:
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
