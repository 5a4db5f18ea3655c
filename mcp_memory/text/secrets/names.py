"""Recognizes secrets by their names: the value after "password", "API key", "my PIN is" and the like, in four
languages. Quotes may be escaped, as in JSON within JSON."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from mcp_memory.text.secrets.passphrases import find_passphrase
from mcp_memory.text.secrets.values import (
    like_a_hex_key,
    like_a_key,
    like_a_secret,
    quoted_like_a_secret,
    strong,
)

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
