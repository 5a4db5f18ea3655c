"""Names a topic by what its notes have in common, in their own words or in the subjects that agents assigned.

The score of a phrase grows with the number of notes that contain it and with the rarity of its words in memory. Phrases
used like nouns score higher: after an article or a preposition, not after a pronoun or before an object. A phrase from
few of the notes is used only without a better phrase. No model, and no dictionary except words that name nothing.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from mcp_memory.summarizers.base import MOST_TITLE_CHARS, MOST_TITLE_WORDS, SummarySource
from mcp_memory.summarizers.idf import Idf
from mcp_memory.text.conversation.speaker_prefix import speaker_of
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.subjects import EMPTY_WORDS, LABELS, lead_of, shared_subject, subject_of
from mcp_memory.text.language.terms import fold, words
from mcp_memory.text.language.word_lists import ARTICLES, PREPOSITIONS, function_words
from mcp_memory.text.language.word_runs import WordRun, is_unspaced, runs
from mcp_memory.text.markdown.blocks import scan

READ_CHARS, MOST_SENTENCES = 20_000, 64
"""How much of a single source is read."""
PHRASE_WORDS = 3
UNSPACED_CHARS = (2, 6)
"""The minimum and maximum length of a phrase within a longer run of ideographs."""
MOST_PHRASES = 2

SHARED = 2.5
"""The exponent for the share of the sources that contain a phrase. With 1, titles name minor subjects."""
AGAIN = 0.5
"""Added for each doubling of a phrase's occurrences in a source."""
HEADING = 0.5
"""Added if a phrase is in a title or heading of a source."""
FEW = 0.2
"""The factor for a phrase that less than half of the sources contain."""
ENOUGH = 0.6
"""The share of the sources that a title's phrases cover."""
LONGER = 0.6
"""Added for each further word of a phrase."""
WIDER = 0.4
"""The share of a phrase's occurrences with the same surrounding words above which these words extend it."""
SPEAKER_LINES = 4
"""The number of lines from which a name at their start is a speaker, not a subject."""

_BEFORE_VERBS = """
i you we they he she it who to not am is are was were be been being m re ve ll will would can could should must may
might do does did don so very too really just how more most
"""
_SUBJECTS = frozenset(_BEFORE_VERBS.split())
"""Words before a verb or an adjective."""
_OBJECTS = ARTICLES | {"me", "him", "them", "us", "it", "myself", "yourself", "themselves"}
"""Words after a verb."""

_HEADING = re.compile(r"#{1,6} +([^#\n]{1,59}[^#\s])(?![^\W_])")  # up to the end of a word
Keys = tuple[str, ...]


def title_of(sources: Sequence[SummarySource], common: Mapping[str, float], hint: str = "") -> str:
    """Name the subject of the sources in their own words.

    The name is a lead that most of their first lines share, such as `Japan trip: `. Otherwise it is the subject that
    many of their tags name, or else the phrase that most of them share. A second phrase is added if many sources lack
    the first. Words of `hint` aren't repeated. A single source keeps its title."""
    if len(sources) < 2:
        return short_title("".join(source.title for source in sources))
    if lead := _shared_lead(sources, hint):
        return short_title(lead)
    if subject := shared_subject([subject_of(source.tags, hint) for source in sources]):
        return short_title(_spelled(subject, sources))
    usage = _read(sources)
    idf = Idf(common)
    hinted = set(map(fold, words(hint)))
    left = {keys: phrase for keys, phrase in sorted(usage.phrases.items())
            if not usage.is_speaker(keys) and not hinted.intersection(keys)}  # fmt: skip
    worth = {keys: _bits(keys, phrase, idf) * usage.nominal(phrase) for keys, phrase in left.items()}
    covered = set[int]()
    title: list[str] = []
    while left and len(title) < MOST_PHRASES:
        new = {keys: phrase.times.keys() - covered for keys, phrase in left.items()}
        gains = {keys: worth[keys] * phrase.weight(len(sources)) * (len(new[keys]) / len(phrase.times)) ** 2
                 for keys, phrase in left.items()}  # fmt: skip
        best = max(gains, key=gains.__getitem__)
        is_enough = len(new[best]) >= min(2, len(sources)) and gains[best] > 0
        if not is_enough or (title and 2 * len(new[best]) < len(sources) - len(covered)):
            break
        totals = {other: phrase.times.total() for other, phrase in left.items() if set(other) > set(best)}
        enough = max(2, WIDER * left[best].times.total())
        wider = [other for other, total in totals.items() if total >= enough]
        best = max(wider, key=lambda other: (totals[other], len(other), other), default=best)
        title.append(left[best].spelling)
        covered |= left[best].times.keys()
        if len(covered) >= ENOUGH * len(sources):
            break
        left = {keys: phrase for keys, phrase in left.items() if not set(keys) & set(best)}
    return short_title(", ".join(title)) or short_title(sources[0].title)


