"""Titles: a few phrases that say what some notes have in common, made of nothing but their words.

A phrase counts by how many of the notes have it, how rare its words are in memory, and whether they are used like
nouns: behind an article or a preposition, last in their run, not behind a pronoun or before an object. After the first
phrase those count more that tell of notes not told of yet. No model, and no dictionary but words that name nothing.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mcp_memory.summarizers.base import LEAST_TITLE_WORDS, MOST_TITLE_CHARS, MOST_TITLE_WORDS, SummarySource
from mcp_memory.text.conversation.speaker_prefix import lead_of
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import fold, words
from mcp_memory.text.language.word_lists import ARTICLES, ENGLISH, GENERIC_WORDS, PREPOSITIONS, function_words
from mcp_memory.text.language.word_runs import WordRun, is_unspaced, runs
from mcp_memory.text.markdown.blocks import BlockKind, scan

_LEAST_SHARE = 1e-4
"""So rare is a word of which nothing is known."""


class Idf:
    """Weights of words, by the share of all passages that have them."""

    def __init__(self, common: Mapping[str, float]) -> None:
        self._folded: dict[str, float] = {}
        for word, share in common.items():
            key = fold(word)
            self._folded[key] = max(share, self._folded.get(key, 0.0))

    def bits(self, word: str) -> float:
        """In bits, 0 for what every passage has. `word` is folded."""
        return -math.log2(min(1.0, max(self._folded.get(word, 0.0), _LEAST_SHARE)))


READ_CHARS = 20_000
MOST_SENTENCES = 64
"""Of one source."""

PHRASE_WORDS = 3
UNSPACED_CHARS = (2, 6)
"""Of a phrase within a longer stretch of ideographs."""
MOST_PHRASES = 5

SHARED = 1.7
"""The power of the share of the sources that have a phrase. With 1 it names what few of them are about."""
AGAIN = 0.5
"""What a source adds each time that it doubles how often it says a phrase …"""
HEADING = 0.5
"""… and where it says it in a title or heading."""
ALONE = 0.5
"""What a phrase of one source alone is worth."""
LONGER = 0.6
"""What each further word of a phrase adds."""
INSIDE, SELDOM_LAST = 0.5, 0.3
"""What a word is worth that ends fewer than that share of its runs: it is rather an adjective."""
WIDER = 0.4
"""A phrase is told with the words around it where that share of its places has them."""
SAME_STEM_CHARS = 5
"""Of two words of which one begins with the other, and that is so long, a title has one."""
SPEAKER_LINES = 4
"""Who begins so many lines is a speaker, and no subject."""

_BEFORE_VERBS = """
i you we they he she it who to not am is are was were be been being m re ve ll will would can could should must may
might do does did don so very too really just how more most
"""
_SUBJECTS = frozenset(_BEFORE_VERBS.split())
"""What stands before a verb or an adjective."""
_OBJECTS = ARTICLES | {"me", "him", "them", "us", "it", "myself", "yourself", "themselves"}
"""What stands behind a verb."""

Keys = tuple[str, ...]


def title_of(sources: Sequence[SummarySource], common: Mapping[str, float]) -> str:
    """5 to 15 words, fewer only where the sources have no more: the phrases that most of the sources share, in the
    sources' own spelling, commas between them. A single source keeps its title."""
    if len(sources) < 2:
        return _short("".join(source.title for source in sources))
    said = _said(sources)
    rarity = Idf(common)
    open_ones = {keys: phrase for keys, phrase in sorted(said.phrases.items()) if not said.is_speaker(keys)}
    worth = {keys: _bits(keys, phrase, rarity) * said.nominal(phrase) for keys, phrase in open_ones.items()}
    told = Counter[int]()
    title: list[str] = []
    while open_ones and len(" ".join(title).split()) < LEAST_TITLE_WORDS and len(title) < MOST_PHRASES:
        gains = {keys: worth[keys] * phrase.spread(len(sources), told) for keys, phrase in open_ones.items()}
        best = max(gains, key=gains.__getitem__)
        if gains[best] <= 0:
            break
        best = _widest(best, open_ones)
        title.append(open_ones[best].spelling)
        told.update(open_ones[best].times.keys())
        open_ones = {keys: phrase for keys, phrase in open_ones.items() if not _same(keys, best)}
    return _short(", ".join(title)) or _short(sources[0].title)


