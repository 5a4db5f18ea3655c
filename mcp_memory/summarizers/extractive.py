"""The extractive summarizer: the sources' own sentences, chosen and put in order. No model, no network, no chance.

Sentences are taken one by one, each judged by what it adds to those taken, for its length: words, weighed by how rare
they are in memory, and facts (a submodular gain, of which the greedy choice is near the best: Lin and Bilmes 2011).
What is near the centroid of the sources counts more (Radev et al. 2004), and so does what a note says first. Every
source has its say before any has two.

Of the facts in the lines that questions ask for, summaries of a quarter of the length keep 71 % on conversations (83 %
where four notes make one), and 28 and 31 % on a developer's short notes; the first sentences keep 51, 65, 11 and 7 %.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mcp_memory.summarizers.base import (
    LEAST_TITLE_WORDS,
    MOST_TITLE_CHARS,
    MOST_TITLE_WORDS,
    Request,
    Source,
    Summary,
)
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.text.facts import Fact, facts
from mcp_memory.text.sentences import Sentence, sentences
from mcp_memory.text.terms import STOP_WORDS, fold, telling, words
from mcp_memory.text.tokens import CHARS_PER_TOKEN, truncate

NAME = "extractive"

MOST_SENTENCES = 64
"""Of one source: what a longer note says first stands for it."""
READ_CHARS = 20_000
"""Of one source."""

CENTRAL = 1.0
"""What a sentence in the very middle of the sources gains, against one that has nothing in common with them."""
FIRST = 0.2
"""What the first sentence of a note gains; the n-th one has 1/n of that."""
FACT_BITS = 8.0
"""What a fact is worth, against the bits of a rare word. With 4, 4 points fewer of the facts that questions ask for are
kept; with 12, 2 more on conversations and as many fewer on notes."""
BREVITY = 0.7
"""The power of its length by which a sentence's worth is divided: 1 makes fragments, .5 takes the longest."""

_VAGUE = """
able actually agree ah almost already always amazing another anything anyway appreciate around away awesome back bad
became become best better big bit blast bye came cause change cool day days definitely done due during else etc even
ever everyone everything far feel feeling feels felt few find first found friday fun gave get gets getting give glad
go goes going gonna good got great guess haha happen happened happy hard harder hear heard hello help helped helping
hey hi hope huge idea image important in inspiring keep keeping kept kind know last lately later learn learned least
left let lets life like little lol long look looking looks lot lots love loved made make makes making many maybe mean
means meant moment monday month months more morning most much need needed needs never new next nice night nothing now
off oh ok okay old one ones other others ourselves out over part people person photo picture place please pretty
probably put quite ready real realized really recently right said saturday saw say saying see seeing seem seems seen
several share sharing show showed since someone something soon sorry sort sound sounds special start started stay
still stuff such sunday super support sure take taken taking talk tell thank thanks thing things think thinking
thought thursday time times today together told tomorrow tonight took totally tried true try trying tuesday two
understand up use used using usually via wait wanna want wanted wants watch way ways wednesday week weekend weeks well
went whole wish won wonderful words work worked working works world worth wow yea yeah year years yep yes yesterday
yet yourself
"""
VAGUE_WORDS = frozenset(map(fold, (*STOP_WORDS, *_VAGUE.split())))
"""English words that name no topic, however often a conversation has them. Other languages need none: what is said
everywhere in memory counts little anyway."""

PHRASE_WORDS = 4
TITLE_SENTENCES = 8
"""Of each source, whose words may be in the title."""


def open_extractive(config: SummarizerConfig, spent: Path) -> ExtractiveSummarizer:  # noqa: ARG001 -- a provider's signature
    return ExtractiveSummarizer()


