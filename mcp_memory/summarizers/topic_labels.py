"""Titles a topic with a few phrases that its notes have in common, made only of their words.

A phrase counts by how many of the notes have it, how rare its words are in memory, and whether they are used like
nouns: after an article or a preposition, last in their run, not after a pronoun or before an object. After the first
phrase, those of notes that aren't covered yet count more. No model, and no dictionary but words that name nothing.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mcp_memory.summarizers.base import LEAST_TITLE_WORDS, MOST_TITLE_CHARS, MOST_TITLE_WORDS, SummarySource
from mcp_memory.text.conversation.speaker_prefix import speaker_of
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import fold, words
from mcp_memory.text.language.word_lists import ARTICLES, ENGLISH, GENERIC_WORDS, PREPOSITIONS, function_words
from mcp_memory.text.language.word_runs import WordRun, is_unspaced, runs
from mcp_memory.text.markdown.blocks import BlockKind, scan

_LEAST_SHARE = 1e-4
"""Assumed for a word that isn't in the index."""


class Idf:
    """Weights words by the share of all passages that have them."""

    def __init__(self, common: Mapping[str, float]) -> None:
        self._folded: dict[str, float] = {}
        for word, share in common.items():
            key = fold(word)
            self._folded[key] = max(share, self._folded.get(key, 0.0))

    def bits(self, word: str) -> float:
        """0 for a word in every passage. `word` is folded."""
        return -math.log2(min(1.0, max(self._folded.get(word, 0.0), _LEAST_SHARE)))


READ_CHARS = 20_000
MOST_SENTENCES = 64
"""Read from one source."""

PHRASE_WORDS = 3
UNSPACED_CHARS = (2, 6)
"""The length of a phrase within a longer stretch of ideographs."""
MOST_PHRASES = 5

SHARED = 1.7
"""The power of the share of the sources that have a phrase. With 1, titles name what few of them are about."""
AGAIN = 0.5
"""Added for each doubling of a phrase's occurrences in a source."""
HEADING = 0.5
"""Added if a phrase is in a title or heading of a source."""
ALONE = 0.5
"""The factor for a phrase of a single source."""
LONGER = 0.6
"""Added for each further word of a phrase."""
INSIDE, SELDOM_LAST = 0.5, 0.3
"""The factor for a word that ends fewer than that share of its runs: it is probably an adjective."""
WIDER = 0.4
"""A phrase is extended by the words around it if they surround that share of its occurrences."""
SAME_STEM_CHARS = 5
"""Two words are the same if one begins with the other and that one has at least this length."""
SPEAKER_LINES = 4
"""A name that begins this many lines is a speaker, not a subject."""

_BEFORE_VERBS = """
i you we they he she it who to not am is are was were be been being m re ve ll will would can could should must may
might do does did don so very too really just how more most
"""
_SUBJECTS = frozenset(_BEFORE_VERBS.split())
"""Words before a verb or an adjective."""
_OBJECTS = ARTICLES | {"me", "him", "them", "us", "it", "myself", "yourself", "themselves"}
"""Words after a verb."""

Keys = tuple[str, ...]


def title_of(sources: Sequence[SummarySource], common: Mapping[str, float]) -> str:
    """5 to 15 words, or fewer if the sources have no more: the phrases that most of the sources share, in the sources'
    own spelling, joined by commas. A single source keeps its title."""
    if len(sources) < 2:
        return _short("".join(source.title for source in sources))
    usage = _read(sources)
    idf = Idf(common)
    left = {keys: phrase for keys, phrase in sorted(usage.phrases.items()) if not usage.is_speaker(keys)}
    worth = {keys: _bits(keys, phrase, idf) * usage.nominal(phrase) for keys, phrase in left.items()}
    covered = Counter[int]()
    title: list[str] = []
    while left and len(" ".join(title).split()) < LEAST_TITLE_WORDS and len(title) < MOST_PHRASES:
        gains = {keys: worth[keys] * phrase.spread(len(sources), covered) for keys, phrase in left.items()}
        best = max(gains, key=gains.__getitem__)
        if gains[best] <= 0:
            break
        best = _widest(best, left)
        title.append(left[best].spelling)
        covered.update(left[best].times.keys())
        left = {keys: phrase for keys, phrase in left.items() if not _same(keys, best)}
    return _short(", ".join(title)) or _short(sources[0].title)


