"""Finds the corrected form of a statement: `180 days, not 90`, `make it 20`."""

import re
from typing import NamedTuple

from mcp_memory.comparison.values import COUNTED, MEASURED, Token, common_keys, rejections, tokens
from mcp_memory.statements.cues import AGREEMENT, has_cue, is_limited, patterns
from mcp_memory.statements.user_sentences import UserSentence

MOST_WORDS = 12
"""The most words of a correction that doesn't name the earlier value."""
_NUMBER = re.compile(r"\d(?:[\d.,:]*\d)?(?!-?\d)")
"""Matches the number of a value, or the day of an ISO date."""
_PAUSE = re.compile(r"[,;:.!?–—](?=\s)")
_SAYS = re.compile(
    r"\b(?:(?:\w+ ){1,3}(?:told|tells|said|says|wants?|meint|sagte?|will|dit|veut|dice|dijo|quiere)\b"
    r"(?: (?:me|us|mir|uns)\b)?|(?:i|ich|je) \w*me(?:an|in)\w*|make|mach\w*|should|must|hm+|eh|äh|euh|nein|nope|nee?"
    r"|quatsch|unsinn|halt|stopp?|moment|warte|mist|oops|ups|nonsense|rubbish|espera|attends|non|oui|perdón"
    r"|pardon|better|lieber|mejor|plutôt|pon\w*|(?:it|that|c)['’]e?st?|wrong|correct\w*|corrección|korrektur|right|richtig|uhr|fyi"
    r"|please|bitte|ah|oh|ach|pro|per|s['’]il (?:te|vous) plaît|por favor|last night|hier soir|anoche)\b",
    re.IGNORECASE,
)
"""Matches the words of a correction and of its source, which don't name a subject."""


class Refusal(NamedTuple):
    """A value that a person refuses, None if it isn't named, and the value that is true instead."""

    old: Token | None
    new: Token

    def is_of(self, value: Token) -> bool:
        """Return whether the person refuses this value. If the old value isn't named, that is any other value of the
        new value's unit. A number without a unit has the unit of the new value."""
        old, new = self
        if old is None:
            return new.unit != "" and _may_replace(new, value) and new.key != value.key
        if not _is_bare(old):
            return (value.type, value.key, value.noun) == (old.type, old.key, old.noun)
        return value.type in COUNTED and value.key.split()[0] == old.key and _may_replace(new, value)


def corrected(sentence: UserSentence, statement: str, *, names_old: bool) -> tuple[str, bool] | None:
    """Return the statement with its new value, and whether it is certain; if it may be in several places, the
    correction follows the statement. `names_old`: the sentence must name the old value. Return None if the sentence
    corrects nothing in the statement, or says something of its own."""
    text, view = sentence.text, sentence.view
    if sentence.is_question or has_cue(view, "hedge"):
        return None
    known, said, refusal = values_in(statement), values_in(text), find_refusal(text)
    meant = [value for value in known if refusal and refusal.old and refusal.is_of(value)]
    if refusal and len(meant) == 1:
        is_other = words_of_its_own(text, statement) or is_limited(view)
        return None if is_other else (with_value(statement, meant[0], refusal.new), True)
    if names_old or not said or len(view.split()) > MOST_WORDS or said[0].key in {value.key for value in known}:
        return None
    new, corrects = said[0], patterns(AGREEMENT)["corrects"].match(view)
    begins = new.start == 0 and new.unit  # `10 minutes, their clock is off`
    pause = _PAUSE.search(text, new.end)
    clause = corrects.end() if corrects else 0, pause.start() if pause else len(text)
    fitting = [value for value in known if _may_replace(new, value) or (corrects and _is_bare(value))]
    if not (corrects or begins) or not fitting or words_of_its_own(text, statement, clause):
        return None
    names_unit = new.noun in {token.key for token in tokens(statement)}  # `max attempts is 8`
    if len(fitting) == 1 and (names_unit or _is_bare(new) or new.unit == fitting[0].unit):
        return f"{with_value(statement, fitting[0], new).rstrip('.')} (first: {fitting[0].text}).", True
    return f"{statement} Corrected: {text[corrects.start(1) if corrects else 0 :].rstrip('.')}.", False


def values_in(text: str) -> list[Token]:
    """Return the values of a text that may be corrected."""
    return [token for token in tokens(text) if token.type in MEASURED or token.type == "date"]


def find_refusal(text: str) -> Refusal | None:
    """Return the value that a sentence refuses, and the value beside it."""
    values, changes = values_in(text), [one for one in rejections(text) if one.is_change]
    old = [token for token in values for one in changes if one.start <= token.start < one.end]
    new = [token for token in values if token not in old]
    if not old and len(new) == 1:
        return Refusal(None, new[0])
    if not new or len({token.key for token in old}) != 1:
        return None
    before = [token for token in new if token.start < old[0].start]
    return Refusal(old[0], before[-1] if before else new[0])


def with_value(text: str, value: Token, new: Token) -> str:
    """Return a text with another value, in the words for the unit that the text has."""
    has_same_unit = _is_bare(new) or (value.type in COUNTED and _may_replace(new, value))
    number = _NUMBER.search(new.text) if has_same_unit and _NUMBER.search(value.text) else None
    words = _NUMBER.sub(number[0], value.text, count=1) if number else new.text
    return f"{text[: value.start]}{words}{text[value.end :]}"


def words_of_its_own(text: str, statement: str, clause: tuple[int, int] | None = None) -> set[str]:
    """Return the words of a text, or of a clause of it, that a statement lacks, without words of correction."""
    start, end = clause or (0, len(text))
    said = [match.span() for match in _SAYS.finditer(text[:end], start)]
    own = {
        token.key
        for token in tokens(text)
        if token.type in {"word", "name"}
        and start <= token.start < end
        and not any(first <= token.start < last for first, last in said)
    }
    return own - common_keys(own, {token.key for token in tokens(statement)})


def _is_bare(value: Token) -> bool:
    return value.type == "number" and not value.noun


def _may_replace(new: Token, old: Token) -> bool:
    """Return whether a value may take the place of another. One without a unit may take that of any figure."""
    return (new.type, new.unit) == (old.type, old.unit) or (_is_bare(new) and _NUMBER.search(old.text) is not None)
