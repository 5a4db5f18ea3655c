"""Describes a sentence of a session by cues: words and forms that separate statements from requests and small talk."""

import re
from functools import cache
from math import log1p

from mcp_memory.statements.language import languages
from mcp_memory.statements.spoken import SpokenSentence
from mcp_memory.statements.user_sentences import UserSentence
from mcp_memory.text.conversation.own_words import MASK
from mcp_memory.text.language.facts import FactKind, facts
from mcp_memory.text.language.word_tables import read_table

_KINDS = (FactKind.NUMBER, FactKind.DATE, FactKind.NAME, FactKind.IDENTIFIER)
VETO, REVIEW, CUE, AGREEMENT, PROPOSAL = "veto", "review", "cue", "agreement", "proposal"


@cache
def patterns(part: str) -> dict[str, re.Pattern[str]]:
    """Return the patterns of a part of `cues.toml`, by name, for the view of a sentence."""
    table = read_table("mcp_memory.statements", "cues.toml")[part]
    return {name: re.compile(text) for name, text in table.items()}


def is_vetoed(sentence: UserSentence) -> bool:
    """Return whether a sentence is a joke, a question, hypothetical, or about the present moment."""
    view = sentence.view
    vetoes = [*patterns(VETO).values(), *(language.anywhere for language in languages())]
    return sentence.is_question or any(pattern.search(view) for pattern in vetoes)


def is_not_to_be_kept(sentence: UserSentence) -> bool:
    """Return whether a sentence is a joke, a confidence, or names a secret."""
    return any(patterns(VETO)[name].search(sentence.view) for name in ("joke", "confided", "secret"))


def has_cue(view: str, *names: str) -> bool:
    return any(patterns(CUE)[name].search(view) for name in names)


def is_limited(view: str) -> bool:
    """Return whether a sentence holds only for a time, in a case or on a condition."""
    return patterns(AGREEMENT)["limits"].search(view) is not None


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
