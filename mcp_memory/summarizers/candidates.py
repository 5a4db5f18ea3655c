"""The sentences that a summary may be made of, with the titles that state something."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_memory.runtime.idle_detector import give_way
from mcp_memory.summarizers.base import SummarySource
from mcp_memory.summarizers.topic_labels import MOST_SENTENCES, READ_CHARS
from mcp_memory.text.conversation.speaker_prefix import speaker_of
from mcp_memory.text.language.clauses import defined_by, is_question
from mcp_memory.text.language.facts import FactKind, facts
from mcp_memory.text.language.sentences import Sentence, sentences
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.language.word_runs import is_unspaced
from mcp_memory.text.markdown.inline_text import is_harmless

LEAST_STATED = 5
"""A title of fewer content words names its note and states nothing."""
_ASKS = re.compile(
    r"(?:which|what|how|why|when|where|who|welche[rsnm]?|was|wie|warum|wann|wo|wer|quel(?:le)?s?|comment|pourquoi|qu[eé]"
    r"|c[oó]mo|por qu[eé]|cu[aá]l(?:es)?|почему|как|когда|где|что)\b",
    re.IGNORECASE,
)
"""How a title begins that says what its note answers, and not the answer."""
RESTATED = 0.8
"""A sentence that has this share of its words in its note's title says the same."""


@dataclass(frozen=True, slots=True)
class SummaryCandidate:
    text: str
    source: int
    place: int
    """Its number in the note, from 0."""
    words: frozenset[str]
    lead: str = ""
    """What a list puts before it: its note's title, if it doesn't name its subject itself."""
    is_title: bool = False

    @property
    def cost(self) -> int:
        """In characters, as a line of a list."""
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
            if words and words not in seen and len(words & stated) < RESTATED * len(words):
                seen.add(words)
                place = sentence.place + (1 if stated else 0)
                yield SummaryCandidate(f"{speaker}{sentence.text}", number, place, words)


def plain_title(title: str) -> str:
    """A title as one sentence; empty for one that isn't prose: what could open a block or hide the rest of a page."""
    found = sentences(title)
    return found[0].text if len(found) == 1 and is_harmless(title) else ""


def _statement(title: str) -> str:
    """A title as a sentence; empty for one that is cut, asks or announces."""
    text = plain_title(title)
    is_other = text.endswith(("…", ":")) or is_question(text) or _ASKS.match(text) or is_unspaced(text)
    return "" if is_other else text


def _is_repeated(stated: frozenset[str], common: Counter[str]) -> bool:
    """Whether other titles have most of its words, as where each says "Weekly status report of …"."""
    return sum(common[word] > 1 or word.isdigit() for word in stated) >= RESTATED * len(stated)


def _is_told(stated: frozenset[str], title: str, found: Sequence[Sentence]) -> bool:
    """Whether a sentence says what the title does, which may have been made from it before it was edited; or has a
    number, date or identifier where the title has none, and so only says of what, unless it defines that."""
    words = (content_words(each.text) for each in found)
    is_said = any(len(stated & each) >= RESTATED * len(stated) for each in words)
    only_names = not _has_value(title) and not defined_by(title)
    return is_said or (only_names and any(_has_value(each.text) for each in found[:1]))


def _has_value(text: str) -> bool:
    return any(fact.kind not in {FactKind.NAME, FactKind.NEGATION} for fact in facts(text))


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
