"""Judges whether a value after a name is a secret.

In code, the name isn't enough, since variables, calls and types also follow it. The value must therefore look like none
of these.
"""

import re
from itertools import pairwise

from mcp_memory.text.secrets.shapes import (
    has_both_cases,
    is_identifier,
    is_placeholder,
    looks_drawn,
    looks_random,
    mixed,
)

_COMMON_PASSWORDS = frozenset(
    "password passwd pass pwd passphrase secret token key user username admin root test guest postgres mysql mongo "  # noqa: SIM905 -- a list of words
    "redis rabbitmq elastic database changeme hunter2 foobar hidden private credentials".split()
)
_CODE = re.compile(
    r"[\w.:]+(?:[(\[{]|\)+[.\[(])|(?:\w{1,80}\.){0,20}[A-Za-z_]\w*\.[A-Za-z_]\w*\Z"
    r"|(?:[a-z][a-z_]{2,}|[A-Z][A-Z_]{3,})=(?:[A-Za-z_]|\Z)|(?:self|True|False|None|null|undefined)\b|//|[a-z]{2,10}://|b?[\"']"
    r"|-?[A-Za-z_]\w*\.[a-z_]|[0-9]{1,9}\Z|[0-9.]+\Z|\\"
)
"""Matches a call, an attribute, a name with an underscore, camelCase, a constant, the next argument, an address, a
number."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_TWO_WORDS = re.compile(
    r"(?!(?i:base|utf|iso|oauth|sha|md|aes|rsa|http|ipv|rfc|ripemd|blake|argon|keccak|win|log|test|step|level|type))"
    r"[A-Za-z][a-z]{2,20}[0-9]{1,4}[A-Za-z][a-z]{2,20}"
)
"""Matches words joined by a number, as people make passwords: `Blau3Katze`. Algorithms have such names, too."""
_NO_VALUE = re.compile(r"[a-z]{2,10}://|[0-9.]+\Z|\\[uUx]")
_PLAIN = re.compile(r"[A-Za-z]+(?:[_\-./:]{1,2}[A-Za-z]+)*[_\-]?[0-9]?")
_PATH = re.compile(r"(?:file:/)?~?/[\w.\-]{1,40}(?:/[\w.\-]{1,40}){1,20}/?")
_OTHER_THAN_LETTERS = re.compile(r"\d|[^\w.\-:/\\]")
_TAIL = ".,:;!?)]}&*|"
_LEAST_CHARS = 6
_LEAST_WORD_CHARS = 3
"""The minimum mean length of words; random letters change case more often."""

_RANDOM_TURNS = 0.3
"""The maximum share of adjacent letters that differ in case: half of random letters do, and a fifth of the letters in
names."""

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"(?:0x)?(?:[0-9a-f]+|[0-9A-F]+)")
_LEAST_RANDOM_CHARS = 16
_LEAST_KEY_CHARS, _LEAST_HEX_CHARS = 20, 32


def like_a_password(value: str) -> bool:
    """Return whether a value is a password where only a password can be; words from manuals aren't."""
    if value.lower() in _COMMON_PASSWORDS or len(set(value)) < 4:
        return False
    if is_placeholder(value) or value[0] in "$%{[(" or value.startswith("file:"):
        return False
    return not value.lower().endswith(("password", "secret"))


def like_no_word(value: str) -> bool:
    """Return whether a value is a secret after an option, which manuals also mention in a sentence."""
    return like_a_password(value) and not value.rstrip(_TAIL).isalpha()


def like_a_secret(value: str) -> bool:
    """Return whether a value isn't code and isn't a word of prose."""
    exclaimed = value.rstrip(".,:;)]}\"'").endswith("!") and any(map(str.isdigit, value))
    value = value.rstrip(_TAIL)
    if len(value) < _LEAST_CHARS or _stands_for_another(value) or _CODE.match(value):
        return False
    if _is_name(value) and not exclaimed:
        return False
    return _has_other_than_letters(value) or _flickers(value)


def quoted_like_a_secret(value: str) -> bool:
    """Return whether a value in quotes is a secret. It can't be a variable, but may be a name, message or template."""
    if _stands_for_another(value) or any(map(str.isspace, value)) or _NO_VALUE.match(value):
        return False
    return _flickers(value) or (not _PLAIN.fullmatch(value) and not _is_name(value) and _has_other_than_letters(value))


def in_env(value: str) -> bool:
    """Return whether a value after `NAME=` in capitals is a secret; even a plain word is."""
    value = value.rstrip(_TAIL)
    return bool(value) and not _stands_for_another(value) and not (value.isalpha() and value.isupper())


def strong(value: str) -> bool:
    """Return whether a value after a mere space is a secret: it needs letters, digits and a third class of characters,
    or many letters and digits."""
    value = value.rstrip(_TAIL)
    if len(value) < 8 or not like_a_secret(value) or re.match(r"[a-z_]+[\-=:(]|.?/", value):
        return False
    lower, upper, digit = (any(map(test, value)) for test in (str.islower, str.isupper, str.isdigit))
    other = any(not character.isalnum() and character not in "._-/:()" for character in value)
    return digit and (lower + upper + other >= 2 or (len(value) >= 16 and value.isalnum() and mixed(value)))


def like_a_key(value: str) -> bool:
    """Return whether a value is drawn from letters of both cases and digits, and isn't an identifier."""
    if len(value) < _LEAST_KEY_CHARS or _stands_for_another(value) or _UUID.match(value) or _HEX.fullmatch(value):
        return False
    public = value.startswith(("AAAA", "ssh-")) or is_identifier(value)
    return has_both_cases(value) and looks_drawn(value) and not public


def like_a_hex_key(value: str) -> bool:
    """Return whether a value is a key or consists of digits and small letters, as digests do."""
    if like_a_key(value):
        return True
    small = value.islower() and not _UUID.match(value) and not _stands_for_another(value)
    return small and len(value) >= _LEAST_HEX_CHARS and looks_drawn(value)


def _stands_for_another(value: str) -> bool:
    if value[0] in "$%{[(<*.&=|" or len(set(value)) < 4 or is_placeholder(value):
        return True
    return bool(_PATH.fullmatch(value)) and not looks_drawn(value)


def _has_other_than_letters(value: str) -> bool:
    return _OTHER_THAN_LETTERS.search(value) is not None


def _is_name(value: str) -> bool:
    """Return whether a value names a variable or a type: words joined by `_` or capitals, and few digits."""
    joined = "_" in value or not (value.islower() or value.isupper())
    if not joined or not re.fullmatch(r"\w+", value) or _TWO_WORDS.fullmatch(value):
        return False
    words = _WORDS.findall(value)
    letters = [word for word in words if word.isalpha()]
    many = len(letters) > 1 or "_" in value
    return many and len(words) - len(letters) <= 1 and sum(map(len, letters)) >= _LEAST_WORD_CHARS * len(letters)


def _flickers(value: str) -> bool:
    """Return whether letters change case more often than in a name."""
    if len(value) < _LEAST_RANDOM_CHARS or not has_both_cases(value) or not looks_random(value):
        return False
    turns = [a.islower() != b.islower() for a, b in pairwise(value) if a.isalpha() and b.isalpha()]
    return sum(turns) > _RANDOM_TURNS * len(turns)
