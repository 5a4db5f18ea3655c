"""Finds and redacts secrets: tokens of a known form, private keys, and values labelled as a password, token or key.

The same detector refuses notes and redacts captured sessions. Plain words pass: "the password is stored in the
keyring". The length of every pattern is bounded, so the time is linear.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from mcp_memory.text.secrets.normalization import NormalizedText
from mcp_memory.text.secrets.places import AROUND_LINES, CALLED, CONTAINERS, find_broken, with_next_lines
from mcp_memory.text.secrets.shapes import DOCUMENTED, ISSUED, TOKENS, SecretShape, is_issued, looks_drawn, mixed, shape
from mcp_memory.text.secrets.values import KIND, MARK, find_named, like_a_password


class Secret(NamedTuple):
    """A secret at `text[start:end]`. `kind` is for people: "GitHub token"."""

    kind: str
    start: int
    end: int


class RedactedText(NamedTuple):
    """A redacted text; `secrets` is the number of redactions."""

    text: str
    secrets: int


def redact(text: str) -> RedactedText:
    """Replace each secret with `[redacted: KIND]`; the result contains no further secrets."""
    found = find_secrets(text)
    pieces: list[str] = []
    at = 0
    for secret in found:
        pieces += (text[at : secret.start], f"{MARK}: {secret.kind}]")
        at = secret.end
    return RedactedText("".join([*pieces, text[at:]]), len(found))


def find_secret(text: str) -> str | None:
    """Return the kind of a secret in the text, or None; never the secret itself."""
    found = find_secrets(text)
    return found[0].kind if found else None


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets in order, without overlaps. If two forms match the same characters, the more exact form
    wins."""
    normalized = NormalizedText(text)
    found: list[Secret] = []
    for secret in sorted(_all(normalized.text), key=lambda secret: secret.start):
        last = found[-1] if found else None
        if last is None or secret.start >= last.end:
            found.append(secret)
        else:
            kind = secret.kind if last.kind == KIND else last.kind
            found[-1] = Secret(kind, last.start, max(last.end, secret.end))
    if normalized.text is text:
        return found
    place = normalized.original_position
    return [Secret(secret.kind, place(secret.start), place(secret.end)) for secret in found]


def _all(text: str) -> Iterator[Secret]:
    at = 0
    while "PRIVATE KEY" in text and (begin := _KEY_START.search(text, at)):
        at = begin.end()
        if len(set(begin[1])) >= _LEAST_IN_A_KEY:
            end = _KEY_END.search(text, at)
            at = end.end() if end else len(text)  # a key without an end extends to the end of the text
            yield Secret("private key", begin.start(), at)
    yield from _tokens(text)
    for form in (*_FORMS, *CONTAINERS, *CALLED):
        if any(hint in text for hint in form.hints):
            yield from _matches(form, text)
    for start, end in find_named(text):
        yield Secret(KIND, start, end)


def _tokens(text: str) -> Iterator[Secret]:
    """Yield the tokens of known issuers, whole or in pieces, and values that look like tokens of another issuer."""
    ends: set[int] = set()
    for form in TOKENS:
        if any(hint in text for hint in form.hints):
            tokens = list(_matches(form, text))
            ends.update(token.end for token in tokens)
            yield from (Secret(token.kind, token.start, with_next_lines(text, token.end)) for token in tokens)
            if form in DOCUMENTED:
                yield from (Secret(form.kind, *span) for span in find_broken(form, text))
    for match in ISSUED.finditer(text):
        if match.end() not in ends and is_issued(match):
            yield Secret("access token", *match.span("secret"))


def _matches(form: SecretShape, text: str) -> Iterator[Secret]:
    for match in form.pattern.finditer(text):
        value = match["secret"]
        if not value.startswith(MARK) and form.is_real(value):
            yield Secret(form.kind, *match.span("secret"))


_KEY_START = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:{AROUND_LINES}|[A-Za-z\-]{{4,20}}: [^\n]{{1,80}}\n){{1,60}}([A-Za-z0-9+/=]{{40,76}})"
)
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----")
_FEWEST_DIGITS = 3
_LEAST_IN_A_KEY = 6
"""The minimum number of distinct characters in the first line of a key."""


def _is_jwt(value: str) -> bool:
    header = value.partition(".")[0]
    try:
        decoded: object = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return False
    return isinstance(decoded, dict) and "alg" in decoded


