"""Finds the value of an older statement that a newer one changes or rejects, from words and structure.

A wrong contradiction is worse than a missed one: two statements of the same form (production and staging, two people,
two runs) must not be mistaken for one. `tests/eval/contradictions` has the figures.
"""

import re
from collections.abc import Collection, Sequence, Set
from functools import lru_cache
from typing import NamedTuple

from mcp_memory.comparison.same_form import Contradiction, same_form, switched, word_keys
from mcp_memory.comparison.sentence import (
    ParsedSentence,
    are_apart,
    are_in_two_places,
    is_modified,
    parse_statement,
)
from mcp_memory.comparison.values import (
    CHANGE_VERB,
    COUNTED,
    EVENT,
    EXCEPT,
    MEASURED,
    SCOPE,
    SETS,
    TENTATIVE,
    WEAK,
    WITH_UNIT,
    Rejection,
    Token,
    common_keys,
    is_same,
    tokens,
)
from mcp_memory.text.language.terms import terms

CLIP_CHARS = 80
MIN_COVERED = 0.6
"""The minimum share of the older sentence's words that the newer sentence contains when both have the same subject."""

LEAST_COMMON = 2
"""The least number of words that two sentences with different subjects have in common."""
_SIGN_NEEDED = frozenset({"log", "task", "lesson", "commitment"})
"""Kinds of notes whose statements may differ without a contradiction, unless a word signals a change."""
TELLING_CHARS = 3
"""The minimum length of a value that is clear without its subject: port 8087, but not 5."""
_EACH_ITS_OWN = frozenset({"fix", "idea"})
"""Kinds whose notes each have their own values."""


class NoteText(NamedTuple):
    """A note or log entry; `text` excludes the frontmatter, `session` is where it was said."""

    text: str
    title: str = ""
    kind: str = "note"
    project: str | None = None
    session: str | None = None

    @property
    def topic(self) -> frozenset[str]:
        return _topic(self.title)

    @property
    def terms(self) -> list[str]:
        return terms(f"{self.title}\n{self.text}")


@lru_cache(maxsize=2048)
def _topic(title: str) -> frozenset[str]:
    return frozenset(token.key for token in tokens(title))


def find_contradiction(older: NoteText, newer: NoteText) -> Contradiction | None:
    """Return the contradiction; None for statements of two projects, equal statements, documents, and in case of doubt.
    Within a session, such as for a question and its answer, only words of change make a contradiction."""
    if older.project and newer.project and older.project != newer.project:
        return None
    if {older.kind, newer.kind} & _EACH_ITS_OWN or older.text.strip() == newer.text.strip():
        return None
    pair = _Pair(older, newer)
    return pair.rejected_value() or pair.other_value()


