"""Decides whether a statement is clear on its own and lasts, so that it may be stored without review."""

import re

from mcp_memory.statements.cues import REVIEW, patterns
from mcp_memory.text.language.denials import denies
from mcp_memory.text.language.terms import content_words

LEAST_TERMS, LEAST_WORDS = 3, 2
"""The minimum number of content words of a statement, and of those that aren't numbers. A proposal needs only the
second."""
_EMOTICON = re.compile(r"[:;=]['’]?-?[()]+")
_UNFIT = ("output", "task", "report", "asks", "with_task")
_PASSING = ("handles", "undecided", *_UNFIT)
_ANSWER = re.compile(
    r"(?:(?:no|nope|nah|yes|yeah|yep|ok(?:ay)?|sure|right|well|oh|ah+|hm+|and|but|so|also|nein|nee|ja|doch|klar|ach|und|"
    r"aber|also|non|oui|bon|et|mais|sí|si|vale|bueno|y|pero)\b[,.!: ]+)+"
)


def stands_alone(view: str, *, is_explained: bool) -> bool:
    """Return whether a sentence names its subject and states something that lasts: no task, report, open choice or
    question. `is_explained`: the sentence before it, or the question that it answers, names the subject."""
    own, found = _ANSWER.sub("", view, count=1) if _ANSWER.match(view) else view, patterns(REVIEW)
    if leaves_open(own) or any(found[name].search(own) for name in _PASSING):
        return False
    return is_explained or (found["points"].match(own) is None and _says_enough(own))


def leaves_open(view: str) -> bool:
    """Return whether a sentence is a task, or depends on what was said before: `the column yes, but …`."""
    refers = any(patterns(REVIEW)[name].search(view) for name in ("refers", "fragment"))
    return refers or is_cut_off(view) or (is_task(view) and not denies(view))


def _says_enough(view: str) -> bool:
    said = content_words(view)
    return len(said) >= LEAST_TERMS and sum(not word.isdigit() for word in said) >= LEAST_WORDS


def is_cut_off(view: str) -> bool:
    """Return whether a parenthesis has no counterpart, because the sentence is a part of another sentence."""
    plain = _EMOTICON.sub("", view)
    return plain.count("(") != plain.count(")")


def is_worth_proposing(view: str) -> bool:
    """Return whether a person could decide on a sentence: neither a program's output, a task, a question nor a
    fragment."""
    found = patterns(REVIEW)
    if is_cut_off(view) or any(found[name].search(view) for name in _UNFIT):
        return False
    return len(content_words(view)) >= LEAST_WORDS


def has_task(view: str) -> bool:
    """Return whether a later clause of a sentence is a task: `it misses two, write a test for them`."""
    return patterns(REVIEW)["with_task"].search(view) is not None


def is_task(view: str) -> bool:
    return patterns(REVIEW)["task"].search(view) is not None