@dataclass(slots=True)
class _Phrase:
    """`times`: source → number of occurrences; `headed`: the sources that have it in a title or heading."""

    times: Counter[int] = field(default_factory=Counter[int])
    headed: set[int] = field(default_factory=set[int])
    spellings: defaultdict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))

    @property
    def spelling(self) -> str:
        """The most frequent one; spellings at the start of a sentence count little, because of the capital."""
        best = max(self.spellings, key=lambda spelling: (self.spellings[spelling], spelling))
        return best.removesuffix("'s").removesuffix("’s")

    def spread(self, sources: int, covered: Mapping[int, int]) -> float:
        """How much of the sources it represents; less for those that the title already covers."""
        by_source = {at: 1 + HEADING * (at in self.headed) + AGAIN * math.log2(n) for at, n in self.times.items()}
        new = sum(value / (1 + covered.get(at, 0)) for at, value in by_source.items())
        alone = ALONE if len(by_source) == 1 else 1.0
        return new / sources * (sum(by_source.values()) / sources) ** (SHARED - 1) * alone


@dataclass(frozen=True, slots=True)
class _Usage:
    """The phrases of the sources by folded words, and how each word is used. All words are folded."""

    speakers: frozenset[str]
    phrases: defaultdict[Keys, _Phrase] = field(default_factory=lambda: defaultdict[Keys, _Phrase](_Phrase))
    as_noun: Counter[str] = field(default_factory=Counter[str])
    as_other: Counter[str] = field(default_factory=Counter[str])
    last: Counter[str] = field(default_factory=Counter[str])
    inside: Counter[str] = field(default_factory=Counter[str])

    def add(self, source: int, run: WordRun, *, is_heading: bool, is_english: bool) -> None:
        *inside, last = (fold(word.lower()) for word in run.words)
        if is_english:
            self.inside.update(inside)
            self.last[last] += 1
        if run.before in ARTICLES or run.before in PREPOSITIONS:
            self.as_noun.update(inside)
            self.as_noun[last] += not (inside and run.words[-1].endswith(("ing", "ed")))
        elif run.before in _SUBJECTS:
            self.as_other[fold(run.words[0].lower())] += 1
        self.as_other[last] += run.after in _OBJECTS
        for spelling, begins in _parts(run):
            keys = tuple(map(fold, words(spelling)))
            if len(set(keys)) == len(keys):
                phrase = self.phrases[keys]
                phrase.times[source] += 1
                phrase.spellings[spelling] += 0.1 if begins and run.opens else 1
                if is_heading:
                    phrase.headed.add(source)

    def nominal(self, phrase: _Phrase) -> float:
        """0 to 1: how much its first and last words are used like nouns."""
        first, *rest = (word.lower() for word in phrase.spelling.split())
        last = rest[-1] if rest else first
        ends = self.last[fold(last)]
        share = INSIDE if (ends + 0.5) / (ends + self.inside[fold(last)] + 0.5) < SELDOM_LAST else 1.0
        uses = math.prod(self._use(fold(word)) for word in {first, last}) ** (0.5 if rest else 1)
        adverbs = sum(word.isascii() and word.endswith("ly") for word in {first, last})
        verb = last.isascii() and last.endswith(("ing", "ed")) and not self.as_noun[fold(last)]
        return share * uses * 0.4**adverbs * (0.6 if verb else 1)

    def _use(self, word: str) -> float:
        nouns = self.as_noun[word] + 0.5
        return nouns / (nouns + self.as_other[word])

    def is_speaker(self, keys: Keys) -> bool:
        """Also true for a short form of a speaker's name."""
        return any(name.startswith(key) for key in keys if len(key) > 2 for name in self.speakers)