class _Pair:
    def __init__(self, older: NoteText, newer: NoteText) -> None:
        self._older, self._newer = older, newer
        self._is_one_session = older.session is not None and older.session == newer.session
        self._before, self._after = _stated(older), _stated(newer)
        self._all_new = newer.topic.union(*(sentence.keys for sentence in self._after))
        self._brief = len(self._before) <= 2 and len(self._after) <= 3
        """Both statements are so short that a single shared word identifies the subject."""

    def rejected_value(self) -> Contradiction | None:
        """Return the older value that the newer statement explicitly rejects."""
        for new in self._after:
            for rejection in new.rejections:
                gone = new.between(rejection.start, rejection.end)[:5]
                for old in self._before:
                    if found := self._rejected(old, new, rejection, gone) if gone and not old.is_title else None:
                        return found
        return None

    def _rejected(
        self, old: ParsedSentence, new: ParsedSentence, rejection: Rejection, gone: Sequence[Token]
    ) -> Contradiction | None:
        if are_in_two_places(old, new):
            return None
        hits = [token for token in old.tokens if _is_among(token, gone)]
        hit_keys, gone_keys = {token.key for token in hits}, {token.key for token in gone}
        values = [token for token in hits if token.is_value]
        half = 0.5 if values and self._newer.kind != "log" else MIN_COVERED
        least = half if rejection.is_change else 1
        if not hits or len(hit_keys) < least * len(gone_keys) or old.rejects(hit_keys):
            return None
        shared = common_keys(old.keys | self._older.topic, self._all_new - gone_keys) - hit_keys
        after = _new_value(new, values[0], gone_keys, hit_keys) if values else None
        is_correction = self._is_one_session and rejection.is_change and after and values[0].type in MEASURED
        said = *self._after[: self._after.index(new) + 1], *parse_statement(self._newer.title, "")
        if is_correction and not any(sentence.names_subject for sentence in said):
            return Contradiction(_first(values), after, outright=True)  # `Wait, 180 days, not 90` needs no subject
        if self._two_subjects(old, new):
            return None
        known = len(hit_keys | (shared & old.keys))
        is_whole = known >= min(2, len(old.keys)) and known >= MIN_COVERED * len(old.keys)
        if rejection.is_change:
            is_clear = shared or (self._brief and re.search(r"\b(?:from|von|vom|de)\b", new.text))
            if not is_whole and not (values and is_clear):
                return None
            if not new.lead and all(len(value.key) < TELLING_CHARS for value in values):
                return None  # `it` may refer to anything
        else:
            rest = new.rest_of_clause(rejection.end)
            is_whole = is_whole and not EXCEPT.search(new.text, rejection.start)
            if not is_whole or len(common_keys(rest, old.keys | self._older.topic)) < len(rest):
                return None  # `never over the air` and `never without asking` each forbid only a part
        if not values:
            return None if self._older.kind == "log" else Contradiction(clipped(old.text), None, rejection.is_change)
        return Contradiction(_first(values), after, rejection.is_change)

    def other_value(self) -> Contradiction | None:
        """Return the two values if both statements give the same subject different values of one type."""
        needs_sign = self._is_one_session or {self._older.kind, self._newer.kind} & _SIGN_NEEDED
        for old in self._before:
            for new in self._after:
                if not old.tokens or not new.tokens or self._apart(old, new):
                    continue
                signs = new.signs - (old.signs - WEAK)
                found = self._changed(old, new, signs) if signs and self._one_subject(old, new) else None
                found = found or (_both_named(old, new) if signs - WEAK and not needs_sign else None)
                if found or (not needs_sign and (found := same_form(old, new))):
                    return found
        return None

    def _two_subjects(self, old: ParsedSentence, new: ParsedSentence) -> bool:
        """Return whether the first word of each sentence is missing from the other statement."""
        if not new.lead:  # `we moved it from 8087 to 8090`
            return False
        known = old.keys | self._older.topic
        return not common_keys({new.lead}, known) and not common_keys({old.lead}, self._all_new)

    def _apart(self, old: ParsedSentence, new: ParsedSentence) -> bool:
        """Return whether the sentences are about two things, or the older one is about the past."""
        is_past = self._older.kind == "log" and EVENT.match(old.text)
        return bool(is_past) or are_apart(old, new) or self._two_subjects(old, new)

    def _one_subject(self, old: ParsedSentence, new: ParsedSentence) -> bool:
        told = (token for token in old.main if not token.is_value or token.type == "name")
        said = {token.key for token in told if not CHANGE_VERB.match(token.text)}
        known, old_known = new.keys | self._newer.topic, old.keys | self._older.topic
        subject = (said - old.names) or said
        if len(common_keys(said | self._older.topic, known)) < (1 if self._brief else 2) or not _covers(known, subject):
            return False
        heads = any(head and _covers(known, head) for head, known in ((old.head, known), (new.head, old_known)))
        return heads and not is_modified(old, new)

    def _is_limited(self, old: ParsedSentence, new: ParsedSentence) -> bool:
        """Return whether the newer sentence names something for which alone it holds: `for the Acme account`."""
        known = old.keys | self._older.topic
        scopes = {token.start: token for token in new.main if token.type in {"word", "name"}}
        ends = (match.end() for match in SCOPE.finditer(new.text))
        return any(end in scopes and not common_keys({scopes[end].key}, known) for end in ends)

    def _changed(self, old: ParsedSentence, new: ParsedSentence, signs: Set[str]) -> Contradiction | None:
        is_log = self._older.kind == self._newer.kind == "log"  # a log keeps a history of measurements
        types = (MEASURED - COUNTED if is_log else MEASURED) | {"date"}
        if self._is_limited(old, new):
            return None
        renamed = old.names - new.keys and new.names - old.keys
        if renamed and signs <= WEAK and any(t.type in types and t.key not in new.keys for t in old.tokens):
            return None  # `now` is too weak a signal for sentences that differ this much
        stated = {token.key for token in new.main}
        wanted = [token.type for token in old.tokens if token.type in types]
        for kind in dict.fromkeys([*wanted, *(["name", "identifier"] if len(self._before) <= 2 else [])]):
            known = [token for token in old.tokens if token.type == kind and not old.rejects({token.key})]
            olds = [token for token in known if token.key not in stated]
            nouns = {token.noun for token in known}
            news = [t for t in new.stated if t.type == kind and t.key not in old.keys and t.noun in nouns]
            if kind in {"name", "identifier"}:
                olds = [token for token in olds if token.key not in old.head | old.labels]
                news = [token for token in news if token.key not in new.labels]
                common = common_keys({token.key for token in old.main}, new.keys)
                news = news if olds and len(common) > 1 else []
            if news and (olds or signs - WEAK):
                return Contradiction(_first(olds or known), _first(news), outright=SETS.search(new.text) is not None)
        return switched(old, new)


