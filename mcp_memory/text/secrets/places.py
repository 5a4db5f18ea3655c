"""Recognizes secrets by their place: in a container, an option or a header, or split by a space or line end."""

import re
from collections.abc import Iterator
from functools import partial

from mcp_memory.text.secrets.shapes import TABLE, SecretShape, looks_drawn, mixed, mixed_or_sequence, shape
from mcp_memory.text.secrets.values import (
    BARE,
    KIND,
    NAMES,
    QUOTED,
    Q,
    in_env,
    like_a_key,
    like_a_password,
    like_a_secret,
    like_no_word,
    quoted_like_a_secret,
    strong,
)

AROUND_LINES = r"(?:[\s\"'>+|#*,]|\\{1,7}[rn])"
"""Matches the text between the lines of a key: line ends, escaped or not, and marks that quote, indent or join the
lines."""
_IN_TAG = r"[^<>]{0,200}?"
_IN_LINE = r"[^\n]{0,200}?[ \t]"
_SOME = r"(?P<secret>[^\s\"'`<>\\]{4,200})"
_STORED = rf"--(?:value|body|secret-string|data)[ =][ \t]{{0,3}}(?:{Q})?{_SOME}"

CONTAINERS = (
    shape(
        "Wi-Fi password",
        "WIFI:",
        r"\bWIFI:(?:[A-OQ-Z]:(?:[^;\n\\]|\\.){0,100};){0,5}P:\"?(?P<secret>(?:[^;\n\\]|\\.){4,100})",
        like_a_password,
    ),
    shape(
        "JSON web key",
        "kty",
        rf"{Q}(?:d|p|q|dp|dq|qi|k){Q}\s{{0,3}}:\s{{0,3}}{Q}(?P<secret>[\w\-]{{16,1000}})(?![\w\-])",
    ),
    shape(
        "PuTTY key",
        "Private-Lines:",
        r"Private-Lines: [0-9]{1,3}"
        rf"(?P<secret>(?:{AROUND_LINES}{{1,20}}[A-Za-z0-9+/]{{8,64}}={{0,2}}(?![\w\-:])){{1,100}})",
    ),
    shape(
        KIND,
        "<input <INPUT",
        rf"(?i)<input\s{_IN_TAG}\btype={Q}?password{Q}?\s{_IN_TAG}\bvalue=(?:{Q})?{_SOME}",
        like_a_password,
    ),
    shape(
        KIND,
        "<input <INPUT",
        rf"(?i)<input\s{_IN_TAG}\bvalue=(?:{Q})?{_SOME}(?:{Q})?\s{_IN_TAG}\btype={Q}?password\b",
        like_a_password,
    ),
    shape(KIND, "--value", rf"{_STORED}{_IN_LINE}--type[ =](?:{Q})?SecureString", like_a_password),
    shape(
        KIND,
        "--value --body --secret-string --data",
        rf"(?:SecureString|\bsecrets?(?:manager)?[ \t]){_IN_LINE}{_STORED}",
        like_a_password,
    ),
)