def _is_card_number(value: str) -> bool:
    """Return whether the check digit is right and the number isn't an example from a manual."""
    digits = [int(digit) for digit in value if digit.isdigit()][::-1]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]
    is_of_manuals = len(set(digits)) <= _FEWEST_DIGITS or digits.count(0) > len(digits) // 3
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0 and not is_of_manuals


_FORMS = (
    shape(
        "Bitcoin key",
        "5 K L prv",
        r"(?P<secret>(?:[5KL](?<![A-Za-z0-9+/=_\-].)[1-9A-HJ-NP-Za-km-z]{50,51}|"
        r"[xyz]prv(?<!\w.prv)[1-9A-HJ-NP-Za-km-z]{107,108}))(?![A-Za-z0-9+/=_\-])",
        looks_drawn,
    ),
    shape(
        "AWS secret access key",
        "aws_ AWS_ awsS awss AwsS AWSS",
        r"(?i)\baws_?secret_?(?:access_?)?key\\{0,7}[\"']?\s{0,3}[=:]\s{0,3}\\{0,7}[\"']?(?P<secret>[A-Za-z0-9/+]{40})"
        r"(?![A-Za-z0-9/+=])",
        mixed,
    ),
    shape(
        "AWS secret access key",
        "AKIA ASIA",
        r"(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])[^\n]{1,40}?(?<![A-Za-z0-9/+=])(?P<secret>[A-Za-z0-9/+]{40})"
        r"(?![A-Za-z0-9/+=])",
        mixed,
    ),
    shape(
        "mail service's key",
        "-",
        r"(?<![\w\-])(?P<secret>[0-9a-f]{32}-(?:[0-9a-f]{8}-[0-9a-f]{8}|us[0-9]{1,2}))(?![\w\-])",
        mixed,
    ),
    shape(
        "card number",
        "card Card CARD arte arjeta visa Visa VISA mex MEX",
        r"(?i:card|karte|carte|tarjeta|visa|amex)[^\n0-9]{0,40}"
        r"(?P<secret>(?:4[0-9]{3}|5[1-5][0-9]{2}|2[2-7][0-9]{2}|3[47][0-9]{2}|6011)(?:[ \-]?[0-9]){11,12})(?![0-9])",
        _is_card_number,
    ),
    shape("Azure storage key", "AccountKey=", r"\bAccountKey=(?P<secret>[A-Za-z0-9+/]{86}==)"),
    shape("Azure client secret", "Q~", r"(?<![\w~.\-])(?P<secret>[\w~.]{3}[0-9]Q~[\w~.\-]{31,34})(?![\w~.\-])", mixed),
    shape("Azure signature", "sig=", r"[?&]sig=(?P<secret>[A-Za-z0-9+/%]{40,80}={0,2})", mixed),
    shape(
        "Discord bot token",
        ".",
        r"(?P<secret>[MNO](?<![\w\-.][MNO])[A-Za-z0-9]{23,27}\.[\w\-]{6}\.[\w\-]{27,40})(?![\w\-.])",
        mixed,
    ),
    shape("Telegram bot token", ":AA", r"(?:(?<![A-Za-z0-9])|(?<=/bot))[0-9]{8,10}:(?P<secret>AA[\w\-]{33})(?![\w\-])"),
    shape("MaxMind key", "_mmk", r"(?<![\w])(?P<secret>[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)(?!\w)"),
    shape(
        "JSON web token",
        "eyJ",
        r"(?:(?<![\w\-.])|(?<=\\[nrt]))(?P<secret>eyJ[\w\-]{10,2000}\.[\w\-]{10,8000}\.[\w\-]{16,1000})(?![\w\-])",
        _is_jwt,
    ),
    shape(
        "hash of a password",
        "$",
        r"\$(?P<secret>(?:apr1|1|2[abxy]|5|6|7|y|gy)\$[^\s\"'`:;,<>]{20,200}|(?:argon2(?:id|i|d)|scrypt)\$[^\s\"'`:;<>]{40,400})",
        mixed,
    ),
    shape(
        "password in a URL",
        "://",
        r"://(?<=[A-Za-z0-9][A-Za-z0-9+.\-]://)[^\s/:@\"'`<>]{0,100}:(?P<secret>[^\s/\"'`<>]{4,200})@[\w\[]",
        like_a_password,
    ),
    shape(
        "token in a URL",
        "://",
        r"://(?<=[A-Za-z0-9][A-Za-z0-9+.\-]://)(?P<secret>[^\s/:@\"'`<>]{20,200})(?::[^\s/@]{0,200})?@[\w\[]",
        mixed,
    ),
)
