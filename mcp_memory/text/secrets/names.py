"""Recognizes secrets by their names: the value after "password", `API_KEY=`, `--token`, `curl -u` and the like.

In code, the name isn't enough, since variables, calls and types also follow it. The value must therefore look like none
of these. Quotes may be escaped, as in JSON within JSON.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from mcp_memory.text.secrets.shapes import PLACEHOLDER, looks_random, mixed, shape

KIND = "password or key"
MARK = "[redacted"
"""The start of the text that replaces a redacted secret."""
_MARKED = re.compile(rf"{re.escape(MARK)}: [^\]\n]{{1,40}}\]")

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
_NO_VALUE = re.compile(r"[a-z]{2,10}://|[0-9.]+\Z|\\[uUx]")
_PLAIN = re.compile(r"[A-Za-z]+(?:[_\-./:]{1,2}[A-Za-z]+)*[_\-]?[0-9]?")
_TAIL = ".,:;!?)]}&*|"
_LEAST_CHARS = 6
_JUDGED_CHARS = 200
_LEAST_WORD_CHARS = 3
"""The minimum mean length of words; random letters change case more often."""

_RANDOM_TURNS = 0.3
"""The maximum share of adjacent letters that differ in case: half of random letters do, and a fifth of the letters in
names."""


def like_a_password(value: str) -> bool:
    """Return whether a value is a password where only a password can be; words from manuals aren't."""
    if value.lower() in _COMMON_PASSWORDS or len(set(value)) < 4:
        return False
    return not (PLACEHOLDER.search(value) or value[0] in "$%{[(" or value.lower().endswith(("password", "secret")))


def _like_no_word(value: str) -> bool:
    """Return whether a value is a secret after an option, which manuals also mention in a sentence."""
    return like_a_password(value) and not value.rstrip(_TAIL).isalpha()


def _like_a_secret(value: str) -> bool:
    """Return whether a value is neither code nor a word of prose."""
    value = value.rstrip(_TAIL)
    if len(value) < _LEAST_CHARS or _stands_for_another(value) or _CODE.match(value) or _is_name(value):
        return False
    return _has_other_than_letters(value) or _flickers(value)


def _quoted_like_a_secret(value: str) -> bool:
    """Return whether a value in quotes is a secret. It can't be a variable, but may be a name, message or template."""
    if _stands_for_another(value) or any(map(str.isspace, value)) or _NO_VALUE.match(value):
        return False
    return _flickers(value) or (not _PLAIN.fullmatch(value) and not _is_name(value) and _has_other_than_letters(value))


def _in_env(value: str) -> bool:
    """Return whether a value after `NAME=` in capitals is a secret; even a plain word is."""
    value = value.rstrip(_TAIL)
    return bool(value) and not _stands_for_another(value) and not (value.isalpha() and value.isupper())


def _strong(value: str) -> bool:
    """Return whether a value after a mere space is a secret: it needs letters, digits and a third class of characters,
    or many letters and digits."""
    value = value.rstrip(_TAIL)
    if len(value) < 8 or not _like_a_secret(value) or re.match(r"[a-z]+[\-=:(]|.?/", value):
        return False
    lower, upper, digit = (any(map(test, value)) for test in (str.islower, str.isupper, str.isdigit))
    other = any(not character.isalnum() and character not in "._-/:()" for character in value)
    return digit and (lower + upper + other >= 2 or (len(value) >= 16 and value.isalnum() and mixed(value)))


def _stands_for_another(value: str) -> bool:
    return value[0] in "$%{[(<*.&=|" or len(set(value)) < 4 or bool(PLACEHOLDER.search(value))


def _has_other_than_letters(value: str) -> bool:
    return any(not character.isalpha() and character not in "._-:/\\" for character in value)


def _is_name(value: str) -> bool:
    """Return whether a value names a variable or a type: words joined by `_` or capitals, and few digits."""
    joined = "_" in value or not (value.islower() or value.isupper())
    if not joined or not re.fullmatch(r"\w+", value):
        return False
    words = _WORDS.findall(value)
    letters = [word for word in words if word.isalpha()]
    many = len(letters) > 1 or "_" in value
    return many and len(words) - len(letters) <= 1 and sum(map(len, letters)) >= _LEAST_WORD_CHARS * len(letters)


