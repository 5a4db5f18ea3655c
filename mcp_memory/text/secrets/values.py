"""Recognizes the names of secrets, and whether a value after such a name is a secret.

In code, the name isn't enough, since variables, calls and types also follow it. The value must therefore look like
none of these.
"""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from mcp_memory.text.secrets.passphrases import find_passphrase
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


KIND = "password or key"
MARK = "[redacted"
"""The start of the text that replaces a redacted secret."""
_MARKED = re.compile(rf"{re.escape(MARK)}: [^\]\n]{{1,40}}\]")

Q = r"\\{0,7}[\"'`]"
_BARE_CHARACTER = r"(?:[^\s\"'`,;<>\\]|\\(?![\\\"'nrt]))"
BARE = rf"(?P<secret>{_BARE_CHARACTER}{{6,2000}})"
_JUDGED = rf"(?P<secret>{_BARE_CHARACTER}{{6,200}})"
"""Matches as much of a bare value as needs to be judged."""
QUOTED = r"(?P<quote>\\{0,7}[\"'`])(?P<secret>(?:(?!(?P=quote))[^\n]){6,400})(?P=quote)"
_REST = re.compile(rf"{_BARE_CHARACTER}{{0,2000}}")
_NAME = re.compile(
    r"secret(?:[_\- ]key)?|token(?!s)|passw(?:or)?d|passwort|kennwort|passphrase|passcode|pwd|mot de passe|"
    r"contrase[ñn]a|clave|jeton|(?:seed|recovery|backup)[ \-]phrase|mnemonic|"
    r"pw(?<![a-z]pw)(?![a-z])|pass(?<![a-z]pass)(?![a-z])|psk(?<![a-z]psk)(?![a-z])|mdp(?<![a-z]mdp)(?![a-z])|"
    r"ap[ip][_\- ]?key|(?:api|wlan|wifi|wi-fi)[\- ]?schlüssel|clé (?:d['’])?api|client-key-data|"
    r"(?:access|auth|application|license|licence|pre-?shared)[_\- ]?key|private[_\- ]?key|_auth|"
    r"(?:totp|2fa)[_\- ](?:seed|key)|(?:recovery|backup) codes?"
)
NAMES = rf"(?i:{_NAME.pattern})"
_KEY_NAME = re.compile(
    r"key(?![a-z])|schlüssel(?![a-z])|(?:clé|llave|pat)(?<!\wclé)(?<!\wllave)(?<!\wpat)(?!\w)|"
    r"session(?:[_\- ]?(?:key|id|cookie))?(?![a-z])"
)
"""Matches names that also precede values that aren't secret, so that only a long random value is a secret."""
_WORD_BEFORE = re.compile(r"([^\W\d_]{1,24})['’]?[_\- ]?\Z")
_LONGEST_WORD_BEFORE = 26
_OPEN_KEYS = frozenset(
    "public primary foreign cache sort partition idempotency host object lookup map row composite natural surrogate "  # noqa: SIM905 -- a list of words
    "site publishable fingerprint lock routing dedup registry hash range shard index join order query translation "
    "gpg pgp ssh verification storage bucket image build commit artifact resource öffentlicher öffentliche "
    "öffentlichen fremd primär publique pública primaria foránea étrangère".split()
)
"""Keys that aren't secret, by the word before."""
_SECRET_KEYS = frozenset(
    "admin api secret private master root service encryption recovery unseal deploy account auth app developer dev "  # noqa: SIM905 -- a list of words
    "live prod production staging write read search ingest integration personal server client webhook subscription "
    "access signing".split()
)
"""Keys that are secret, by the word before: their value may follow directly, and look like a digest."""
_UNSPECIFIC = frozenset(["", *"the a an this that its his her our der die das den ein la le el un une".split()])  # noqa: SIM905 -- a list of words


class _Behind(NamedTuple):
    """The text directly after a name."""

    pattern: re.Pattern[str]
    is_real: Callable[[str], bool]