@dataclass(slots=True)
class _Phrase:
    """Where it is said: source → how often, in or out of headings."""

    times: Counter[int] = field(default_factory=Counter[int])
    headed: set[int] = field(default_factory=set[int])
    spellings: defaultdict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))

    @property
    def spelling(self) -> str:
        """The most frequent one; at the start of a sentence a capital says little."""
        best = max(self.spellings, key=lambda each: (self.spellings[each], each))
        return best.removesuffix("'s").removesuffix("’s")

    def spread(self, sources: int, told: Mapping[int, int]) -> float:
        """How much of the sources it stands for, those less that the title has told of before."""
        of_each = {at: 1 + HEADING * (at in self.headed) + AGAIN * math.log2(n) for at, n in self.times.items()}
        new = sum(value / (1 + told.get(at, 0)) for at, value in of_each.items())
        alone = ALONE if len(of_each) == 1 else 1.0
        return new / sources * (sum(of_each.values()) / sources) ** (SHARED - 1) * alone


@dataclass(frozen=True, slots=True)
class _Said:
    """What the sources say: their phrases by folded words, and how each word is used. All words are folded."""

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
        """0 to 1: whether its first and last words are used like nouns."""
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
        """Or a short form of one's name."""
        return any(name.startswith(key) for key in keys if len(key) > 2 for name in self.speakers)


def _said(sources: Sequence[SummarySource]) -> _Said:
    lines = [list(_lines(source)) for source in sources]
    leads = Counter(lead for some in lines for line, _ in some if (lead := lead_of(line)))
    often = {lead for lead, count in leads.items() if count >= SPEAKER_LINES}
    said = _Said(frozenset(fold(word) for lead in often for word in words(lead)))
    for number, some in enumerate(lines):
        grammar = function_words(word for line, _ in some for word in words(line))
        is_empty = _emptiness(grammar)
        for line, is_heading in some:
            text = line.partition(":")[2] if lead_of(line) in often else line
            for run in runs(text, is_empty):
                said.add(number, run, is_heading=is_heading, is_english=grammar is ENGLISH)
    return said


def _lines(source: SummarySource) -> Iterator[tuple[str, bool]]:
    """Each with whether it is a title or heading. A title that was only cut from the text is none."""
    text = source.text[:READ_CHARS]
    told = sentences(text)[:MOST_SENTENCES]
    if not any(source.title.rstrip("….") in sentence.text for sentence in told):
        yield source.title, True
    yield from ((block.title, True) for block in scan(text) if block.kind is BlockKind.HEADING)
    yield from ((sentence.text, False) for sentence in told)


def _emptiness(grammar: frozenset[str]) -> Callable[[str], bool]:
    """Tells of a word whether it is one of grammar, or else names nothing."""

    def is_empty(word: str) -> bool:
        return fold(word) in GENERIC_WORDS or all(
            part in grammar or part.isdigit() or fold(part) in GENERIC_WORDS for part in words(word)
        )

    return is_empty


def _parts(run: WordRun) -> Iterator[tuple[str, bool]]:
    """The phrases in a run, with whether each is at its start."""
    if is_unspaced(run.words[0]):
        yield run.words[0], False
        least, most = UNSPACED_CHARS
        whole = run.words[0]
        for long in range(least, min(most + 1, len(whole))) if len(whole) > 4 and not _is_kana(whole) else ():
            yield from ((whole[at : at + long], False) for at in range(len(whole) - long + 1))
        return
    for long in range(1, PHRASE_WORDS + 1):
        for at in range(len(run.words) - long + 1):
            yield " ".join(run.words[at : at + long]), at == 0


def _is_kana(word: str) -> bool:
    return "\u30a0" <= word[0] <= "\u30ff"


def _bits(keys: Keys, phrase: _Phrase, rarity: Idf) -> float:
    """What its words tell, more the longer it is."""
    if not keys:
        return 0.0
    spelling = phrase.spelling
    longer = 0.2 * len(spelling) - 0.6 if is_unspaced(spelling) else LONGER * (len(spelling.split()) - 1)
    return sum(map(rarity.bits, keys)) / len(keys) * (1 + min(longer, 2 * LONGER))


def _widest(keys: Keys, phrases: Mapping[Keys, _Phrase]) -> Keys:
    times = phrases[keys].times.total()
    wider = [
        each
        for each, phrase in phrases.items()
        if set(each) > set(keys) and phrase.times.total() >= max(2, WIDER * times)
    ]
    return max(wider, key=lambda each: (phrases[each].times.total(), len(each), each), default=keys)


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
