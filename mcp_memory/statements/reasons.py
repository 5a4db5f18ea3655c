"""Decides whether the sentence before or after a statement gives its reason."""

import re
from math import log1p

from mcp_memory.statements.cues import has_cue, is_vetoed
from mcp_memory.statements.statement_rules import classify
from mcp_memory.statements.user_sentences import UserSentence

EXPLAINS = 0.4
"""The likelihood from which a sentence explains its neighbour."""
MIN_REASON_WORDS = 4
_GOES_ON = re.compile(r"(?:now|then|next|jetzt|dann|maintenant|puis|ahora|luego)\b")
_FOLLOWS = re.compile(r"(?:so|thus|therefore|hence|deshalb|daher|darum|also|donc|alors|así que|por eso)\b(?!,)")
_CUES = ("reason", "trouble", "task", "reaction", "hedge", "someday", "norm", "change", "i", "they", "others")


def explains(statement: UserSentence, neighbour: UserSentence, *, is_behind: bool) -> bool:
    """Return by rule whether the neighbour explains the statement. A neighbour before the statement must be taken up:
    `so …`."""
    view = neighbour.view
    if not is_behind:
        return _FOLLOWS.match(statement.view) is not None and not neighbour.is_question
    if is_vetoed(neighbour) or has_cue(view, "task", "reaction"):
        return False
    is_short = len(view.split()) < MIN_REASON_WORDS and not any(c.isdigit() for c in view)
    goes_on = is_short or _GOES_ON.match(view) is not None or has_cue(view, "hedge", "someday")
    return has_cue(view, "reason", "trouble") or not goes_on


def reason_features(statement: UserSentence, neighbour: UserSentence, *, is_behind: bool) -> list[float]:
    """Compute the classifier's features, in addition to the two sentences."""
    by_rule = explains(statement, neighbour, is_behind=is_behind)
    view = neighbour.view
    return [
        float(is_behind), float(by_rule), float(is_behind and by_rule), float(is_vetoed(neighbour)),
        float(classify(neighbour) is not None), log1p(len(view.split())), *(float(has_cue(view, cue)) for cue in _CUES),
    ]  # fmt: skip
