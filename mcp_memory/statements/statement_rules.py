"""Classifies your sentences as statements by rules. Only plain statements are accepted; if in doubt, none is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mcp_memory.statements.candidate import StatementKind
from mcp_memory.statements.language import Language, languages, matches
from mcp_memory.statements.user_sentences import UserSentence
from mcp_memory.text.dates.due import duty_start
from mcp_memory.text.dates.ends import find_limit
from mcp_memory.text.language.facts import facts

REQUESTED, OUTRIGHT, TENTATIVE, MENTIONED = 0.95, 0.9, 0.5, 0.45
"""Scores for the likelihood that you want a statement kept. The first two are for a request to remember it, and for a
statement made outright. The third is for a preference, a promise or a reminder, the last for a mention with a number or
name, which is proposed only where no model is at hand."""
SURE = 0.85
"""The least score to be stored without review. A request to remember has .95, an outright statement .9, and a fix that
you confirm .8. A leaning, a promise or a fix that worked has .45 to .5."""

MIN_WORDS = 2
ANY_TIME = datetime(2000, 1, 3, tzinfo=UTC)
"""A time before all dates that a sentence may name: whether it is a rule doesn't depend on the day."""

_INVERTED = re.compile(r"^(\w+) (ich|wir)\b")
"""Matches the beginning of a German clause behind another clause: `…, schicke ich`."""


@dataclass(frozen=True)
class Statement:
    """A statement. The first `prefix_chars` of the sentence are an opening such as "ok, so"."""

    kind: StatementKind
    score: float
    outright: bool
    prefix_chars: int


def classify(sentence: UserSentence) -> Statement | None:
    """Return the statement with the highest score, in any language."""
    if len(sentence.view.split()) < MIN_WORDS:
        return None
    found = [statement for language in languages() if (statement := _classify(sentence, language))]
    best = max(found, key=lambda statement: statement.score, default=None)
    if best and (best.outright or best.kind is StatementKind.COMMITMENT):
        return best
    if start := duty_start(sentence.view):
        duty = classify(
            replace(sentence, text=sentence.text[start:], view=_INVERTED.sub(r"\2 \1", sentence.view[start:]))
        )
        if duty and duty.kind is StatementKind.COMMITMENT:
            return duty
    opening = opening_chars(sentence)
    limit = None if sentence.is_question else find_limit(sentence.view[opening:], ANY_TIME)
    if limit and limit.is_rule:
        return Statement(StatementKind.DECISION, OUTRIGHT, True, opening)
    return best


def says_it_works(sentence: UserSentence) -> bool:
    return not sentence.is_question and matches("works", sentence.view)


def opening_chars(sentence: UserSentence) -> int:
    """Return the length of an opening such as "ok, so"."""
    view = sentence.view
    return max(len(view) - len(_without_opening(view, language)) for language in languages())


def _classify(sentence: UserSentence, language: Language) -> Statement | None:
    view = sentence.view
    if language["anywhere"].search(view):
        return None
    rest = _without_opening(view, language)
    if not sentence.is_question and (request := language["remember"].match(rest)):
        wish = _without_opening(rest[request.end() :], language)
        kind = _kind(wish, language, language.outright)
        if kind is None and len(wish.split()) <= MIN_WORDS:
            return None
        return Statement(kind or StatementKind.FACT, REQUESTED, True, len(view) - len(wish))
    prefix_chars = len(view) - len(rest)
    if lasting := language["request"].match(rest):  # `Could you answer shorter from now on?`
        return Statement(StatementKind.PREFERENCE, OUTRIGHT, True, prefix_chars + lasting.end())
    if sentence.is_question or language["question"].match(rest):
        promises = {StatementKind.COMMITMENT: language.tentative[StatementKind.COMMITMENT]}
        asked = _kind(rest, language, promises)  # `Can you remind me on Friday to call Bo?`
        return Statement(asked, TENTATIVE, False, prefix_chars) if asked else None
    if kind := _kind(rest, language, language.outright):
        return Statement(kind, OUTRIGHT, True, prefix_chars)
    if kind := _kind(rest, language, language.tentative):
        return Statement(kind, TENTATIVE, False, prefix_chars)
    is_told = language["fact"].match(rest) and not language["before"].search(rest)
    if is_told and any(one.kind != "negation" for one in facts(sentence.unquoted)):
        return Statement(StatementKind.FACT, MENTIONED, False, prefix_chars)
    return None


def _without_opening(view: str, language: Language) -> str:
    rest = view.strip()
    while opening := language["lead"].match(rest):
        if language["denial"].match(rest[: opening.end()].strip()):
            break
        rest = rest[opening.end() :]
    return rest


def _kind(rest: str, language: Language, patterns: Mapping[StatementKind, re.Pattern[str]]) -> StatementKind | None:
    for kind in (StatementKind.LESSON, StatementKind.PREFERENCE, StatementKind.DECISION, StatementKind.COMMITMENT):
        match = patterns[kind].search(rest) if kind in patterns else None
        if match and not language["before"].search(rest, 0, match.start()):
            return kind
    return None
