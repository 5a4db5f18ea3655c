"""Finds recurring statements on several days, and notes that answered several questions. Pure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

from mcp_memory.comparison.comparison import SAME_IN_REVIEW, Comparison, Cosine
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.runtime.health import give_way
from mcp_memory.statements.statement_rules import classify
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.markdown import logs
from mcp_memory.text.pluralize import counted
from mcp_memory.text.text_hash import text_hash

SECTIONS = {"preference": "Preferences", "decision": "Decisions", "lesson": "Lessons"}
CONTEXT = "Project context"
"""The section for all other kinds."""

MOST_CHARS = 300
"""The most characters of a statement; a longer statement doesn't fit a line of MEMORY.md."""

DOUBT = 0.75
"""The factor by which each further day or different question reduces the doubt. Chosen, not fitted."""

MIN_DAYS = 3
"""The number of days on which it was said or used: two may be one piece of work."""

MIN_RECALLED, MIN_QUESTIONS = 3, 2
"""The number of times a note must have been found or given, and of different questions."""

MIN_SCORE = 0.55
"""The least `1 - DOUBT ** (days + questions)`: three days are .58."""


class Said(NamedTuple):
    """A sentence with its source. `kind` is empty for a sentence without a lasting statement, which may still
    contradict."""

    day: date
    source: str
    text: str
    kind: str


class Recurrence(NamedTuple):
    """A statement that recurs on several `days` (ISO 8601), with its earliest text. If it comes from a note, `note` is
    the id, `recalled` counts how often the note was recalled on these days, and `questions` the different questions."""

    text: str
    kind: str
    days: tuple[str, ...]
    sources: tuple[str, ...]
    recalled: int = 0
    questions: int = 0
    note: str = ""

    @property
    def id(self) -> str:
        """8 hexadecimal digits of its words, the same on every machine."""
        words = " ".join(sorted(content_words(self.text))) or self.text
        return text_hash(words, 8)

    @property
    def section(self) -> str:
        return SECTIONS.get(self.kind, CONTEXT)

    @property
    def why(self) -> str:
        asked = counted(self.questions, "different question")
        what = f"recalled {self.recalled} × for {asked}" if self.recalled else "said"
        on = f"on {counted(len(self.days), 'day')} from {self.days[0]} to {self.days[-1]}"
        return f"{what} {on}; score {self.score:.2f}"

    @property
    def score(self) -> float:
        """The score, 0 to 1."""
        return round(1 - DOUBT ** (len(self.days) + self.questions), 2)

    @property
    def passes(self) -> bool:
        """Return whether it recurs enough to be proposed."""
        serves = self.recalled >= MIN_RECALLED and self.questions >= MIN_QUESTIONS
        return len(self.days) >= MIN_DAYS and self.score >= MIN_SCORE and (serves or not self.recalled)


def find_said(day: date, source: str, text: str, forgotten: Collection[str]) -> Iterator[Said]:
    """Yield the sentences of a log's entries, or of a whole text."""
    entries = logs.entries(text)
    parts = [text[one.start : one.end] for one in entries if one.hash not in forgotten] if entries else [text]
    for heading, _, body in (part.partition("\n") for part in parts):
        title = logs.title_and_labels([heading.removeprefix("## ")])[0]
        for line in (title, *(line.strip().lstrip("-*+ ") for line in body.splitlines())):
            for sentence in user_sentences(line) if line else ():
                if len(sentence.text) <= MOST_CHARS and not sentence.is_question:
                    kind = statement.kind.value if (statement := classify(sentence)) else ""
                    yield Said(day, source, " ".join(sentence.text.split()), kind)


def find_recurring(said: Iterable[Said], cosine: Cosine) -> list[Recurrence]:
    """Group statements that say the same with equal numbers and negation, unless a later statement contradicts them."""
    groups, of_word, of_text = list[list[Said]](), defaultdict[str, set[int]](set), dict[str, int]()
    for one in sorted(set(said)):
        give_way()
        if one.text not in of_text:
            words = content_words(one.text)
            near = [number for number, _ in Counter(n for word in words for n in of_word[word]).most_common(8)]
            first = {number: groups[number][0] for number in near}
            same = (number for number in near if _compare(first[number], one, cosine).says_the_same)
            of_text[one.text] = next(same, len(groups))
            for word in words:
                of_word[word].add(of_text[one.text])
        groups[len(groups) :] = [[]] if of_text[one.text] == len(groups) else []
        groups[of_text[one.text]].append(one)

    def is_over(group: Sequence[Said]) -> bool:
        last = group[-1]
        related = Counter(number for word in content_words(last.text) for number in of_word[word])
        others = [groups[number][-1] for number, count in related.items() if count > 1 and groups[number] != group]
        later = (other for other in others if other.day >= last.day)
        return any(_compare(last, one, cosine).other_value for one in later)

    recurring: list[Recurrence] = []
    for group in groups:
        if len(group) > 1 and any(one.kind for one in group) and not is_over(group):
            days = sorted({one.day.isoformat() for one in group})
            sources = dict.fromkeys(one.source for one in group)
            kind = max(one.kind for one in group)
            recurring.append(Recurrence(group[0].text, kind, tuple(days), tuple(sources)))
    return recurring


def _compare(older: Said, newer: Said, cosine: Cosine) -> Comparison:
    first, second = NoteText(older.text, kind=older.kind), NoteText(newer.text, kind=newer.kind)
    return Comparison(first, second, cosine, SAME_IN_REVIEW)
