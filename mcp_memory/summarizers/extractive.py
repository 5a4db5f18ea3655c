"""The extractive summarizer: the sources' own sentences, chosen and put in order. No model, no network, no chance.

Sentences are taken one by one, each judged by what it adds to those taken, for its length: words, weighed by how rare
they are in memory, and facts (a submodular gain, of which the greedy choice is near the best: Lin and Bilmes 2011).
What is near the centroid of the sources counts more (Radev et al. 2004), and so does what a note says first. Every
source has its say before any has two.

Of the facts in the lines that questions ask for, summaries of a quarter of the length keep 71 % on conversations (86 %
where four notes make one), and 29 and 32 % on a developer's short notes; the first sentences keep 51, 65, 11 and 7 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mcp_memory.errors import SummarizerUnavailable
from mcp_memory.summarizers.base import Summary, SummaryRequest, SummarySource
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.summarizers.llm_port import LlmReply, Prompt
from mcp_memory.summarizers.topic_labels import MOST_SENTENCES, READ_CHARS, Idf, title_of
from mcp_memory.text.conversation.speaker_prefix import lead_of
from mcp_memory.text.language.facts import Fact, facts
from mcp_memory.text.language.sentences import Sentence, sentences
from mcp_memory.text.language.terms import telling
from mcp_memory.text.language.word_lists import GENERIC_WORDS
from mcp_memory.text.tokens import CHARS_PER_TOKEN, truncate

NAME = "extractive"

CENTRAL = 1.0
"""What a sentence in the very middle of the sources gains, against one that has nothing in common with them."""
FIRST = 0.2
"""What the first sentence of a note gains; the n-th one has 1/n of that."""
FACT_BITS = 8.0
"""What a fact is worth, against the bits of a rare word. With 4, 4 points fewer of the facts that questions ask for are
kept; with 12, 2 more on conversations and as many fewer on notes."""
VAGUE = 0.3
"""What a word counts that names no subject, so that greetings and praise give way. With 1, 2 points fewer of the facts
that questions ask for are kept where four notes make one; with 0, 1 point fewer of a single conversation."""
BREVITY = 0.7
"""The power of its length by which a sentence's worth is divided: 1 makes fragments, .5 takes the longest."""


def open_extractive(config: SummarizerConfig, spent: Path) -> ExtractiveSummarizer:  # noqa: ARG001 -- a provider's signature
    return ExtractiveSummarizer()