class ExtractiveSummarizer:
    """The same sources give the same summary, and no word in it is not theirs."""

    @property
    def name(self) -> str:
        return NAME

    def summarize(self, request: Request) -> Summary:
        """Never raises; a source without a sentence is told by its title."""
        candidates = list(_candidates(request.sources))
        rarity = _Rarity(request.common)
        chosen = _chosen(candidates, rarity, request) if candidates else []
        lines = [f"- {candidates[at].text}" for at in sorted(chosen)]
        silent = set(range(len(request.sources))) - {each.source for each in candidates}
        lines += [f"- {request.sources[at].title}" for at in sorted(silent)]
        text = "\n".join(_within(lines, request.budget_tokens * CHARS_PER_TOKEN))
        return Summary(title_of(request.sources, request.common), text, NAME)

    def asked_in_s(self) -> float:
        return math.inf

    def close(self) -> None:
        """Nothing waits."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    source: int
    place: int
    words: frozenset[str]


class _Rarity:
    """Weights of words: how many bits a word tells, given how common it is in memory."""

    def __init__(self, common: Mapping[str, float]) -> None:
        self._folded: dict[str, float] = {}
        for word, share in common.items():
            key = fold(word)
            self._folded[key] = max(share, self._folded.get(key, 0.0))

    def of(self, word: str) -> float:
        return -math.log2(min(1.0, max(self._folded.get(word, 0.0), 1e-4)))


def _candidates(sources: Sequence[Source]) -> Iterator[_Candidate]:
    for number, source in enumerate(sources):
        seen: set[frozenset[str]] = set()
        for sentence in _first_sentences(source):
            said = telling(sentence.text)
            if said and said not in seen:
                seen.add(said)
                yield _Candidate(sentence.text, number, sentence.place, said)


def _chosen(candidates: Sequence[_Candidate], rarity: _Rarity, request: Request) -> list[int]:
    """Places in `candidates`. Each round gives each source one sentence, the best first, while they fit. Where none
    does, the best of all, to be cut."""
    standing = _standing(candidates, rarity)
    told = [facts(each.text) for each in candidates]
    said, stated = set[str](), set[Fact]()

    def gain(at: int) -> tuple[float, int]:
        new = sum(rarity.of(word) for word in candidates[at].words - said) + FACT_BITS * len(told[at] - stated)
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


def _cost(candidate: _Candidate) -> int:
    """In characters, as a line of a list."""
    return len(candidate.text) + 3


def _standing(candidates: Sequence[_Candidate], rarity: _Rarity) -> list[float]:
    """How much what each one says counts: more near the middle of it all, and more at the start of a note."""
    vectors = _vectors(candidates, rarity)
    central = vectors @ _centroid(vectors, np.array([each.source for each in candidates]))
    return [
        (1 + CENTRAL * float(near)) * (1 + FIRST / (1 + each.place))
        for near, each in zip(central, candidates, strict=True)
    ]


def _vectors(candidates: Sequence[_Candidate], rarity: _Rarity) -> NDArray[np.float32]:
    """Shape (candidates, distinct words), each row of length 1."""
    columns = {word: at for at, word in enumerate(sorted(frozenset[str]().union(*(c.words for c in candidates))))}
    vectors = np.zeros((len(candidates), len(columns)), dtype=np.float32)
    for row, candidate in enumerate(candidates):
        for word in candidate.words:
            vectors[row, columns[word]] = rarity.of(word)
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


# -- titles ------------------------------------------------------------------------------------------------------------


def title_of(sources: Sequence[Source], common: Mapping[str, float]) -> str:
    """5 to 15 words, fewer only where the sources have no more: the phrases that most of the sources share, in the
    sources' own spelling, commas between them. A single source keeps its title."""
    if len(sources) < 2:
        return _short("".join(source.title for source in sources))
    phrases = _phrases(sources)
    weight = _marking(sources, _Rarity(common))
    title: list[str] = []
    taken: set[str] = set()
    while sum(len(phrase.split()) for phrase in title) < LEAST_TITLE_WORDS:
        scores = {phrase: _worth(keys, weight, taken) for phrase, keys in phrases.items()}
        best = max(scores, key=lambda phrase: (scores[phrase], phrase), default=None)
        if best is None or scores[best] <= 0:
            break
        title.append(best)
        taken |= set(phrases.pop(best))
    return _short(", ".join(title)) or _short(sources[0].title)


def _marking(sources: Sequence[Source], rarity: _Rarity) -> dict[str, float]:
    """Of each word, how much it marks these sources off from the rest of memory: its part of the divergence between the
    two (Kullback and Leibler 1951), and more where many of the sources have it."""
    told = [telling(each.text) for source in sources for each in _first_sentences(source)]
    having = Counter(word for source in sources for word in telling(f"{source.title}. {source.text[:READ_CHARS]}"))
    here = Counter(word for words_of in told for word in words_of)
    shares = {word: (here[word] + 0.5) / (len(told) + 1) for word in having}
    return {
        word: share * max(0.0, math.log2(share) + rarity.of(word)) * (having[word] / len(sources)) ** 0.5
        for word, share in shares.items()
    }


def _first_sentences(source: Source) -> list[Sentence]:
    return sentences(source.text[:READ_CHARS])[:MOST_SENTENCES]


def _worth(keys: Sequence[str], weight: Mapping[str, float], taken: set[str]) -> float:
    """The mean weight of its words, of which none may be in the title yet; two or three words say more than one."""
    if not taken.isdisjoint(keys):
        return 0.0
    return sum(weight.get(key, 0.0) for key in keys) / len(keys) * (1 + 0.2 * (len(keys) - 1))


def _phrases(sources: Sequence[Source]) -> dict[str, tuple[str, ...]]:
    """Runs of telling words, in their first spelling, with their folded words; of titles and of first sentences."""
    found: dict[tuple[str, ...], str] = {}
    for source in sources:
        texts = [source.title, *(each.text for each in sentences(source.text[:READ_CHARS])[:TITLE_SENTENCES])]
        for run in (run for text in texts for run in _runs(text)):
            for long in range(1, PHRASE_WORDS + 1):
                for at in range(len(run) - long + 1):
                    phrase = " ".join(run[at : at + long])
                    keys = tuple(map(fold, words(phrase)))
                    if len(set(keys)) == len(keys):
                        found.setdefault(keys, phrase)
    return {phrase: keys for keys, phrase in found.items()}


def _runs(text: str) -> Iterator[list[str]]:
    """Stretches of words without a stop word, number or mark between them."""
    run: list[str] = []
    for piece in text.split():
        bare = piece.strip("*_`\"'“”‘’()[]{}<>.,;:!?…#|—–-/\\")
        is_word = len(bare) > 1 and fold(bare.lower()) not in VAGUE_WORDS and not bare.isdigit() and _is_plain(bare)
        if is_word:
            run.append(bare)
        if run and (not is_word or piece[-1] in ".,;:!?…)—"):
            yield run
            run = []
    if run:
        yield run


def _is_plain(word: str) -> bool:
    return all(c.isalnum() or c in "-'’_." for c in word) and any(c.isalpha() for c in word)


def _short(title: str) -> str:
    cut = " ".join(title.split()[:MOST_TITLE_WORDS])
    return cut if len(cut) <= MOST_TITLE_CHARS else cut[:MOST_TITLE_CHARS].rsplit(" ", 1)[0].rstrip(",")
