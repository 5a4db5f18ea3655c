"""Parses a statement into sentences, each with its words, values and subject, and decides whether two sentences of one
form are about two things.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from mcp_memory.comparison.values import (
    BEFORE_NAME,
    BOUNDS,
    CHANGE_VERB,
    CLAUSE,
    CORRECTING,
    ENVIRONMENTS,
    EVENT,
    HEAD_ENDS,
    MEASURED,
    OPPOSITES,
    ORDINALS,
    PARTICIPLE,
    REPORTED,
    STATES,
    TURNED_DOWN,
    WITH_UNIT,
    Rejection,
    Token,
    is_same,
    normal,
    rejections,
    tokens,
    when_spans,
    words_of_change,
)
from mcp_memory.text.language.sentences import sentences
from mcp_memory.text.language.terms import are_two

MAX_CHARS, MAX_SENTENCES = 1200, 8
"""The limits of a statement; a longer note is a document."""
_APART = re.compile(r"[(),;.]")
QUOTED = re.compile(r"^>.*\n?", re.MULTILINE)
"""The words of somebody else, such as the assistant's question below an answer."""


@dataclass(frozen=True)
class ParsedSentence:
    """A sentence, parsed once and compared often.

    `keys` are the keys of its tokens. `head` are the keys before the verb or the first preposition. `lead` is the first
    key that isn't a verb of change. `words` are all words as written, in lower case. `main` are the tokens before the
    reasons. `months` are the months that the sentence is about. `labels` are names of a measure (`p95 was 480 ms`).
    `stated` are the tokens without start dates."""

    text: str
    tokens: tuple[Token, ...]
    main: tuple[Token, ...]
    keys: frozenset[str]
    head: frozenset[str]
    words: frozenset[str]
    lead: str
    names: frozenset[str]
    environments: frozenset[str]
    months: frozenset[str]
    signs: frozenset[str]
    rejections: tuple[Rejection, ...]
    labels: frozenset[str]
    stated: tuple[Token, ...]
    is_title: bool = False

    @property
    def is_event(self) -> bool:
        """Return whether the sentence describes one event (`Filter changed at 1,210 hours`), not a lasting state."""
        return bool(EVENT.search(self.text) or (PARTICIPLE.search(self.text) and not STATES.search(self.text)))

    def says(self, value: Token) -> bool:
        """Return whether the sentence asserts the value, instead of naming its subject with it: `Table 4 seats six`."""
        before = self.text[: value.start]
        if value.type == "identifier":
            return bool(BEFORE_NAME.search(before))
        return bool(HEAD_ENDS.search(before)) or (len(self.tokens) > 2 and value is self.tokens[-1])

    @property
    def names_subject(self) -> bool:
        """Return whether the sentence has words besides values, their units, who said it, and words of correction."""
        units = {token.noun for token in self.tokens}
        reported = [match.span() for match in REPORTED.finditer(self.text)]
        return any(
            token.type in {"word", "name", "identifier"}
            and token.key not in units
            and normal(token.text.lower()) not in CORRECTING
            and not any(start <= token.start < end for start, end in reported)
            for token in self.tokens
        )

    @property
    def ordinals(self) -> frozenset[str]:
        """The ordinals of the subject, such as `second` in `The second printer is in room 4`."""
        return ORDINALS & set(HEAD_ENDS.split(self.text.lower(), maxsplit=1)[0].split())

    @property
    def subject_numbers(self) -> set[str]:
        """The numbers that are part of the subject, such as 14 in `Sprint 14`."""
        return {token.key for token in self.tokens if token.type == "number" and not self.says(token)}

    def between(self, start: int, end: int) -> list[Token]:
        return [token for token in self.tokens if start <= token.start and token.end <= end]

    def rejects(self, keys: set[str]) -> bool:
        return any(
            token.key in keys for rejection in self.rejections for token in self.between(rejection.start, rejection.end)
        )

    def rest_of_clause(self, start: int) -> set[str]:
        end = CLAUSE.search(self.text, start)
        return {token.key for token in self.between(start, end.start() if end else len(self.text))}


