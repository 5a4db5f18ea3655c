"""Subjects: what a question asks about as a whole, as in "what do we know about the Japan trip?". Pure."""

from __future__ import annotations

import re

from mcp_memory.text.language.terms import fold, telling

MOST_CHARS = 300
"""A longer text is no question about one subject."""

_AS_A_WHOLE = re.compile(
    r"\b(?:overview|summary|summari[sz]e|recap|everything|(?:we|you|i) (?:\w+ )?know (?:about|of|on)"
    r"|tell me about|what about)\b",
    re.IGNORECASE,
)
"""English, as far as it goes: in other languages a question is answered by passages."""
_FILLERS = frozenset(map(fold, ("give", "show", "list", "tell", "know", "notes", "memory", "topic")))


def subject_of(question: str) -> frozenset[str]:
    """Its folded words; empty where something in particular is asked for."""
    if len(question) > MOST_CHARS:
        return frozenset()
    rest, cues = _AS_A_WHOLE.subn(" ", question)
    return telling(rest) - _FILLERS if cues else frozenset()