class ExtractiveSummarizer:
    """The same sources give the same summary, and no word in it is not theirs."""

    @property
    def name(self) -> str:
        return NAME

    def summarize(self, request: SummaryRequest) -> Summary:
        """Never raises; a source without a sentence is told by its title."""
        candidates = list(_candidates(request.sources))
        rarity = Idf(request.common)
        chosen = _chosen(candidates, rarity, request) if candidates else []
        lines = [f"- {candidates[at].text}" for at in sorted(chosen)]
        silent = set(range(len(request.sources))) - {each.source for each in candidates}
        lines += [f"- {request.sources[at].title}" for at in sorted(silent)]
        text = "\n".join(_within(lines, request.budget_tokens * CHARS_PER_TOKEN))
        return Summary(title_of(request.sources, request.common), text, NAME)

    def ask(self, prompt: Prompt) -> LlmReply:  # noqa: ARG002 -- the port's signature
        """Raises SummarizerUnavailable."""
        raise SummarizerUnavailable("no language model is configured", hint="see [summarizer] in the configuration")

    def asked_in_s(self) -> float:
        return inf

    def close(self) -> None:
        """Nothing waits."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    source: int
    place: int
    words: frozenset[str]


def _candidates(sources: Sequence[SummarySource]) -> Iterator[_Candidate]:
    for number, source in enumerate(sources):
        seen: set[frozenset[str]] = set()
        told = sentences(source.text[:READ_CHARS])[:MOST_SENTENCES]
        for sentence, speaker in zip(told, _speakers(told), strict=True):
            said = telling(sentence.text)
            if said and said not in seen:
                seen.add(said)
                yield _Candidate(f"{speaker}{sentence.text}", number, sentence.place, said)


def _speakers(told: Sequence[Sentence]) -> Iterator[str]:
    """What to put in front of each, so that what was cut from a turn of a talk still says whose words it holds."""
    leads = [lead_of(sentence.text) for sentence in told]
    times = Counter(filter(None, leads))
    is_talk = bool(leads and leads[0]) and 2 * len(times) <= times.total()
    speaker = ""
    for lead in leads:
        if lead and times[lead] > 1:
            speaker = f"{lead}: "
        yield speaker if is_talk and not lead else ""


def _chosen(candidates: Sequence[_Candidate], rarity: Idf, request: SummaryRequest) -> list[int]:
    """Places in `candidates`. Each round gives each source one sentence, the best first, while they fit. Where none
    does, the best of all, to be cut."""
    standing = _standing(candidates, rarity)
    bits = {word: _bits(word, rarity) for each in candidates for word in each.words}
    told = [facts(each.text) for each in candidates]
    said, stated = set[str](), set[Fact]()

    def gain(at: int) -> tuple[float, int]:
        new = sum(bits[word] for word in candidates[at].words - said) + FACT_BITS * len(told[at] - stated)
        return new * standing[at] / _cost(candidates[at]) ** BREVITY, -at

    left = request.budget_tokens * CHARS_PER_TOKEN
    chosen: list[int] = []
    heard: set[int] = set()
    while open_ones := [at for at, each in enumerate(candidates) if at not in chosen and _cost(each) <= left]:
        unheard = [at for at in open_ones if candidates[at].source not in heard]
        if not unheard:
            heard.clear()
        best = max(unheard or open_ones, key=gain)
        chosen.append(best)
        left -= _cost(candidates[best])
        heard.add(candidates[best].source)
        said |= candidates[best].words
        stated |= told[best]
    return chosen or [max(range(len(candidates)), key=gain)]


def _bits(word: str, rarity: Idf) -> float:
    return rarity.bits(word) * (VAGUE if word in GENERIC_WORDS else 1)


def _cost(candidate: _Candidate) -> int:
    """In characters, as a line of a list."""
    return len(candidate.text) + 3


def _standing(candidates: Sequence[_Candidate], rarity: Idf) -> list[float]:
    """How much what each one says counts: more near the middle of it all, and more at the start of a note."""
    vectors = _vectors(candidates, rarity)
    central = vectors @ _centroid(vectors, np.array([each.source for each in candidates]))
    return [
        (1 + CENTRAL * float(near)) * (1 + FIRST / (1 + each.place))
        for near, each in zip(central, candidates, strict=True)
    ]


def _vectors(candidates: Sequence[_Candidate], rarity: Idf) -> NDArray[np.float32]:
    """Shape (candidates, distinct words), each row of length 1."""
    columns = {word: at for at, word in enumerate(sorted(frozenset[str]().union(*(c.words for c in candidates))))}
    vectors = np.zeros((len(candidates), len(columns)), dtype=np.float32)
    for row, candidate in enumerate(candidates):
        for word in candidate.words:
            vectors[row, columns[word]] = _bits(word, rarity)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _centroid(vectors: NDArray[np.float32], sources: NDArray[np.int64]) -> NDArray[np.float32]:
    """Of the sources, each counting the same however long it is; length 1."""
    middles = [vectors[sources == source].mean(axis=0) for source in np.unique(sources)]
    whole = np.sum(middles, axis=0)
    return whole / max(float(np.linalg.norm(whole)), 1e-9)


def _within(lines: Sequence[str], limit_chars: int) -> Iterator[str]:
    """Whole lines while they fit; the very first one cut rather than left out."""
    left = limit_chars
    for number, line in enumerate(lines):
        if len(line) + 1 <= left:
            left -= len(line) + 1
            yield line
        elif number == 0:
            yield truncate(line, limit_chars // CHARS_PER_TOKEN)
            return