def _new_value(new: ParsedSentence, old: Token, gone: Set[str], hits: Set[str]) -> str | None:
    """Return the value in place of the old one. A rejected number without a unit (`180 days, not 90`) takes the new
    value's unit."""
    found = [token for token in new.stated if token.type == old.type and token.key not in gone | hits]
    named = old.type in WITH_UNIT and old.key in gone
    found = [token for token in found if named or not old.unit or token.unit in {"", old.unit}]
    return _first(found) if found else None


def _both_named(old: ParsedSentence, new: ParsedSentence) -> Contradiction | None:
    """Return the two values if the newer sentence names the old one beside a single other value of its type, and has
    two words in common: `I changed my mind, answer 404 for unknown parcels, 200 hides problems`."""
    if len(common_keys(word_keys(old.tokens), new.keys)) < LEAST_COMMON:
        return None
    for before in old.tokens:
        others = [token for token in new.stated if token.type == before.type and token.key not in old.keys]
        if before.type in MEASURED and before.key in new.keys and len({token.key for token in others}) == 1:
            return Contradiction(before.text, others[0].text)
    return None


def _stated(note: NoteText) -> list[ParsedSentence]:
    """Return the sentences that state something, without questions and thoughts: `we could raise it to 30`."""
    return [sentence for sentence in parse_statement(note.text, note.title) if not TENTATIVE.search(sentence.text)]


def _is_among(token: Token, found: Sequence[Token]) -> bool:
    return any(
        is_same(token.key, one.key) or (one.type == "number" and token.key.split()[0] == one.key) for one in found
    )


def _first(found: Sequence[Token]) -> str:
    """Return the first value; a name is cut to three words."""
    last = 0
    while last < 2 and last + 1 < len(found) and found[last + 1].start - found[last].end == 1:
        last += 1
    return " ".join(token.text.strip("`") for token in found[: last + 1])


def clipped(text: str) -> str:
    return text if len(text) <= CLIP_CHARS else f"{text[: CLIP_CHARS - 1].rsplit(' ', 1)[0]} …"


def _covers(known: Collection[str], wanted: Collection[str]) -> bool:
    return len(common_keys(wanted, known)) >= MIN_COVERED * len(wanted)
