"""Groups what logs say by subject, and finds notes that answered several questions. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from mcp_memory.comparison.likeness import Likeness
from mcp_memory.curation.dreams.log_lines import LIKELY, MOST_CHARS, LogLine, judge, lines_in
from mcp_memory.runtime.health import give_way
from mcp_memory.runtime.json_lines import Facts
from mcp_memory.statements.classifier import SentenceModel
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.markdown import logs
from mcp_memory.text.markdown.frontmatter import parse
from mcp_memory.text.pluralize import counted
from mcp_memory.text.text_hash import text_hash

SECTIONS = {"preference": "Preferences", "decision": "Decisions", "lesson": "Lessons"}
CONTEXT = "Project context"
"""The section for all other kinds."""

DOUBT = 0.75
"""The factor by which each further day or different question reduces the doubt. Chosen, not fitted."""

MIN_DAYS = 3
"""The number of days on which a note must have been found or given: two may be one piece of work."""

MIN_QUESTIONS = 2
"""The number of different questions that a note must have answered."""

OFTEN = 0.6
"""The likelihood from which a line is worth remembering that was said on several days."""

POSSIBLE = 0.45
"""The likelihood from which a line is perhaps worth remembering."""

MOST_WORDINGS = 5
"""The latest wordings of a group that a line is compared with, or that are shown below its best."""

MOST_NEAR = 20
"""The most groups with common words that a statement is compared with."""


class Said(NamedTuple):
    """A line with its source. `kept`: how likely it is worth remembering; other lines are only evidence. `forgets`: it
    reports that what it names is to be forgotten."""

    day: date
    source: str
    text: str
    kind: str
    kept: float = 1.0
    forgets: bool = False


class Proposal(NamedTuple):
    """Anything that is proposed besides a statement. `key` is the same on every machine. `more` is what is needed to
    carry it out."""

    key: str
    text: str
    why: str
    section: str
    sources: Sequence[str]
    more: Facts

    @property
    def id(self) -> str:
        """8 hexadecimal digits."""
        return text_hash(self.key, 8)

    @property
    def facts(self) -> Facts:
        return {"id": self.id, **self._asdict(), **self.more, "status": "proposed"}


class Recurrence(NamedTuple):
    """A statement that was made on these `days` (ISO 8601), in its best wording. If a note says it, `notes` has
    the id, `recalled` counts how often the note was recalled, and `questions` the different questions. `wordings` are
    other lines on the subject, each with when it was said."""

    text: str
    kind: str
    days: Sequence[str]
    sources: Sequence[str]
    recalled: int = 0
    questions: int = 0
    notes: tuple[str, ...] = ()
    wordings: Sequence[str] = ()

    @property
    def id(self) -> str:
        """8 hexadecimal digits of its words, the same on every machine."""
        words = " ".join(sorted(content_words(self.text))) or self.text
        return text_hash(words, 8)

    @property
    def section(self) -> str:
        return SECTIONS.get(self.kind, CONTEXT)

    @property
    def facts(self) -> Facts:
        more = {name: getattr(self, name) for name in ("id", "section", "score", "why")}
        return {**self._asdict(), **more, "status": "proposed"}

    @property
    def why(self) -> str:
        what = "said"
        if self.recalled:
            what = f"recalled {self.recalled} × for {counted(self.questions, 'different question')}"
        first, last = self.days[0], self.days[-1]
        on = f"on {first}" if first == last else f"on {counted(len(self.days), 'day')} from {first} to {last}"
        return f"{what} {on}; score {self.score:.2f}"

    @property
    def score(self) -> float:
        """The score, 0 to 1."""
        return round(1 - DOUBT ** (len(self.days) + self.questions), 2)

    @property
    def passes(self) -> bool:
        """Return whether it may be proposed. A note must answer questions; what is in logs was judged before."""
        return not self.notes or self.questions >= MIN_QUESTIONS


def find_lines(text: str, marks: Mapping[str, Any], model: SentenceModel | None) -> Iterator[LogLine]:
    """Yield the lines of a log's entries, or of a whole text. Of what these `marks` call private, only the wishes to
    forget. Forgotten entries ask to forget what they say. A single word, such as a heading, says nothing."""
    start = parse(text).body_start
    entries, private = logs.entries(text, start), marks.get("private_entries", ())
    parts = [(text[one.start : one.end], one.hash) for one in entries if one.hash not in private]
    before = ("\n" * text.count("\n", 0, start) + text[start : entries[0].start if entries else len(text)]).split("\n")
    hidden = list[str]()
    for first, last in marks.get("private_lines", ()):
        hidden += before[first - 1 : last]
        before[first - 1 : last] = [""] * (last + 1 - first)
    for part, entry in [("\n".join(before), ""), *parts]:
        heading, _, body = part.partition("\n")
        title = logs.title_and_labels([heading.removeprefix("## ")])[0] if entry else heading
        for one in judge(list(_telling(f"{title}\n\n{body}")), model):
            yield one._replace(forgets=True) if entry in marks.get("forgotten", ()) else one
    yield from (one for one in judge(list(_telling("\n".join(hidden))), model) if one.forgets)


def _telling(text: str) -> Iterator[str]:
    for line in lines_in(text):
        if len(content_words(line)) > 1 and len(line) <= MOST_CHARS and line[-1] != "?":
            yield line


class Groups:
    """Statements by subject, each group in order of time. `over`: the groups that were replaced or forgotten."""

    def __init__(self, said: Iterable[Said], likeness: Likeness) -> None:
        self._likeness = likeness
        self._of_word = defaultdict[str, set[int]](set)
        self.groups = list[list[Said]]()
        self.over = set[int]()
        for one in sorted(set(said), key=lambda one: (one.day, one.forgets, one)):
            give_way()
            self._add(one)

    def _add(self, one: Said) -> None:
        found = Counter(number for word in content_words(one.text) for number in self._of_word[word])
        near = [number for number, _ in found.most_common(MOST_NEAR)]
        for number in near if one.kept >= POSSIBLE else ():
            best = best_of(self.groups[number])
            pair = self._likeness.compare(best.text, one.text)
            if pair.other_value or (pair.has_one_subject and pair.is_newer_state):
                self.over.add(number)
                one = one._replace(kept=max(one.kept, best.kept))
        alike = {number: self._alike(number, one) for number in near if number not in self.over}
        same = [number for number, share in alike.items() if share]
        if one.forgets:
            self.over.update(same)
            return
        if not same and one.kept < POSSIBLE:
            return
        best = max(same, key=alike.__getitem__, default=len(self.groups))
        if best == len(self.groups):
            self.groups.append([])
        self.groups[best].append(one)
        for word in content_words(one.text):
            self._of_word[word].add(best)

    def _alike(self, number: int, one: Said) -> float:
        """Return the likeness to the group's nearest wording; 0 if none has the same subject."""
        texts = list(dict.fromkeys(other.text for other in reversed(self.groups[number])))[:MOST_WORDINGS]
        pairs = [self._likeness.compare(text, one.text) for text in texts]
        same = [pair.older.text for pair in pairs if pair.has_one_subject and not pair.is_newer_state]
        return max((self._likeness(text, one.text) for text in same), default=0.0)

    def recurring(self) -> Iterator[Recurrence]:
        """Yield the groups that hold and are worth remembering, the likeliest first."""
        bests = [best_of(group) for group in self.groups]
        for number in sorted(range(len(bests)), key=lambda number: -bests[number].kept):
            group, best = self.groups[number], bests[number]
            least = OFTEN if group[-1].day > group[0].day or best.kind in SECTIONS else LIKELY
            if number in self.over or best.kept < least:
                continue
            others = {one.text: one.day for one in group if one.text != best.text}
            wordings = [f"also ({day}): {text}" for text, day in others.items()][-MOST_WORDINGS:]
            days = sorted({one.day.isoformat() for one in group})
            sources = [*dict.fromkeys(one.source for one in group)]
            yield Recurrence(best.text, best.kind, days, sources, wordings=wordings)


def best_of(group: Sequence[Said]) -> Said:
    """Return the statement that is likeliest worth remembering: rarely the latest, which often only reports that it was
    followed."""
    return max(group, key=lambda one: one.kept)
