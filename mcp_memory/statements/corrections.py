"""Finds the corrected form of a statement: `180 days, not 90`, `make it 20`."""

import re
from itertools import pairwise

from mcp_memory.comparison.values import Token, common_keys, tokens
from mcp_memory.statements.cues import AGREEMENT, has_cue, is_limited, patterns
from mcp_memory.statements.user_sentences import UserSentence

MOST_WORDS = 12
"""The most words of a correction that doesn't name the earlier value."""
_VALUE = re.compile(r"(?<![\w.])\d[\d.,:]*\d(?![\w])|(?<![\w.])\d(?!\w)")
_NOT = re.compile(
    r",? (?:and |und |et |y )?(?:not|nicht|statt|pas|instead of|rather than|no)\b[^,.;\d]{0,12}$", re.IGNORECASE
)
_PAUSE = re.compile(r"[,;:.!?–—](?=\s)")
_SAYS = re.compile(
    r"\b(?:(?:\w+ ){1,3}(?:told|tells|said|says|wants?|meint|sagte?|will|dit|veut|dice|dijo|quiere)\b"
    r"(?: (?:me|us|mir|uns)\b)?|(?:i|ich|je) \w*me(?:an|in)\w*|make|mach\w*|should|must|hm+|nein|nope|nee?|quatsch"
    r"|unsinn|halt|stopp?|moment|warte|mist|oops|ups|nonsense|rubbish|espera|attends|non|oui|perdón"
    r"|pardon|better|lieber|mejor|plutôt|pon\w*|(?:it|that|c)['’]e?st?|wrong|correct\w*|corrección|korrektur|right|richtig|uhr|fyi"
    r"|please|bitte|s['’]il (?:te|vous) plaît|por favor|last night|hier soir|anoche)\b",
    re.IGNORECASE,
)
"""Matches the words of a correction and of its source, which don't name a subject."""


def corrected(sentence: UserSentence, statement: str, *, names_old: bool) -> tuple[str, bool] | None:
    """Return the statement with its new value, and whether it is certain; if it may be in several places, the
    correction follows the statement. `names_old`: the sentence must name the old value. Return None if the sentence
    corrects nothing in the statement, or says something of its own."""
    if sentence.is_question or has_cue(sentence.view, "hedge"):
        return None
    said, known = [*_VALUE.finditer(sentence.text)], [*_VALUE.finditer(statement)]
    values = [value[0] for value in known]
    for new, old in pairwise(said):
        denial = _NOT.search(sentence.text[new.end() : old.start()])
        if denial and values.count(old[0]) == 1 and new[0] not in values:
            place = known[values.index(old[0])]
            if words_of_its_own(sentence.text, statement) or is_limited(sentence.view):
                return None
            if not _is_same_kind(_token(sentence.text, new), _token(statement, place)):
                return None
            return f"{statement[: place.start()]}{new[0]}{statement[place.end() :]}", True
    corrects = patterns(AGREEMENT)["corrects"].match(sentence.view)
    is_short = len(sentence.view.split()) <= MOST_WORDS
    if names_old or not (is_short and said and known) or said[0][0] in values:
        return None
    new = _token(sentence.text, said[0])
    begins = said[0].start() == 0 and _unit(new)  # `10 minutes, their clock is off`
    if not (corrects or begins):
        return None
    pause = _PAUSE.search(sentence.text, said[0].end())
    clause = corrects.end() if corrects else 0, pause.start() if pause else len(sentence.text)
    pairs = [(value, _token(statement, value)) for value in known]
    fitting = [place for place, old in pairs if _is_same_kind(new, old) and (corrects or _unit(new) == _unit(old))]
    if words_of_its_own(sentence.text, statement, clause) or not fitting:
        return None
    if len(fitting) == 1 and _unit(new) in {"", _unit(_token(statement, fitting[0]))}:
        place = fitting[0]
        text = f"{statement[: place.start()]}{said[0][0]}{statement[place.end() :]}"
        return f"{text.rstrip('.')} (first: {place[0]}).", True
    return f"{statement} Corrected: {sentence.text[corrects.start(1) if corrects else 0 :].rstrip('.')}.", False


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


def _token(text: str, value: re.Match[str]) -> Token | None:
    return next((token for token in tokens(text) if token.start <= value.start() < token.end), None)


def _unit(value: Token | None) -> str:
    return value.unit if value else ""


def _is_same_kind(new: Token | None, old: Token | None) -> bool:
    """Return whether the values count or measure the same; one without a unit may be anything."""
    if new is None or old is None:
        return False
    is_bare = any(value.type == "number" and not value.noun for value in (new, old))
    return is_bare or (new.type == old.type and new.unit == old.unit)