def _spelled(subject: str, sources: Sequence[SummarySource]) -> str:
    """Spell a subject as most notes do, but with a capital: `DST`, `CI/CD`, `Google Calendar`."""
    pattern = re.compile(rf"(?<!\w){r'[-_/ ]'.join(map(re.escape, subject.split()))}(?!\w)", re.IGNORECASE)
    read = (f"{source.title}\n{source.text[:READ_CHARS]}" for source in sources)
    found = Counter(match[0] for text in read for match in pattern.finditer(text))
    spelling = max(found, key=lambda one: (found[one], one), default=subject)
    spelling = subject if spelling.islower() else spelling
    return spelling[:1].upper() + spelling[1:] if spelling.islower() else spelling


def _shared_lead(sources: Sequence[SummarySource], hint: str) -> str:
    """Return the words before a colon, or the first heading, of half of the sources, without the parts that `hint`
    says; empty if they name nothing."""
    spelled: defaultdict[Keys, Counter[str]] = defaultdict(Counter)
    for source in sources:
        if sum(bool(speaker_of(line)) for line in source.text.splitlines()) > 1:
            continue  # the source is a conversation
        first = source.text.lstrip().partition("\n")[0]
        heading = _HEADING.match(first)
        leads = {heading[1] if heading else "", lead_of(source.title), lead_of(first)}
        for lead in {", ".join(parts) for each in leads for parts in accumulate(_new_parts(each, hint))}:
            spelled[tuple(fold(word) for word in words(lead))][lead] += 1
    most = max(spelled, key=lambda keys: (spelled[keys].total(), keys), default=())
    if not most or spelled[most].total() < max(2, len(sources) / 2) or all(word in LABELS for word in most):
        return ""
    return spelled[most].most_common(1)[0][0]


def _new_parts(lead: str, hint: str) -> Iterator[tuple[str, ...]]:
    """Yield the parts of a lead such as `Japan trip, food`, except those with only words of the hint."""
    known = set(map(fold, words(hint)))
    for part in lead.split(", "):
        if not set(map(fold, words(part))) <= known:
            yield (part[:1].upper() + part[1:],) if known else (part,)


@dataclass
class _Phrase:
    """A phrase. `times` counts its occurrences by source; `headed` are the sources with it in a title or heading."""

    times: Counter[int] = field(default_factory=Counter[int])
    headed: set[int] = field(default_factory=set[int])
    spellings: defaultdict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))

    @property
    def spelling(self) -> str:
        """The most frequent spelling; spellings at the start of a sentence weigh little, because of the capital."""
        best = max(self.spellings, key=lambda spelling: (self.spellings[spelling], spelling))
        return best.removesuffix("'s").removesuffix("’s")

    def weight(self, sources: int) -> float:
        """Return the share of the sources that the phrase represents, weighted."""
        by_source = (1 + HEADING * (at in self.headed) + AGAIN * math.log2(n) for at, n in self.times.items())
        few = FEW if 2 * len(self.times) < sources else 1.0
        return (sum(by_source) / sources) ** SHARED * few