def _flickers(value: str) -> bool:
    """Return whether letters change case more often than in a name."""
    turns = [a.islower() != b.islower() for a, b in pairwise(value) if a.isalpha() and b.isalpha()]
    return len(value) >= 16 and looks_random(value) and sum(turns) > _RANDOM_TURNS * len(turns)


_Q = r"\\{0,7}[\"'`]"
_BARE = r"(?P<secret>(?:[^\s\"'`,;<>\\]|\\(?![\\\"'nrt])){6,2000})"
_QUOTED = r"(?P<quote>\\{0,7}[\"'`])(?P<secret>(?:(?!(?P=quote))[^\n]){6,400})(?P=quote)"
_FOUR = r"(?P<secret>(?:[^\s\"'`\\]|\\(?![\\\"'nrt])){4,200})"
_NAME = re.compile(
    r"secret(?:[_\- ]key)?|token(?!s)|passw(?:or)?d|passwort|kennwort|passphrase|pwd|mot de passe|contraseña|clave|"
    r"ap[ip][_\- ]?key|(?:api|wlan|wifi|wi-fi)[\- ]?schlüssel|clé (?:d['’])?api|client-key-data|"
    r"(?:access|auth|application|license|licence|pre-?shared)[_\- ]?key|private[_\- ]?key|_auth|"
    r"(?:totp|2fa)[_\- ](?:seed|key)|(?:recovery|backup) codes?"
)
_NAMES = rf"(?i:{_NAME.pattern})"


class _Behind(NamedTuple):
    """The text directly after a name."""

    pattern: re.Pattern[str]
    is_real: Callable[[str], bool]


_SIGN = (
    rf"(?:(?![a-z])\w{{1,20}})?(?:{_Q})?\]?"
    r"(?:\*{0,2}[ \t]{0,3}(?::[ \t]?\w{1,20}[ \t]?=|:=?|=>?|->|→)|[ \t]{1,20}\|)\*{0,2}\s{0,3}"
)
"""Matches `NAME_2" =>`, `**NAME:**`, `| NAME |`, `NAME: str =`. With a lower-case letter after the name it would be
another word: tokenizer."""
_VERB = r"(?:is|was|ist|war|lautet|heißt|est|était|es|era)(?:[ \t]{1,3}(?:now|still|nun|jetzt|noch))?[ \t]{0,3}:?"
_LATER = rf"(?:[ \t]{{1,3}}[^\W\d_]{{1,20}}){{0,5}}?(?:[ \t]{{1,3}}(?:{_VERB}|to|auf|zu)|:)[ \t]{{1,3}}(?:{_Q})?"
_BEHIND = (
    _Behind(re.compile(rf"{_SIGN}(?:String::from\()?{_QUOTED}"), _quoted_like_a_secret),
    _Behind(re.compile(_SIGN + _BARE), _like_a_secret),
    _Behind(re.compile(rf"[ \t]{{1,3}}{_VERB}[ \t]{{1,3}}(?:{_Q})?{_BARE}"), _like_a_secret),
    _Behind(re.compile(_LATER + _BARE), _strong),
    _Behind(re.compile(rf"[ \t]{{1,3}}(?:{_Q})?{_BARE}"), _strong),
    _Behind(re.compile(rf"[\w.\-]{{0,20}}>{_BARE}</"), _like_a_secret),
    _Behind(re.compile(rf"{_Q}\s{{1,3}}value=(?:{_Q}){_BARE}"), _like_a_secret),
)


