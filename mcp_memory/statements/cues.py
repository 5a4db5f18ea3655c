"""Describes a sentence of a session by cues: words and forms that separate statements from requests and small talk,
make it clear on its own, or give a reason."""

import re
from functools import cache
from math import log1p

from mcp_memory.statements.language import matches
from mcp_memory.statements.spoken import SpokenSentence
from mcp_memory.statements.statement_rules import classify
from mcp_memory.statements.user_sentences import UserSentence
from mcp_memory.text.conversation.own_words import MASK
from mcp_memory.text.language.denials import denies
from mcp_memory.text.language.facts import facts
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.language.word_tables import read_table

_KINDS = ("number", "date", "name", "identifier")
VETO, REVIEW, CUE, AGREEMENT, PROPOSAL = "veto", "review", "cue", "agreement", "proposal"
LEAST_TERMS, LEAST_WORDS = 3, 2
"""The minimum number of content words of a statement, and of those that aren't numbers. A proposal needs only the
second."""
_EMOTICON = re.compile(r"[:;=]['’]?-?[()]+")
_UNFIT = ("output", "task", "report", "asks", "with_task")
_PASSING = ("handles", "undecided", *_UNFIT)
_ANSWER = re.compile(
    r"^(?:(?:no|nope|nah|yes|yeah|yep|ok(?:ay)?|sure|right|well|oh|ah+|hm+|and|but|so|also|nein|nee|ja|doch|klar|ach|und|"
    r"aber|also|non|oui|bon|et|mais|sí|si|vale|bueno|y|pero)\b[,.!: ]+)+"
)
EXPLAINS = 0.4
"""The likelihood from which a sentence explains its neighbour."""
MIN_REASON_WORDS = 4
_GOES_ON = re.compile(r"(?:now|then|next|jetzt|dann|maintenant|puis|ahora|luego)\b")
FOLLOWS = re.compile(r"(?:so|thus|therefore|hence|deshalb|daher|darum|also|donc|alors|así que|por eso)\b(?!,)")
VALUE_FIRST = re.compile(
    r"(?:(?:and|und|et|y|no|nope|wait|hm+|eh|oh|sorry|nein|nee?|halt|moment|warte|non|attends|espera|perdón)[,.! ]+)*\d"
)
"""Matches a sentence that begins with a value, such as a correction."""
_REASON_CUES = ("reason", "trouble", "task", "reaction", "hedge", "someday", "norm", "change", "i", "they", "others")


@cache
def patterns(part: str) -> dict[str, re.Pattern[str]]:
    """Return the patterns of a part of `cues.toml`, by name, for the view of a sentence."""
    table = read_table("mcp_memory.statements", "cues.toml")[part]
    return {name: re.compile(text) for name, text in table.items()}


def is_vetoed(sentence: UserSentence) -> bool:
    """Return whether a sentence is a joke, a question, hypothetical, or about the present moment."""
    view = sentence.view
    return sentence.is_question or has_cue(view, *patterns(VETO), part=VETO) or matches("anywhere", view)


def is_not_to_be_kept(sentence: UserSentence) -> bool:
    """Return whether a sentence is a joke, a confidence, or names a secret."""
    return has_cue(sentence.view, "joke", "confided", "secret", part=VETO)


def has_cue(view: str, *names: str, part: str = CUE) -> bool:
    return any(patterns(part)[name].search(view) for name in names)


def is_limited(view: str) -> bool:
    """Return whether a sentence holds only for a time, in a case or on a condition."""
    return has_cue(view, "limits", part=AGREEMENT)


def cue_features(view: str, text: str) -> list[float]:
    """Compute the features that a sentence has in any context. `view` is the text in lower case."""
    found = {fact.kind for fact in facts(text)}
    cues = (pattern.search(view) is not None for pattern in patterns(CUE).values())
    return [*map(float, cues), *(float(kind in found) for kind in _KINDS)]


def features(one: SpokenSentence, ruled: float) -> list[float]:
    """Compute the classifier's features of a sentence, given its score `ruled` by the rules."""
    sentence, assistant, chars = one.sentence, one.assistant, one.chars_said
    view = sentence.view
    count = len(view.split())
    return [
        *cue_features(view, sentence.unquoted),
        float(MASK in view), ruled, float(ruled >= 0.9), log1p(count) / 3, float(count < 4), float(count > 30),
        float(bool(assistant)), float("?" in assistant), float(assistant.rstrip().endswith("?")),
        min(len(assistant) / 300, 3.0), min(chars / 300, 3.0), len(view) / chars,
        float(-1 in one.beside), float(1 in one.beside), float(sentence.line > 0), float(one.said[-1].line > 0),
    ]  # fmt: skip


def stands_alone(view: str, *, is_explained: bool) -> bool:
    """Return whether a sentence names its subject and states something that lasts: no task, report, open choice or
    question. `is_explained`: the sentence before it, or the question that it answers, names the subject."""
    own = _ANSWER.sub("", view)
    if leaves_open(own) or has_cue(own, *_PASSING, part=REVIEW):
        return False
    said = content_words(own)
    says_enough = len(said) >= LEAST_TERMS and sum(not word.isdigit() for word in said) >= LEAST_WORDS
    return is_explained or (says_enough and not has_cue(own, "points", part=REVIEW))


def leaves_open(view: str) -> bool:
    """Return whether a sentence is a task, or depends on what was said before: `the column yes, but …`."""
    refers = has_cue(view, "refers", "fragment", part=REVIEW)
    return refers or is_cut_off(view) or (is_task(view) and not denies(view))


def is_cut_off(view: str) -> bool:
    """Return whether a parenthesis has no counterpart, because the sentence is a part of another sentence."""
    plain = _EMOTICON.sub("", view)
    return plain.count("(") != plain.count(")")


def is_worth_proposing(view: str) -> bool:
    """Return whether a person could decide on a sentence: neither a program's output, a task, a question nor a
    fragment."""
    is_unfit = is_cut_off(view) or has_cue(view, *_UNFIT, part=REVIEW)
    return not is_unfit and len(content_words(view)) >= LEAST_WORDS


def is_task(view: str) -> bool:
    return has_cue(view, "task", part=REVIEW)


def explains(statement: UserSentence, neighbour: UserSentence, *, is_behind: bool) -> bool:
    """Return by rule whether the neighbour explains the statement. A neighbour before the statement must be taken up:
    `so …`."""
    view = neighbour.view
    if not is_behind:
        return FOLLOWS.match(statement.view) is not None and not neighbour.is_question
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
        float(classify(neighbour) is not None), log1p(len(view.split())),
        *(float(has_cue(view, cue)) for cue in _REASON_CUES),
    ]  # fmt: skip
