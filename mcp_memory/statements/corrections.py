"""Finds the corrected form of a statement: `180 days, not 90`, `make it 20`."""

import re
from itertools import pairwise

from mcp_memory.statements.cues import AGREEMENT, patterns
from mcp_memory.statements.user_sentences import UserSentence

MOST_WORDS = 12
"""The most words of a correction that doesn't name the earlier value."""
_VALUE = re.compile(r"(?<![\w.])\d[\d.,:]*\d(?![\w])|(?<![\w.])\d(?!\w)")
_NOT = re.compile(
    r",? (?:and |und |et |y )?(?:not|nicht|statt|pas|instead of|rather than|no)\b[^,.;\d]{0,12}$", re.IGNORECASE
)


def corrected(sentence: UserSentence, statement: str, *, names_old: bool) -> str | None:
    """Return the statement with its new value, or with the correction after it if the old value needn't be named; None
    if the sentence corrects nothing in it."""
    if sentence.is_question:
        return None
    said = [*_VALUE.finditer(sentence.text)]
    known = [value[0] for value in _VALUE.finditer(statement)]
    for new, old in pairwise(said):
        is_denied = _NOT.search(sentence.text[new.end() : old.start()]) is not None
        if is_denied and known.count(old[0]) == 1 and new[0] not in known:
            return re.sub(rf"(?<![\w.]){re.escape(old[0])}(?!\w)", new[0], statement)
    is_short = len(sentence.view.split()) <= MOST_WORDS
    corrects = patterns(AGREEMENT)["corrects"].match(sentence.view)
    if not names_old and is_short and corrects and said and known and said[0][0] not in known:
        return f"{statement} Corrected: {sentence.text[corrects.start(1) :].rstrip('.')}."
    return None