_named = partial(shape, KIND)
_ENV = (
    r"(?:SECRET|TOKEN|PASSWORD|PASSPHRASE|PASSWD|PWD|KEY|PASS|CREDENTIAL|AUTH|(?<=_)PAT(?![A-Z]))"
    r"(?!_(?:NAME|HEADER|FILE|PATH|PREFIX|TYPE|URL)\b)[A-Z0-9_]{0,10}"
)
_COMMANDS = tuple(
    _named(hint, rf"{before}(?:{_Q})?{_FOUR}", _like_no_word)
    for hint, before in (
        ("requirepass", r"\brequirepass[ \t]{1,3}"),
        ("smbclient", r"smbclient\b[^\n]{0,100}?[ \t](?:-U|--user)[ =]?[^\s%]{1,60}%"),
        ("ldap", r"ldap[a-z]{3,10}\b[^\n]{0,200}?[ \t]-w[ \t]{1,3}"),
        ("openssl", r"openssl\b[^\n]{0,200}?[ \t](?:-k[ \t]{1,3}|-pass(?:in|out)?[ \t]{1,3}pass:)"),
        ("storepass keypass", r"-(?:store|key)pass[ \t]{1,3}"),
        ("zip", r"\b(?:zip|unzip)\b[^\n]{0,100}?[ \t]-P[ \t]{0,3}"),
        ("7z", r"\b7z[a-z]?[ \t][^\n]{0,100}?(?<=[ \t])-p"),
        ("login", r"\blogin[ \t][^\n]{0,100}?(?<=[ \t])-p[ \t]{1,3}"),
        ("rabbitmqctl", r"rabbitmqctl[ \t]{1,3}(?:add_user|change_password)[ \t]{1,3}\S{1,60}[ \t]{1,3}"),
        ("htpasswd", r"htpasswd[ \t]{1,3}-\w{0,5}b\w{0,5}[ \t]{1,3}\S{1,100}[ \t]{1,3}\S{1,60}[ \t]{1,3}"),
    )
)
"""Programs that take a password as an argument."""
_PIPED = r"(?:echo|printf)[ \t]{1,3}(?:-n[ \t]{1,3})?"
CALLED = (
    shape(
        "authorization header",
        "uthorization UTHORIZATION",
        rf"(?i)\bauthorization(?:{_Q})?\s{{0,3}}[:=]\s{{0,3}}(?:{_Q})?(?:bearer|basic|token|ssws|apikey|bot|digest)"
        r"\s{1,3}(?P<secret>[\w\-.+/~]{16,2000}={0,2})",
        mixed,
    ),
    shape("bearer token", "earer EARER", r"(?i)\bbearer\s{1,3}(?P<secret>[\w\-.+/~]{16,2000}={0,2})", mixed),
    shape(
        "cookie",
        "ookie OOKIE",
        rf"(?i)\b(?:set-)?cookie(?:{_Q})?\s{{0,3}}:\s{{0,3}}(?:{_Q})?"
        r"(?P<secret>[^\s\"'\\=]{1,80}=[^\r\n\"'\\]{7,4000})",
        mixed,
    ),
    shape(
        "cookie",
        "curl",
        rf"curl[ \t][^\n]{{0,300}}?(?<=[ \t])(?:-b|--cookie)[ =]?(?:{_Q})?"
        r"(?P<secret>[^\s\"'\\=]{1,80}=[^\r\n\"'\\]{7,4000})",
        mixed,
    ),
    _named("=", rf"{_ENV}={_QUOTED}", _in_env),
    _named("=", rf"{_ENV}={_BARE}", _in_env),
    _named("ENV", rf"ENV[ \t]{{1,3}}[A-Z0-9_]{{0,60}}?{_ENV}[ \t]{{1,3}}(?:{_Q})?{_BARE}", _like_a_secret),
    _named("--", rf"--[A-Za-z\-]{{0,30}}?{_NAMES}(?:[ =]|{_Q},\s{{1,3}})(?:{_Q})?{_BARE}", _like_a_secret),
    _named("_PASS:", rf"(?<=_)PASS:[ \t]{{1,3}}(?:{_Q})?{_BARE}", _like_a_secret),
    _named("pw pass", rf"\b(?:pw|pass)[ \t]{{1,3}}(?:{_Q})?{_BARE}", _strong),
    _named(
        "ogin reds redential ccount ugang eldedaten dentifiant",
        r"(?i)\b(?:log-?in|credentials?|creds|account|zugangsdaten|anmeldedaten|zugang|identifiants?|credenciales)\b"
        rf"[ \t:]{{1,3}}[^\s/:]{{1,60}}[ \t]{{0,2}}/[ \t]{{0,2}}(?:{_Q})?{_BARE}",
        _strong,
    ),
    _named("pw pass psk", rf"(?:\b|(?<=_))(?:pw|pass|psk)[ \t]{{0,3}}[:=][ \t]{{0,3}}(?:{_Q})?{_BARE}", _like_a_secret),
    _named("?", r"[?&](?:key|sig|[\w\-]{0,20}[sS]ignature|auth|code)=(?P<secret>[\w\-%.~+/]{20,400})", mixed),
    _named("auth", rf"auth{_Q}\s{{0,3}}:\s{{0,3}}{_Q}(?P<secret>[A-Za-z0-9+/]{{16,400}}={{0,2}})", mixed),
    _named(
        "curl -a --auth",
        rf"(?:curl|https?)[ \t][^\n]{{0,300}}?(?<=[ \t])(?:-u|--user|-a|--auth)[ =]?[ \t]{{0,3}}(?:{_Q})?"
        rf"[^\s:\"'`]{{1,100}}:{_FOUR}",
        like_a_password,
    ),
    _named(
        "define", rf"define\(\s{{0,3}}{_Q}\w{{0,60}}?{_NAMES}\w{{0,20}}{_Q},\s{{0,3}}{_QUOTED}", _quoted_like_a_secret
    ),
    _named(
        "chpasswd",
        rf"{_PIPED}(?:{_Q})?[\w.\-]{{1,40}}:{_FOUR}(?:{_Q})?[ \t]{{0,3}}\|[^\n]{{0,40}}?chpasswd",
        like_a_password,
    ),
    _named(
        "-stdin sudo",
        rf"{_PIPED}(?:{_Q})?{_FOUR}(?:{_Q})?[ \t]{{0,3}}\|[^\n]{{0,80}}?(?:--password-stdin|sudo[ \t]-S)",
        like_a_password,
    ),
    _named("IDENTIFIED identified", rf"(?i)\bidentified[ \t]{{1,3}}by[ \t]{{1,3}}{_QUOTED}", like_a_password),
    _named("sshpass", rf"sshpass[ \t]{{1,3}}-p[ \t]{{0,3}}(?:{_Q})?{_FOUR}", like_a_password),
    *_COMMANDS,
    _named("redis-cli", rf"redis-cli\b[^\n]{{0,100}}?[ \t]-a[ \t]{{1,3}}(?:{_Q})?{_FOUR}", like_a_password),
    _named(
        "docker podman mongo",
        rf"(?:docker|podman|mongosh?)[ \t][^\n]{{0,200}}?(?<=[ \t])-p[ \t]{{1,3}}(?:{_Q})?{_FOUR}",
        _strong,
    ),
    _named(
        "mysql mariadb",
        rf"(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]{{0,100}}?[ \t]-p(?:{_Q})?{_FOUR}",
        like_a_password,
    ),
    _named(
        ":*: :5432: :5433: :6432:",
        r":(?:[0-9]{4,5}|\*):[\w*\-]{1,60}:[\w*\-]{1,60}:(?P<secret>[^\s:]{6,100})(?!\S)",
        like_a_password,
    ),
)


def find_named(text: str) -> Iterator[tuple[int, int]]:
    """Yield the values that follow a name."""
    masked = _MARKED.sub(lambda mark: "[" * len(mark[0]), text)
    lowered = masked.lower()
    if len(lowered) != len(text):  # a few capitals have two lower-case letters
        lowered = "".join(small if len(small := c.lower()) == 1 else c for c in masked)
    for name in _NAME.finditer(lowered):
        for pattern, is_real in _BEHIND:
            match = pattern.match(text, name.end())
            if match and is_real(match["secret"][:_JUDGED_CHARS]):
                yield match.span("secret")