_SIGN = (
    rf"(?:(?![a-z])\w{{1,20}})?(?:{Q})?\]?"
    r"(?:\*{0,2}[ \t]{0,3}(?::[ \t]?\w{1,20}[ \t]?=|:=?|=>?|->|→)|[ \t]{1,20}\|)\*{0,2}\s{0,3}"
)
"""Matches `NAME_2" =>`, `**NAME:**`, `| NAME |`, `NAME: str =`. With a lower-case letter after the name it would be
another word: tokenizer."""
_VERB = r"(?:is|was|ist|war|lautet|heißt|est|était|es|era)(?:[ \t]{1,3}(?:now|still|nun|jetzt|noch))?[ \t]{0,3}:?"
_LATER = rf"(?:[ \t]{{1,3}}[^\W\d_]{{1,20}}){{0,5}}?(?:[ \t]{{1,3}}(?:{_VERB}|to|auf|zu)|:)[ \t]{{1,3}}(?:{Q})?"
_BEHIND = (
    _Behind(re.compile(rf"{_SIGN}(?:String::from\()?{QUOTED}"), quoted_like_a_secret),
    _Behind(re.compile(_SIGN + _JUDGED), like_a_secret),
    _Behind(re.compile(rf"[ \t]{{1,3}}{_VERB}[ \t]{{1,3}}(?:{Q})?{_JUDGED}"), like_a_secret),
    _Behind(re.compile(_LATER + _JUDGED), strong),
    _Behind(re.compile(rf"[ \t]{{1,3}}(?:{Q})?{_JUDGED}"), strong),
    _Behind(re.compile(rf"[\w.\-]{{0,20}}>{BARE}</"), like_a_secret),
    _Behind(re.compile(rf"{Q}\s{{1,3}}value=(?:{Q}){_JUDGED}"), like_a_secret),
)
_KEY = r"(?P<secret>[A-Za-z0-9+/_\-]{20,200}={0,2})"
_BETWEEN = r"(?:[ \t]{1,3}[^\W_][\w\-]{0,19}|[ \t]{0,3}\([^()\n]{1,30}\)){0,4}?"
_KEY_SAID = re.compile(rf"{_BETWEEN}(?:{_SIGN}|[ \t]{{1,3}}{_VERB}[ \t]{{1,3}})(?:{Q})?{_KEY}")
_KEY_DIRECT = re.compile(rf"[ \t]{{1,3}}(?:{Q})?{_KEY}")


def find_named(text: str) -> Iterator[tuple[int, int]]:
    """Yield the values that follow a name."""
    masked = _MARKED.sub(lambda mark: "[" * len(mark[0]), text)
    lowered = masked.lower()
    if len(lowered) != len(text):  # a few capitals have two lower-case letters
        lowered = "".join(small if len(small := c.lower()) == 1 else c for c in masked)
    for name in _NAME.finditer(lowered):
        for pattern, is_real in _BEHIND:
            match = pattern.match(text, name.end())
            if match and is_real(match["secret"]):
                yield match.start("secret"), _end_of_value(text, match)
        phrase = find_passphrase(text, lowered, name)
        if phrase:
            yield phrase.span("secret")
    yield from _find_keys(text, lowered)


def _end_of_value(text: str, match: re.Match[str]) -> int:
    rest = _REST.match(text, match.end("secret"))
    return rest.end() if rest else match.end("secret")


def _find_keys(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Yield the random values that follow a name such as "key". Values that look like digests are included if the word
    before the name marks the key as secret."""
    for name in _KEY_NAME.finditer(lowered):
        word_before = _WORD_BEFORE.search(lowered[max(0, name.start() - _LONGEST_WORD_BEFORE) : name.start()])
        owner = word_before[1] if word_before else ""
        if owner in _OPEN_KEYS:
            continue
        is_session = name[0].startswith("session")
        may_be_hex = owner in _SECRET_KEYS or name[0] == "pat"
        match = _KEY_SAID.match(text, name.end())
        if match:
            may_be_hex = may_be_hex or (owner not in _UNSPECIFIC and not is_session)
        elif not is_session:
            match = _KEY_DIRECT.match(text, name.end())
        is_real = like_a_hex_key if may_be_hex else like_a_key
        if match and is_real(match["secret"]):
            yield match.start("secret"), _end_of_value(text, match)
