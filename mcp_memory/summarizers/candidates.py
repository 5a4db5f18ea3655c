"""Collects the candidates for a summary: sentences, and titles that state something; and weights words."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mcp_memory.runtime.health import give_way
from mcp_memory.summarizers.base import SummarySource
from mcp_memory.text.conversation.speaker_prefix import speaker_of
from mcp_memory.text.language.facts import FactKind, facts
from mcp_memory.text.language.sentences import Sentence, defined_by, is_question, sentences
from mcp_memory.text.language.terms import REPEATED, content_words, coverage, fold
from mcp_memory.text.language.word_runs import is_unspaced
from mcp_memory.text.markdown.inline_text import is_harmless

READ_CHARS = 20_000
MOST_SENTENCES = 64
"""The most sentences read from a single source."""
_LEAST_SHARE = 1e-4
"""The assumed share of a word that isn't in the index."""
LEAST_STATED = 5
"""The minimum number of content words in a title that states something; a shorter title only names its note."""
_ASKS = re.compile(
    r"(?:which|what|how|why|when|where|who|welche[rsnm]?|was|wie|warum|wann|wo|wer|quel(?:le)?s?|comment|pourquoi|qu[eé]"
    r"|c[oó]mo|por qu[eé]|cu[aá]l(?:es)?|почему|как|когда|где|что)\b",
    re.IGNORECASE,
)
"""The start of a title that names the question of its note instead of the answer."""


class Idf:
    """Weights words by the share of all passages that contain them."""

    def __init__(self, common: Mapping[str, float]) -> None:
        self._folded: dict[str, float] = {}
        for word, share in common.items():
            key = fold(word)
            self._folded[key] = max(share, self._folded.get(key, 0.0))

    def bits(self, word: str) -> float:
        """Return the weight of a folded `word`; 0 for a word in every passage."""
        return -math.log2(min(1.0, max(self._folded.get(word, 0.0), _LEAST_SHARE)))


@dataclass(frozen=True)
class SummaryCandidate:
    text: str
    source: int
    place: int
    """The index of the sentence in the note, from 0."""
    words: frozenset[str]
    lead: str = ""
    """The prefix in a list: the note's title, unless the sentence names its own subject."""
    is_title: bool = False

    @property
    def cost(self) -> int:
        """The length in characters as a line of a list."""
        return len(self.lead) + len(self.text) + 3


def candidates_of(sources: Sequence[SummarySource], *, with_titles: bool) -> Iterator[SummaryCandidate]:
    titles = [_statement(source.title) if with_titles else "" for source in sources]
    common = Counter(word for title in titles for word in content_words(title))
    for number, (source, title) in enumerate(zip(sources, titles, strict=True)):
        give_way()
        seen: set[frozenset[str]] = set()
        found = sentences(source.text[:READ_CHARS])[:MOST_SENTENCES]
        stated = content_words(title)
        if len(stated) < LEAST_STATED or _is_repeated(stated, common) or _is_told(stated, title, found):
            stated = frozenset[str]()
        else:
            yield SummaryCandidate(title, number, 0, stated, is_title=True)
        for sentence, speaker in zip(found, _speakers(found), strict=True):
            words = content_words(sentence.text)
            if words and words not in seen and coverage(words, stated) < REPEATED:
                seen.add(words)
                place = sentence.place + (1 if stated else 0)
                yield SummaryCandidate(f"{speaker}{sentence.text}", number, place, words)


def plain_title(title: str) -> str:
    """Return a title as a plain sentence; empty for a title that could open a Markdown block or hide the rest of a
    page."""
    found = sentences(title)
    return found[0].text if len(found) == 1 and is_harmless(title) else ""


def _statement(title: str) -> str:
    """Return a title as a sentence; empty for a title that is cut off, asks or announces."""
    text = plain_title(title)
    is_other = text.endswith(("…", ":")) or is_question(text) or _ASKS.match(text) or is_unspaced(text)
    return "" if is_other else text


def _is_repeated(stated: frozenset[str], common: Counter[str]) -> bool:
    """Return whether other titles contain most of its words, as in a series of "Weekly status report of …"."""
    return sum(common[word] > 1 or word.isdigit() for word in stated) >= REPEATED * len(stated)


def _is_told(stated: frozenset[str], title: str, found: Sequence[Sentence]) -> bool:
    """Return whether a sentence makes the title redundant.

    The sentence repeats the title, which may have been derived from it before an edit; or it adds a number, date or
    identifier that the title lacks. A title that defines its subject isn't made redundant by an added value."""
    words = (content_words(each.text) for each in found)
    is_said = any(coverage(stated, each) >= REPEATED for each in words)
    only_names = not _has_value(title) and not defined_by(title)
    return is_said or (only_names and any(_has_value(each.text) for each in found[:1]))


def _has_value(text: str) -> bool:
    return any(fact.kind not in {FactKind.NAME, FactKind.NEGATION} for fact in facts(text))


def _speakers(found: Sequence[Sentence]) -> Iterator[str]:
    """Yield the prefix of each sentence, so that later sentences of a turn in a conversation still name the speaker."""
    leads = [speaker_of(sentence.text) for sentence in found]
    times = Counter(filter(None, leads))
    is_talk = bool(leads and leads[0]) and 2 * len(times) <= times.total()
    speaker = ""
    for lead in leads:
        if lead and times[lead] > 1:
            speaker = f"{lead}: "
        yield speaker if is_talk and not lead else ""
