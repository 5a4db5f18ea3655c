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
from mcp_memory.text.language.sentences import Sentence, sentences
from mcp_memory.text.language.terms import content_words

LEAST_STATED = 5
"""A title of fewer content words names its note and states nothing."""
_ASKS = re.compile(
    r"(?:which|what|how|why|when|where|who|welche[rsnm]?|was|wie|warum|wann|wo|wer|quel(?:le)?s?|comment|pourquoi|qu[eé]"
    r"|c[oó]mo|por qu[eé]|cu[aá]l(?:es)?)\b",
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
    for number, source in enumerate(sources):
        give_way()
        seen: set[frozenset[str]] = set()
        found = sentences(source.text[:READ_CHARS])[:MOST_SENTENCES]
        title = _stated(source.title, found) if with_titles else frozenset[str]()
        if title:
            yield SummaryCandidate(source.title, number, 0, title, is_title=True)
        for sentence, speaker in zip(found, _speakers(found), strict=True):
            words = content_words(sentence.text)
            if words and words not in seen and len(words & title) < RESTATED * len(words):
                seen.add(words)
                yield SummaryCandidate(f"{speaker}{sentence.text}", number, sentence.place + bool(title), words)


def _stated(title: str, found: Sequence[Sentence]) -> frozenset[str]:
    """The words of a title that somebody wrote to say what the note says; none if a sentence says it, from which it may
    have been made before that was edited."""
    stated = content_words(title)
    if len(stated) < LEAST_STATED or title.endswith("…") or _ASKS.match(title):
        return frozenset()
    is_told = any(len(stated & content_words(each.text)) >= RESTATED * len(stated) for each in found)
    return frozenset() if is_told else stated


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