_FOUR = r"(?P<secret>(?:[^\s\"'`\\]|\\(?![\\\"'nrt])){4,200})"
_named = partial(shape, KIND)
_ENV = (
    r"(?:SECRET|TOKEN|PASSWORD|PASSPHRASE|PASSWD|PWD|KEY|PASS|CREDENTIAL|AUTH|(?<=_)PAT(?![A-Z]))"
    r"(?!_(?:NAME|HEADER|FILE|PATH|PREFIX|TYPE|URL)\b)[A-Z0-9_]{0,10}"
)
_COMMANDS = tuple(_named(hint, rf"{before}(?:{Q})?{_FOUR}", like_no_word) for hint, before in TABLE["programs"].items())
"""Programs that take a password as an argument."""
_PIPED = r"(?:echo|printf)[ \t]{1,3}(?:-n[ \t]{1,3})?"
CALLED = (
    shape(
        "authorization header",
        "uthorization UTHORIZATION",
        rf"[aA](?:uthorization|UTHORIZATION)(?:{Q})?\s{{0,3}}[:=]\s{{0,3}}(?:{Q})?[A-Za-z][A-Za-z\-]{{1,20}}\s{{1,3}}(?:token=)?"
        rf"(?:{Q})?(?P<secret>[\w\-.+/~]{{16,2000}}={{0,2}})",
        mixed_or_sequence,
    ),
    shape(
        "bearer token",
        "earer EARER",
        r"[bB](?<!\w[bB])(?:earer|EARER)\s{1,3}(?P<secret>[\w\-.+/~]{16,2000}={0,2})",
        mixed_or_sequence,
    ),
    shape(
        "authorization header",
        "SSWS GenieKey ApiKey Basic",
        r"\b(?:SSWS|GenieKey|ApiKey|Basic)[ \t]{1,3}(?P<secret>[\w\-.+/~]{20,2000}={0,2})",
        looks_drawn,
    ),
    shape(
        "cookie",
        "ookie OOKIE",
        rf"[cC](?:ookie|OOKIE)(?:{Q})?\s{{0,3}}:\s{{0,3}}(?:{Q})?"
        r"(?P<secret>[^\s\"'\\=]{1,80}=[^\r\n\"'\\]{7,4000})",
        mixed,
    ),
    shape(
        "cookie",
        "curl",
        rf"curl[ \t][^\n]{{0,300}}?(?<=[ \t])(?:-b|--cookie)[ =]?(?:{Q})?"
        r"(?P<secret>[^\s\"'\\=]{1,80}=[^\r\n\"'\\]{7,4000})",
        mixed,
    ),
    _named("=", rf"{_ENV}={QUOTED}", in_env),
    _named("=", rf"{_ENV}={BARE}", in_env),
    _named("ENV", rf"ENV[ \t]{{1,3}}[A-Z0-9_]{{0,60}}?{_ENV}[ \t]{{1,3}}(?:{Q})?{BARE}", like_a_secret),
    _named("--", rf"--[A-Za-z\-]{{0,30}}?{NAMES}(?:[ =]|{Q},\s{{1,3}})(?:{Q})?{BARE}", like_a_secret),
    _named(
        "og sign Sign OG reds redential ccount ugang eldedaten dentifiant",
        r"(?i)\b(?:(?:log|sign)(?:ged)?[ \-]?in(?:[ \t](?:as|with|using|als|mit|como|con|comme|avec))?|"
        r"credentials?|creds|account|zugangsdaten|anmeldedaten|zugang|identifiants?|credenciales)\b"
        rf"[ \t:]{{1,3}}[^\s/:]{{1,60}}[ \t]{{0,2}}/[ \t]{{0,2}}(?:{Q})?{BARE}",
        strong,
    ),
    _named("SESSION= SALT= PEPPER=", rf"(?:SESSION|SALT|PEPPER)=(?:{Q})?{BARE}", like_a_key),
    _named(
        "PIN",
        r"PIN(?<!\wPIN)(?:[ \-]?[Cc]ode)?(?:[ \t]?[:=]|[ \t](?:is|ist|lautet|es|est))[ \t]{0,3}"
        r"(?P<secret>[0-9]{4,8})(?![\w.:\-])",
        bool,
    ),
    _named("?", r"[?&](?:key|sig|[\w\-]{0,20}[sS]ignature|auth|code)=(?P<secret>[\w\-%.~+/]{20,400})", mixed),
    _named("auth", rf"auth{Q}\s{{0,3}}:\s{{0,3}}{Q}(?P<secret>[A-Za-z0-9+/]{{16,400}}={{0,2}})", mixed),
    _named(
        "curl -a --auth",
        rf"(?:curl|https?)[ \t][^\n]{{0,300}}?(?<=[ \t])(?:-u|--user|-a|--auth)[ =]?[ \t]{{0,3}}(?:{Q})?"
        rf"[^\s:\"'`]{{1,100}}:{_FOUR}",
        like_a_password,
    ),
    _named("define", rf"define\(\s{{0,3}}{Q}\w{{0,60}}?{NAMES}\w{{0,20}}{Q},\s{{0,3}}{QUOTED}", quoted_like_a_secret),
    _named(
        "chpasswd",
        rf"{_PIPED}(?:{Q})?[\w.\-]{{1,40}}:{_FOUR}(?:{Q})?[ \t]{{0,3}}\|[^\n]{{0,40}}?chpasswd",
        like_a_password,
    ),
    _named(
        "-stdin sudo",
        rf"{_PIPED}(?:{Q})?{_FOUR}(?:{Q})?[ \t]{{0,3}}\|[^\n]{{0,80}}?(?:--password-stdin|sudo[ \t]-S)",
        like_a_password,
    ),
    _named(
        "IDENTIFIED identified", rf"(?:IDENTIFIED|identified)[ \t]{{1,3}}(?i:by)[ \t]{{1,3}}{QUOTED}", like_a_password
    ),
    _named("sshpass", rf"sshpass[ \t]{{1,3}}-p[ \t]{{0,3}}(?:{Q})?{_FOUR}", like_a_password),
    *_COMMANDS,
    _named("redis-cli", rf"redis-cli\b[^\n]{{0,100}}?[ \t]-a[ \t]{{1,3}}(?:{Q})?{_FOUR}", like_a_password),
    _named(
        "docker podman mongo",
        rf"(?:docker|podman|mongosh?)[ \t][^\n]{{0,200}}?(?<=[ \t])-p[ \t]{{1,3}}(?:{Q})?{_FOUR}",
        strong,
    ),
    _named(
        "mysql mariadb",
        rf"(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]{{0,100}}?[ \t]-p(?:{Q})?{_FOUR}",
        like_a_password,
    ),
    _named(
        ":*: :5432: :5433: :6432:",
        r":(?:[0-9]{4,5}|\*):[\w*\-]{1,60}:[\w*\-]{1,60}:(?P<secret>[^\s:]{6,100})(?!\S)",
        like_a_password,
    ),
)


