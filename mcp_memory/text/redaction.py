"""Redaction: secrets taken out of a text that nobody has looked through, say what was said in a session.

Besides the shapes by which an append is refused it knows whatever is called a password, token or key where it stands:
here a word too many costs nothing, and a secret too few stays on disk. Bounded patterns, so that time grows with the
text alone; what was redacted once is left alone the next time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from mcp_memory.text.secrets import KEY_BLOCK, PLACEHOLDER, SHAPES, Shape, looks_random, mixed

_NAMES = r"secret|token(?!s)|passw(?:or)?d|passwort|passphrase|passwd|pwd|api[_\-]?key|access[_\-]?key|private[_\-]?key"
_VALUE = r"([^\s\"'`,;<>]{6,2000})"
_CODE = re.compile(r"[A-Za-z_.]+[(\[]|[A-Za-z_]+(?:\.[A-Za-z_]+)+\Z")
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----")
_KEY_START = re.compile(KEY_BLOCK)


class Redacted(NamedTuple):
    """So many `secrets` were taken out."""

    text: str
    secrets: int


def redact(text: str) -> Redacted:
    """The text with `[redacted: KIND]` in place of each secret."""
    text, count = _without_keys(text)
    for shape in (*SHAPES, *_CALLED):
        if any(hint in text for hint in shape.hints):
            replaced = _Replacing(shape)
            text = shape.pattern.sub(replaced, text)
            count += replaced.count
    lowered = text.lower()
    for shape in _NAMED if any(hint in lowered for hint in _HINTS) else ():
        replaced = _Replacing(shape)
        text = shape.pattern.sub(replaced, text)
        count += replaced.count
    return Redacted(text, count)


class _Replacing:
    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.count = 0

    def __call__(self, match: re.Match[str]) -> str:
        if not self._shape.is_real(match[1]) or match[1].startswith("[redacted"):
            return match[0]
        self.count += 1
        start, end = match.start(1) - match.start(), match.end(1) - match.start()
        return f"{match[0][:start]}[redacted: {self._shape.kind}]{match[0][end:]}"


def _without_keys(text: str) -> Redacted:
    """Private keys go whole; one whose end is missing goes with all that follows."""
    kept: list[str] = []
    at = 0
    while "PRIVATE KEY" in text and (begin := _KEY_START.search(text, at)):
        if len(set(begin[1])) <= 5:
            kept.append(text[at : begin.end()])
            at = begin.end()
            continue
        end = _KEY_END.search(text, begin.end())
        kept.append(f"{text[at : begin.start()]}[redacted: private key]")
        at = end.end() if end else len(text)
    found = sum(piece.endswith("[redacted: private key]") for piece in kept)
    return Redacted("".join([*kept, text[at:]]), found)


def _like_a_secret(value: str) -> bool:
    """Not code that asks for one, nor a word of prose."""
    if value[0] in "$%{[(<*." or PLACEHOLDER.search(value) or _CODE.match(value) or len(set(value)) < 4:
        return False
    return any(not character.isalpha() and character not in "._-:/\\" for character in value) or _looks_long(value)


def _looks_long(value: str) -> bool:
    """Letters in both cases, as in no word."""
    return len(value) >= 16 and looks_random(value) and not value.islower() and not value.istitle()


def _in_env(value: str) -> bool:
    """Behind `NAME=` in capitals a plain word is a value, too."""
    return value[0] not in "$%{[(<*" and not PLACEHOLDER.search(value) and len(set(value)) > 3


def _shape(kind: str, pattern: str, is_real: Callable[[str], bool], *hints: str) -> Shape:
    return Shape(kind, hints, re.compile(pattern), is_real)


_CALLED = (
    _shape("bearer token", r"(?i)\bbearer\s{1,3}([\w\-.+/~]{16,2000}={0,2})", mixed, "earer", "EARER"),
    _shape("cookie", r"(?i)\b(?:set-)?cookie[\"']?\s{0,3}:\s{0,3}([^\s\"'][^\r\n\"']{7,4000})", looks_random, "ookie"),
)
_NAMED = (
    _shape(
        "secret",
        rf"\b[A-Z0-9_]{{0,60}}(?:SECRET|TOKEN|PASSWORD|PASSPHRASE|PASSWD|PWD|KEY|PASS|CREDENTIALS?|AUTH)=[\"']?{_VALUE}",
        _in_env,
    ),
    _shape(
        "secret",
        rf"(?i)(?:{_NAMES})[A-Za-z0-9_]{{0,20}}[\"']?\s{{0,3}}(?::|=>?)\s{{0,3}}[\"'`]?{_VALUE}",
        _like_a_secret,
    ),
    _shape("secret", rf"(?i)(?:{_NAMES})\s{{1,3}}(?:is|was|ist|war|lautet)\s{{1,3}}[\"'`]?{_VALUE}", _like_a_secret),
    _shape("secret", rf"(?i)--[a-z\-]{{0,30}}(?:{_NAMES})[ =][\"']?{_VALUE}", _like_a_secret),
)
_HINTS = (
    "secret", "token", "passw", "passphrase", "pwd", "api_key", "api-key", "apikey", "access_key", "access-key",
    "accesskey", "private_key", "private-key", "privatekey", "key=", "pass=", "auth=", "credential",
)  # fmt: skip
"""One of these is in whatever has a name: a cheap look before the patterns."""