@dataclass(frozen=True)
class _Usage:
    """The phrases of the sources by folded words, and the use of each word. All words are folded."""

    speakers: frozenset[str]
    phrases: defaultdict[Keys, _Phrase] = field(default_factory=lambda: defaultdict[Keys, _Phrase](_Phrase))
    as_noun: Counter[str] = field(default_factory=Counter[str])
    as_other: Counter[str] = field(default_factory=Counter[str])

    def add(self, source: int, run: WordRun, *, is_heading: bool) -> None:
        *inside, last = (fold(word.lower()) for word in run.words)
        if run.before in ARTICLES or run.before in PREPOSITIONS:
            self.as_noun.update(inside)
            self.as_noun[last] += not (inside and run.words[-1].endswith(("ing", "ed")))
        elif run.before in _SUBJECTS:
            self.as_other[fold(run.words[0].lower())] += 1
        self.as_other[last] += run.after in _OBJECTS
        for spelling, begins in _parts(run):
            keys = tuple(fold(word) for word in words(spelling))
            if len(set(keys)) == len(keys):
                phrase = self.phrases[keys]
                phrase.times[source] += 1
                phrase.spellings[spelling] += 0.1 if begins and run.opens else 1
                if is_heading:
                    phrase.headed.add(source)

    def nominal(self, phrase: _Phrase) -> float:
        """Rate, 0 to 1, how noun-like the use of its first and last words is."""
        spelled = phrase.spelling.lower().split()
        uses = math.prod(self._use(fold(word)) for word in {spelled[0], spelled[-1]})
        return uses if len(spelled) == 1 else math.sqrt(uses)

    def _use(self, word: str) -> float:
        nouns = self.as_noun[word] + 0.5
        return nouns / (nouns + self.as_other[word])

    def is_speaker(self, keys: Keys) -> bool:
        """Return whether a phrase is a speaker's name, or a short form of it."""
        return any(name.startswith(key) for key in keys if len(key) > 2 for name in self.speakers)


def _read(sources: Sequence[SummarySource]) -> _Usage:
    texts = [list(_lines(source)) for source in sources]
    leads = Counter(lead for lines in texts for line, _ in lines if (lead := speaker_of(line)))
    speakers = {lead for lead, count in leads.items() if count >= SPEAKER_LINES}
    usage = _Usage(frozenset(fold(word) for lead in speakers for word in words(lead)))
    for number, lines in enumerate(texts):
        grammar = function_words(word for line, _ in lines for word in words(line))

        def is_empty(word: str, grammar: frozenset[str] = grammar) -> bool:
            """Return whether a word is grammatical, or names nothing."""
            return fold(word) in EMPTY_WORDS or all(
                part in grammar or part.isdigit() or fold(part) in EMPTY_WORDS for part in words(word)
            )

        for line, is_heading in lines:
            text = line.partition(":")[2] if speaker_of(line) in speakers else line
            for run in runs(text, is_empty):
                usage.add(number, run, is_heading=is_heading)
    return usage


def _lines(source: SummarySource) -> Iterator[tuple[str, bool]]:
    """Yield lines, and whether each is a title or heading. A title that repeats the start of the text is skipped."""
    text = source.text[:READ_CHARS]
    found = sentences(text)[:MOST_SENTENCES]
    if not any(source.title.rstrip("….") in sentence.text for sentence in found):
        yield source.title, True
    yield from ((block.title, True) for block in scan(text) if block.kind == "heading")
    yield from ((tag, True) for tag in source.tags)
    yield from ((sentence.text, False) for sentence in found)


def _parts(run: WordRun) -> Iterator[tuple[str, bool]]:
    """Yield the phrases in a run, and whether each is at its start."""
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
    """Return the mean weight of its words; longer phrases get more."""
    if not keys:
        return 0.0
    spelling = phrase.spelling
    longer = 0.2 * len(spelling) - 0.6 if is_unspaced(spelling) else LONGER * (len(spelling.split()) - 1)
    return sum(map(idf.bits, keys)) / len(keys) * (1 + min(longer, 2 * LONGER))


def short_title(title: str) -> str:
    """Cut a title to the limits of words and characters, at the end of a word."""
    cut = " ".join(title.split()[:MOST_TITLE_WORDS])
    return cut if len(cut) <= MOST_TITLE_CHARS else cut[:MOST_TITLE_CHARS].rsplit(" ", 1)[0].rstrip(",")
