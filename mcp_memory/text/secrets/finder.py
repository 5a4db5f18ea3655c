"""Secrets in a text: tokens of a known form, private keys, and whatever is called a password, token or key where it
stands.

One detector, for what is refused and for what is taken out of captured sessions. What looks like a plain word passes:
"the password is stored in the keyring" names none. Every pattern is bounded in length, so time grows with the text
alone.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mcp_memory.text.secrets.names import CALLED, KIND, MARK, find_named, like_a_password
from mcp_memory.text.secrets.shapes import TOKENS, SecretShape, looks_random, mixed


@dataclass(frozen=True, slots=True)
class Secret:
    """What stands at `start` to `end` of a text. `kind` in words: "GitHub token"."""

    kind: str
    start: int
    end: int


def find_secret(text: str) -> str | None:
    """The kind of a secret in the text, or None. Never the secret itself."""
    found = find_secrets(text)
    return found[0].kind if found else None


def find_secrets(text: str) -> list[Secret]:
    """In order of place, none overlapping another; where two forms fit the same characters, the more exact names it."""
    found: list[Secret] = []
    for secret in sorted(_all(text), key=lambda each: each.start):
        last = found[-1] if found else None
        if last is None or secret.start >= last.end:
            found.append(secret)
        else:
            kind = secret.kind if last.kind == KIND else last.kind
            found[-1] = Secret(kind, last.start, max(last.end, secret.end))
    return found


def _all(text: str) -> Iterator[Secret]:
    yield from _private_keys(text)
    for shape in (*TOKENS, *_FORMS, *CALLED):
        if any(hint in text for hint in shape.hints):
            yield from _of(shape, text)
    for start, end in find_named(text):
        yield Secret(KIND, start, end)


def _of(shape: SecretShape, text: str) -> Iterator[Secret]:
    for match in shape.pattern.finditer(text):
        value = match["secret"]
        if not value.startswith(MARK) and shape.is_real(value):
            yield Secret(shape.kind, *match.span("secret"))


_AROUND_LINES = r"(?:[\s\"'>+|#*,]|\\{1,7}[rn])"
"""Between the lines of a key: line ends, also escaped, and what quotes, indents or joins them."""
_KEY_START = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:{_AROUND_LINES}|[A-Za-z\-]{{4,20}}: [^\n]{{1,80}}\n){{1,60}}([A-Za-z0-9+/=]{{40,76}})"
)
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----")
_LEAST_IN_A_KEY = 6
"""Different characters in its first line."""


def _private_keys(text: str) -> Iterator[Secret]:
    """Whole; one whose end is missing, with all that follows."""
    at = 0
    while "PRIVATE KEY" in text and (begin := _KEY_START.search(text, at)):
        at = begin.end()
        if len(set(begin[1])) >= _LEAST_IN_A_KEY:
            end = _KEY_END.search(text, at)
            at = end.end() if end else len(text)
            yield Secret("private key", begin.start(), at)


def _is_jwt(value: str) -> bool:
    header = value.partition(".")[0]
    try:
        decoded: object = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return False
    return isinstance(decoded, dict) and "alg" in decoded


def _form(kind: str, hints: str, pattern: str, is_real: Callable[[str], bool] = looks_random) -> SecretShape:
    return SecretShape(kind, tuple(hints.split()), re.compile(pattern), is_real)


_FORMS = (
    _form(
        "AWS secret access key",
        "ecret ECRET",
        r"(?i)\baws_?secret_?(?:access_?)?key\\{0,7}[\"']?\s{0,3}[=:]\s{0,3}\\{0,7}[\"']?(?P<secret>[A-Za-z0-9/+]{40})"
        r"(?![A-Za-z0-9/+=])",
        mixed,
    ),
    _form("Azure storage key", "AccountKey=", r"\bAccountKey=(?P<secret>[A-Za-z0-9+/]{86}==)"),
    _form("Azure client secret", "Q~", r"(?<![\w~.\-])(?P<secret>[\w~.]{3}[0-9]Q~[\w~.\-]{31,34})(?![\w~.\-])", mixed),
    _form("Azure signature", "sig=", r"[?&]sig=(?P<secret>[A-Za-z0-9+/%]{40,80}={0,2})", mixed),
    _form(
        "Discord bot token",
        ".",
        r"(?P<secret>[MNO](?<![\w\-.][MNO])[A-Za-z0-9]{23,27}\.[\w\-]{6}\.[\w\-]{27,40})(?![\w\-.])",
        mixed,
    ),
    _form("Telegram bot token", ":AA", r"(?:(?<![A-Za-z0-9])|(?<=/bot))[0-9]{8,10}:(?P<secret>AA[\w\-]{33})(?![\w\-])"),
    _form("MaxMind key", "_mmk", r"(?<![\w])(?P<secret>[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)(?!\w)"),
    _form("Mailchimp key", "-us", r"(?<![\w\-])(?P<secret>[0-9a-f]{32}-us[0-9]{1,2})(?![\w\-])"),
    _form(
        "JSON web token",
        "eyJ",
        r"(?:(?<![\w\-.])|(?<=\\[nrt]))(?P<secret>eyJ[\w\-]{10,2000}\.[\w\-]{10,8000}\.[\w\-]{16,1000})(?![\w\-])",
        _is_jwt,
    ),
    _form(
        "hash of a password",
        "$",
        r"\$(?P<secret>(?:apr1|1|2[abxy]|5|6|7|y|gy)\$[^\s\"'`:;,<>]{20,200}|(?:argon2(?:id|i|d)|scrypt)\$[^\s\"'`:;<>]{40,400})",
        mixed,
    ),
    _form(
        "PuTTY key",
        "Private-Lines:",
        r"Private-Lines: [0-9]{1,3}\s{1,2}(?P<secret>(?:[A-Za-z0-9+/=]{20,64}\s{1,2}){1,100})",
    ),
    _form(
        "password in a URL",
        "://",
        r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s/:@\"'`<>]{0,100}:(?P<secret>[^\s/\"'`<>]{4,200})@[\w\[]",
        like_a_password,
    ),
    _form(
        "token in a URL",
        "://",
        r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.\-]{1,20}://(?P<secret>[^\s/:@\"'`<>]{20,200})(?::[^\s/@]{0,200})?@[\w\[]",
        mixed,
    ),
)
