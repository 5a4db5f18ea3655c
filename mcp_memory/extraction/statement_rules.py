"""Classifies your sentences as statements by rules. Only what is plainly said counts; in doubt nothing does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mcp_memory.extraction.candidate import StatementKind
from mcp_memory.extraction.language import Language, languages
from mcp_memory.extraction.user_sentences import MASK, UserSentence
from mcp_memory.text.language.facts import FactKind, facts
from mcp_memory.text.language.terms import words
from mcp_memory.text.language.word_lists import language_of

ASKED_FOR = 0.95
"""Scores say how sure it is that a person wants it kept, in steps: what they ask to be remembered …"""
OUTRIGHT = 0.9
"""… what they state outright …"""
TENTATIVE = 0.5
"""… what they lean to, promise, or want to be reminded of …"""
STATED = 0.45
"""… and what they mention, with a number or a name in it."""

LEAST_WORDS = 2
LEAST_FACT_WORDS = 4


@dataclass(frozen=True, slots=True)
class Statement:
    """`lead` is how many characters stand before it that say nothing of it."""

    sort: StatementKind
    score: float
    outright: bool
    lead: int = 0


def claim(sentence: UserSentence) -> Statement | None:
    """Returns the statement with the highest score, in any language."""
    if sentence.is_asked or len(sentence.view.split()) < LEAST_WORDS:
        return None
    found = [each for language in languages() if (each := _claim(sentence, language))]
    return max(found, key=lambda each: each.score, default=None)


def is_denial(sentence: UserSentence) -> bool:
    """Whether it says no and nothing else, so that the next one says what is right."""
    return any(language.denial.fullmatch(sentence.view) for language in languages())


def says_it_works(sentence: UserSentence) -> bool:
    return not sentence.is_asked and any(language.works.match(sentence.view) for language in languages())


def _claim(sentence: UserSentence, language: Language) -> Statement | None:
    view = sentence.view
    if language.anywhere.search(view):
        return None
    rest = _behind_lead(view, language)
    if asked := language.remember.match(rest):
        wish = _behind_lead(rest[asked.end() :], language)
        sort = _stated(wish, language, language.outright)
        if sort is None and len(wish.split()) <= LEAST_WORDS:
            return None
        return Statement(sort or StatementKind.FACT, ASKED_FOR, outright=True, lead=len(view) - len(wish))
    if language.question.match(rest):
        return None
    lead = len(view) - len(rest)
    if sort := _stated(rest, language, language.outright):
        return Statement(sort, OUTRIGHT, outright=True, lead=lead)
    if sort := _stated(rest, language, language.tentative):
        return Statement(sort, TENTATIVE, outright=False, lead=lead)
    if _mentions_fact(sentence, rest, language):
        return Statement(StatementKind.FACT, STATED, outright=False, lead=lead)
    return None


def _behind_lead(view: str, language: Language) -> str:
    rest = view.strip()
    while lead := language.lead.match(rest):
        if language.denial.fullmatch(rest[: lead.end()].strip()):
            break
        rest = rest[lead.end() :]
    return rest


def _stated(rest: str, language: Language, patterns: Mapping[StatementKind, re.Pattern[str]]) -> StatementKind | None:
    for sort in (StatementKind.LESSON, StatementKind.PREFERENCE, StatementKind.DECISION, StatementKind.COMMITMENT):
        match = patterns[sort].search(rest) if sort in patterns else None
        if match and not language.before.search(rest, 0, match.start()):
            return sort
    return None


def _mentions_fact(sentence: UserSentence, rest: str, language: Language) -> bool:
    """A number, a date or a name, in a sentence that states something and reports no trouble."""
    if len(rest.split()) < LEAST_FACT_WORDS or language_of(words(sentence.view)) != language.code:
        return False
    if not language.states.search(rest):
        return False
    if language.states_not.search(rest) or language.before.search(rest):
        return False
    telling = {FactKind.NUMBER, FactKind.DATE} | ({FactKind.NAME} if language.capitals_name else set[FactKind]())
    own = "".join(MASK if seen == MASK else said for said, seen in zip(sentence.text, sentence.view, strict=True))
    return any(fact.kind in telling for fact in facts(own))
