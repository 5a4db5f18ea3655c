"""Finds the speaker or subject at the start of an entry: `Ada` in `- Ada: …` and `- Ada (13:56): …`."""

import re
from collections.abc import Iterable

from mcp_memory.text.language.word_lists import STOP_WORDS

MAX_NAME_WORDS, MAX_NAME_CHARS = 4, 40

_PREFIX = re.compile(
    r"\s*(?:[-*+]\s+|[0-9]{1,3}[.)]\s+)?[*_`]{0,3}([^\W\d_][^\n:]{0,39}?)[*_`]{0,3}"
    r"(?: \([^()\n]{1,40}\))?:[*_`]{0,3}\s"
)
_TURN = re.compile(r"[-*+] ([^\n:()]{1,60}?)(?: \([^()\n]{1,40}\))?:\s")
_WORD = re.compile(r"[^\s,;:!?()\[\]{}\"“”]+")
_POSSESSIVE = re.compile(r"['’]s?$|\.$")
_MAX_WORDS = 64
"""The number of words of a question that are searched for names."""


def speaker_of(text: str) -> str | None:
    """Return the name before the first colon, without list marks, emphasis, and a remark in brackets."""
    match = _PREFIX.match(text)
    return match[1] if match and len(match[1].split()) <= MAX_NAME_WORDS else None


def are_turns(entries: Iterable[str]) -> bool:
    """Return whether the entries form a conversation: list items that all begin with a name, some of them repeatedly,
    unlike the keys of a list."""
    names: list[str] = []
    for entry in entries:
        match = _TURN.match(entry)
        if not match:
            return False
        names.append(match[1])
    return bool(names) and len(set(names)) * 2 <= len(names)


def possible_names(question: str) -> list[str]:
    """Return all possible names: each word of the question, and each short run of words, unless all are stop words."""
    words = [_POSSESSIVE.sub("", match[0]) for match in _WORD.finditer(question)][:_MAX_WORDS]
    runs = (words[at : at + long] for long in range(1, MAX_NAME_WORDS + 1) for at in range(len(words) - long + 1))
    named = (run for run in runs if all(run) and not STOP_WORDS.issuperset(word.lower() for word in run))
    names = dict.fromkeys(" ".join(run) for run in named)
    return [name for name in names if len(name) <= MAX_NAME_CHARS]


def without(question: str, names: Iterable[str]) -> str:
    """Return the question without these names and their `'s`, longest names first."""
    rest = question
    for name in sorted(names, key=len, reverse=True):
        rest = re.sub(rf"(?<!\w){re.escape(name)}(?:['’]s)?(?!\w)", " ", rest, flags=re.IGNORECASE)
    return " ".join(rest.split())