_BREAK = r"(?:[ \t]{0,4}\r?\n[ \t>|]{0,8}|[ \t])"
_FIRST_PIECE = re.compile(r"[\w\-.+/=$:]{4,200}")
_NEXT_PIECES = re.compile(rf"(?:{_BREAK}[\w\-.+/=]{{1,200}}){{1,6}}")
_SPLIT = re.compile(_BREAK)
_NEXT_LINE = re.compile(r"[ \t]{0,4}\r?\n[ \t>|]{0,8}(?P<rest>[\w\-.+/=]{8,2000})(?![\w\-.+/=])")
_WORD = re.compile(r"[A-Z]?[a-z]*(?:[\-.][a-z]*)*|[A-Z]+")
_MOST_LINES = 60


def find_broken(form: SecretShape, text: str) -> Iterator[tuple[int, int]]:
    """Yield the tokens of a form that only match once their pieces are joined."""
    for prefix in form.hints:
        at = text.find(prefix)
        while at >= 0:
            first = _FIRST_PIECE.match(text, at)
            others = _NEXT_PIECES.match(text, first.end()) if first else None
            end = _end_of_broken(form, text[at : others.end()]) if others else 0
            if end:
                yield at + len(prefix), at + end
            at = text.find(prefix, at + max(end, len(prefix)))


def _end_of_broken(form: SecretShape, pieces: str) -> int:
    """Return where the token ends in its pieces, or 0 if they aren't a token."""
    joined, at = "", 0
    for gap in [*_SPLIT.finditer(pieces), None]:
        piece = pieces[at : gap.start()] if gap else pieces[at:]
        if at and _WORD.fullmatch(piece):
            return 0
        joined += piece
        match = form.pattern.match(joined)
        if match and not at:
            return 0  # whole without the others
        if match and match.end() == len(joined) and form.is_real(match["secret"]):
            return at + len(piece)
        if not gap:
            return 0
        at = gap.end()
    return 0


def with_next_lines(text: str, end: int) -> int:
    """Return the end of a token that goes on in the next lines, each of which is a random run of characters."""
    for _ in range(_MOST_LINES):
        line = _NEXT_LINE.match(text, end)
        if not line or not looks_drawn(line["rest"]):
            break
        end = line.end()
    return end