@lru_cache(maxsize=2048)
def parse_statement(text: str, title: str) -> tuple[ParsedSentence, ...]:
    """Parse the sentences, and append the title if it states something; return nothing for a document or quotation."""
    text = TURNED_DOWN.split(QUOTED.sub("", text))[0]
    if not text.strip() or len(text) > MAX_CHARS:
        return ()
    found = [sentence.text for sentence in sentences(text)] or [text.strip()]
    if len(found) > MAX_SENTENCES:
        return ()
    if title and len(tokens(title)) > 2 and title.rstrip(" …") not in found[0]:
        return (*map(_sentence, found), replace(_sentence(title), is_title=True))
    return tuple(map(_sentence, found))


def _sentence(text: str) -> ParsedSentence:
    found = tokens(text)
    words = [token for token in found if token.type not in MEASURED]
    head_end = HEAD_ENDS.search(text)
    head = [token for token in words if head_end and token.end <= head_end.start()] or words[:2]
    clauses = [end.start() for end in CLAUSE.finditer(text) if not end[0].startswith(":")]
    mains = [tuple(token for token in found if token.end <= end) for end in clauses]
    all_words = frozenset(re.findall(r"[^\W_]+", text.lower()))
    spans = when_spans(text)
    stated = tuple(token for token in found if not any(start <= token.start < end for start, end in spans))
    return ParsedSentence(
        text,
        found,
        next((main for main in mains if len(main) > 1), found),
        frozenset(token.key for token in found),
        frozenset(token.key for token in head),
        all_words,
        next((token.key for token in words if not CHANGE_VERB.match(token.text)), ""),
        frozenset(token.key for token in found if token.type == "name"),
        frozenset(ENVIRONMENTS[word] for word in all_words & ENVIRONMENTS.keys()),
        frozenset(token.key for token in stated if token.type == "month"),
        frozenset(words_of_change(text)),
        tuple(rejections(text)),
        frozenset(
            token.key
            for token, *following in zip(found, found[1:], [*found[2:], *found[-1:]], strict=False)
            if token.type == "identifier"
            and any(one.type in WITH_UNIT and not _APART.search(text, token.end, one.start) for one in following)
        ),
        stated,
    )


def are_apart(old: ParsedSentence, new: ParsedSentence) -> bool:
    """Return whether the sentences name two environments, months, measures, numbers (`Sprint 14`, `Sprint 15`) or
    opposites (`upload`, `download`), or only one names the second of its kind (`the second printer`) or
    sets a limit (`below 2 MB`)."""
    if old.environments != new.environments or old.ordinals != new.ordinals:
        return True
    if old.words & BOUNDS != new.words & BOUNDS or name_two(old, new):
        return True
    return any(differ_within(group, old.words, new.words) for group in OPPOSITES)


def name_two(old: ParsedSentence, new: ParsedSentence) -> bool:
    """Return whether the sentences name two environments, months, measures or numbers."""
    numbers, others = old.subject_numbers - new.keys, new.subject_numbers - old.keys
    pairs = (old.months, new.months), (old.labels, new.labels), (numbers, others)
    return are_in_two_places(old, new) or any(one and other and not one & other for one, other in pairs)


def are_in_two_places(old: ParsedSentence, new: ParsedSentence) -> bool:
    one, two = old.environments, new.environments
    return bool(one and two and not one & two)


def differ_within(group: frozenset[str], old: frozenset[str], new: frozenset[str]) -> bool:
    """Return whether each of two sets of words has a word of the group that the other set lacks."""
    return are_two(old & group, new & group)


def is_modified(old: ParsedSentence, new: ParsedSentence) -> bool:
    """Return whether a shared word follows a different word in each sentence: `audit logs` and `access logs`."""
    return any(
        not (token.is_value or other.is_value)
        and is_same(token.key, other.key)
        and token.start - one.end <= 1
        and other.start - two.end <= 1
        and one.key not in new.keys
        and two.key not in old.keys
        and not {one.type, two.type} & (MEASURED | {"identifier"})
        for one, token in zip(old.tokens, old.tokens[1:], strict=False)
        for two, other in zip(new.tokens, new.tokens[1:], strict=False)
    )