def _read(sources: Sequence[SummarySource]) -> _Usage:
    texts = [list(_lines(source)) for source in sources]
    leads = Counter(lead for lines in texts for line, _ in lines if (lead := speaker_of(line)))
    speakers = {lead for lead, count in leads.items() if count >= SPEAKER_LINES}
    usage = _Usage(frozenset(fold(word) for lead in speakers for word in words(lead)))
    for number, lines in enumerate(texts):
        grammar = function_words(word for line, _ in lines for word in words(line))

        def is_empty(word: str, grammar: frozenset[str] = grammar) -> bool:
            """A word of grammar, or one that names nothing."""
            return fold(word) in GENERIC_WORDS or all(
                part in grammar or part.isdigit() or fold(part) in GENERIC_WORDS for part in words(word)
            )

        for line, is_heading in lines:
            text = line.partition(":")[2] if speaker_of(line) in speakers else line
            for run in runs(text, is_empty):
                usage.add(number, run, is_heading=is_heading, is_english=grammar is ENGLISH)
    return usage


def _lines(source: SummarySource) -> Iterator[tuple[str, bool]]:
    """Lines, with whether each is a title or heading. A title that is only the beginning of the text is left out."""
    text = source.text[:READ_CHARS]
    found = sentences(text)[:MOST_SENTENCES]
    if not any(source.title.rstrip("….") in sentence.text for sentence in found):
        yield source.title, True
    yield from ((block.title, True) for block in scan(text) if block.kind is BlockKind.HEADING)
    yield from ((sentence.text, False) for sentence in found)


def _parts(run: WordRun) -> Iterator[tuple[str, bool]]:
    """The phrases in a run, with whether each is at its start."""
    if is_unspaced(run.words[0]):
        whole = run.words[0]
        yield whole, False
        least, most = UNSPACED_CHARS
        is_kana = "\u30a0" <= whole[0] <= "\u30ff"
        for size in range(least, min(most + 1, len(whole))) if len(whole) > 4 and not is_kana else ():
            yield from ((whole[at : at + size], False) for at in range(len(whole) - size + 1))
        return
    for size in range(1, PHRASE_WORDS + 1):
        for at in range(len(run.words) - size + 1):
            yield " ".join(run.words[at : at + size]), at == 0


def _bits(keys: Keys, phrase: _Phrase, idf: Idf) -> float:
    """The mean weight of its words, more for a longer phrase."""
    if not keys:
        return 0.0
    spelling = phrase.spelling
    longer = 0.2 * len(spelling) - 0.6 if is_unspaced(spelling) else LONGER * (len(spelling.split()) - 1)
    return sum(map(idf.bits, keys)) / len(keys) * (1 + min(longer, 2 * LONGER))


def _widest(keys: Keys, phrases: Mapping[Keys, _Phrase]) -> Keys:
    totals = {other: phrase.times.total() for other, phrase in phrases.items() if set(other) > set(keys)}
    enough = max(2, WIDER * phrases[keys].times.total())
    wider = [other for other, total in totals.items() if total >= enough]
    return max(wider, key=lambda other: (totals[other], len(other), other), default=keys)


def _same(keys: Keys, others: Keys) -> bool:
    """Whether they have a word in common."""
    return any(
        one == other
        or (min(len(one), len(other)) >= SAME_STEM_CHARS and (one.startswith(other) or other.startswith(one)))
        for one in keys
        for other in others
    )


def _short(title: str) -> str:
    cut = " ".join(title.split()[:MOST_TITLE_WORDS])
    return cut if len(cut) <= MOST_TITLE_CHARS else cut[:MOST_TITLE_CHARS].rsplit(" ", 1)[0].rstrip(",")
