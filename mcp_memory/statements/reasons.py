"""Decides whether the sentence before or after a statement gives its reason."""

import re
from math import log1p

from mcp_memory.statements.cues import has_cue, is_vetoed
from mcp_memory.statements.self_contained import has_task, is_task, leaves_open
from mcp_memory.statements.statement_rules import classify
from mcp_memory.statements.user_sentences import UserSentence
from mcp_memory.text.conversation.own_words import MASK

EXPLAINS = 0.4
"""The likelihood from which a sentence explains its neighbour."""
MIN_REASON_WORDS, MOST_FRAGMENT_WORDS = 4, 5
_GOES_ON = re.compile(r"(?:now|then|next|jetzt|dann|maintenant|puis|ahora|luego)\b")
_FOLLOWS = re.compile(r"(?:so|thus|therefore|hence|deshalb|daher|darum|also|donc|alors|así que|por eso)\b(?!,)")
_VERBAL = (
    "stative", "relation", "change", "norm", "task", "reaction", "hedge", "i", "we", "you", "they", "agreed", "prefer",
    "negated",
)  # fmt: skip
VALUE_FIRST = re.compile(
    r"(?:(?:and|und|et|y|no|nope|wait|hm+|eh|oh|sorry|nein|nee?|halt|moment|warte|non|attends|espera|perdón)[,.! ]+)*\d"
)
"""Matches a sentence that begins with a value, such as a correction."""
_CUES = ("reason", "trouble", "task", "reaction", "hedge", "someday", "norm", "change", "i", "they", "others")


def is_fragment(view: str) -> bool:
    """Return whether a few words without a verb go with the sentence before them: `Audit finding from May.`"""
    is_short = 2 <= len(view.split()) <= MOST_FRAGMENT_WORDS and not any(c.isdigit() or c == MASK for c in view)
    return is_short and not has_cue(view, *_VERBAL) and not is_task(view)


def may_be_reason(sentence: UserSentence) -> bool:
    """Return whether a sentence may be a reason: no joke, question, task or value of its own."""
    view = sentence.view
    return not (is_vetoed(sentence) or leaves_open(view) or has_task(view) or VALUE_FIRST.match(view))


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
