"""Lists tokens that their issuers gave a recognizable form.

Prefixes and lengths come from issuers' documentation for secret scanning, the rules of gitleaks 8
(config/gitleaks.toml, read for these facts), and issuers' consoles and manuals. Forms that also fit hashes, UUIDs or
prose are omitted.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from mcp_memory.text.language.word_tables import read_table

_PLACEHOLDER = re.compile(
    r"example|placeholder|redacted|change.?me|dummy|sample|fake|your[-_]|my[-_](?:secret|token|key|api)|xxxx|"
    r"\*\*\*|\.\.\.|…|<|>|\$\{|\{\{",
    re.IGNORECASE,
)
_SEQUENCE = re.compile(r"0?12345678[0-9]*|abcdefgh[a-z]*", re.IGNORECASE)
_SMALL_WORDS = re.compile(r"[a-z0-9_\-./+=]*")
_FEWEST_DISTINCT_CHARACTERS = 8
"""The minimum number of distinct characters. A token of 16 characters or more with fewer was typed by holding down
keys."""


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder: words of a manual, or a sequence such as `12345678` or the alphabet with
    only plain characters around it."""
    rest = _SEQUENCE.sub("", value)
    return bool(_PLACEHOLDER.search(value)) or (rest != value and bool(_SMALL_WORDS.fullmatch(rest)))


def mixed_or_sequence(value: str) -> bool:
    """Return whether a value has letters and digits where only a token can be, even if they are in order."""
    has_digit = any(map(str.isdigit, value))
    return len(set(value)) >= _FEWEST_DISTINCT_CHARACTERS and has_digit and not _PLACEHOLDER.search(value)


def looks_random(value: str) -> bool:
    return len(set(value)) >= _FEWEST_DISTINCT_CHARACTERS and not is_placeholder(value)


def mixed(value: str) -> bool:
    """Return whether a value is random and contains a digit; long words joined by hyphens have none."""
    return looks_random(value) and any(character.isdigit() for character in value)


def _is_one_run(value: str) -> bool:
    """Return whether digits and letters alternate often enough: a name has its digits at its end."""
    turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(value))
    return mixed(value) and turns >= len(value) // 8


_LEAST_TURNS = {True: 0.35, False: 0.2}
"""The minimum share of adjacent characters that differ in kind, with letters of both cases or of one. Random
characters have .62 and .4."""
_LEAST_TURNS_WITH_FEW_DIGITS = 0.5


def looks_drawn(value: str) -> bool:
    """Return whether digits and letters of either case alternate as in a random text, and as in no name."""
    kinds = [(a.isdigit(), a.isupper(), b.isdigit(), b.isupper()) for a, b in pairwise(value) if (a + b).isalnum()]
    turns = sum(kind[:2] != kind[2:] for kind in kinds)
    digit_runs = len(re.findall("[0-9]+", value))
    least = _LEAST_TURNS[has_both_cases(value)] if digit_runs > 1 else _LEAST_TURNS_WITH_FEW_DIGITS
    return mixed(value) and turns >= least * len(kinds)


def has_both_cases(value: str) -> bool:
    return value.upper() != value != value.lower()


_IDENTIFIERS = frozenset(
    "id uuid guid sha sha1 sha256 sha384 sha512 md5 hash commit rev ref build image img layer digest cache trace span "  # noqa: SIM905 -- a list of words
    "tx block etag blob object obj req request resp response rs fc msg message run job batch event evt file chunk page "
    "step item fingerprint checksum integrity version release tag asset pk pub public publishable ses sess "
    "session thread conversation user account customer order product price".split()
)
"""Words in front of an identifier."""


class SecretShape(NamedTuple):
    """The form of a secret. Every match contains one of the literals in `hints`, a cheap check before the pattern.
    `is_real` judges the pattern's group `secret`, which gets redacted."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    is_real: Callable[[str], bool] = looks_random


def shape(kind: str, hints: str, pattern: str, is_real: Callable[[str], bool] = looks_random) -> SecretShape:
    """Create a form; `hints` are separated by spaces."""
    return SecretShape(kind, tuple(hints.split()), re.compile(pattern), is_real)


def _token(kind: str, prefixes: str, rest: str, is_real: Callable[[str], bool] = looks_random) -> SecretShape:
    """Create the form of a token that begins with any of the space-separated literal prefixes and continues with
    `rest`."""
    start = "|".join(map(_beginning, prefixes.split()))
    return shape(kind, prefixes, rf"(?:{start})(?P<secret>{rest})(?![A-Za-z0-9])", is_real)


def _beginning(prefix: str) -> str:
    """Match a prefix only at the start of a word or after an escaped line end in JSON. The literal comes first, to be
    found fast."""
    literal = re.escape(prefix)
    return rf"{literal}(?:(?<![A-Za-z0-9]{literal})|(?<=\\[nrt]{literal}))"


_JUDGES = {"mixed": mixed, "_is_one_run": _is_one_run}
TABLE = read_table("mcp_memory.text.secrets", "tokens.toml")


def _tokens(name: str) -> tuple[SecretShape, ...]:
    return tuple(_token(*row[:3], *map(_JUDGES.__getitem__, row[3:])) for row in TABLE[name])


DOCUMENTED = _tokens("documented")
TOKENS: tuple[SecretShape, ...] = (*DOCUMENTED, *_tokens("less_common"))

ISSUED = re.compile(
    r"(?<![\w\-./+%&@])(?=[\w\-]{31})(?P<issuer>[a-z][a-z0-9]{1,11}(?:[_\-][a-z0-9]{1,8}){0,3}?)"
    r"(?P<joint>[_\-])(?P<secret>(?=[\w\-]{0,40}[0-9])[\w\-]{29,2000})(?![\w\-]|\.[A-Za-z])"
)
"""Matches words that could be a token of an issuer who isn't listed: a short name, and many characters."""
_LEAST_ISSUED_CHARS = 30
_LEAST_ISSUED_DIGEST_CHARS = 32
_CHARS_BETWEEN_JOINTS = 8


def is_identifier(value: str) -> bool:
    """Return whether a part of the value names the thing that it identifies: `ses_`, `sha256-`."""
    return not _IDENTIFIERS.isdisjoint(re.split(r"[_\-]", value))


def is_issued(match: re.Match[str]) -> bool:
    """Return whether the characters after an issuer's name are random, and the name is none of identifiers."""
    value = match["secret"]
    if len(value) < _LEAST_ISSUED_CHARS or is_identifier(match[0]):
        return False
    pieces = re.split(r"[_\-]", value)
    longest = max(pieces, key=len)
    hyphenated = match["joint"] == "-" or "-" in value
    if has_both_cases(longest):
        return len(pieces) * _CHARS_BETWEEN_JOINTS <= len(value) + _CHARS_BETWEEN_JOINTS and looks_drawn(value)
    # Digests follow a name and a hyphen: the keys of caches, the names of images.
    return not hyphenated and len(longest) >= _LEAST_ISSUED_DIGEST_CHARS and looks_drawn(longest)
