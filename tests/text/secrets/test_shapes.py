"""Secrets of many issuers, in many contexts: refused and taken out by one detector, which leaves code alone."""

from __future__ import annotations

import base64
import json
import random
import re
import string
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.client.credentials import Credentials
from mcp_memory.text.secrets.finder import find_secret, redact
from tests.support.world import EXHAUSTIVE

_DICE = random.Random(20261123)
_ALNUM = string.ascii_letters + string.digits
_ALPHABETS = {
    "a": _ALNUM, "x": "0123456789abcdef", "u": string.ascii_uppercase + string.digits, "w": _ALNUM + "_-",
    "d": string.digits, "b": _ALNUM + "+/", "l": string.ascii_lowercase + string.digits,
    "c": string.ascii_letters, "t": string.ascii_uppercase + "234567", "p": _ALNUM + "!#%&+*?=~",
}  # fmt: skip
MISSED = {
    "c# user secrets", "csv",
}  # fmt: skip
"""Known not to be recognised: nothing in front of them says what they are."""


def _some(alphabet: str, length: int) -> str:
    while True:
        value = "".join(_DICE.choice(_ALPHABETS[alphabet]) for _ in range(length))
        if alphabet in "cd" or (any(map(str.isdigit, value)) and value[0].isalnum() and value[-1].isalnum()):
            return value


def _key(start: str = "", end: str = "\n") -> str:
    kind = "RSA PRIVATE " + "KEY"
    lines = [f"-----BEGIN {kind}-----", *(_some("b", 64) for _ in range(4)), f"-----END {kind}-----"]
    return "".join(f"{start}{line}{end}" for line in lines)


def _jwt() -> str:
    parts = ({"alg": "HS" + "256"}, {"sub": "ada", "name": "Ada"})
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return ".".join([*encoded, _some("w", 43)])


def _own(folder: Path) -> str:
    return Credentials(folder / "tokens.json").token()


_MADE = {
    "JWT": _jwt, "PEM": _key, "PEMN": lambda: _key(end="\\n"), "PEMNN": lambda: _key(end="\\\\n"),
    "PEMQ": lambda: _key("> "), "PEMI": lambda: _key("        "), "PEMD": lambda: _key("+"),
    "PEMPY": lambda: _key('"', '\\n"\n'),
}  # fmt: skip


def _filled(template: str, folder: Path) -> tuple[str, str]:
    """The text, and the secret in it."""
    if '\\"' not in template:
        template = template.replace("\\n", "\n").replace("\\|", "|")

    def made(match: re.Match[str]) -> str:
        if match[1] == "OWN":
            return _own(folder)
        return _MADE[match[1]]() if match[1] else _some(match[2], int(match[3]))

    text = re.sub(r"\{(?:([A-Z]+)|([a-z]):(\d+))\}", made, template)
    return text.replace("«", "").replace("»", ""), text[text.index("«") + 1 : text.index("»")]


def _leftover(secret: str, text: str) -> bool:
    """Whether a piece of it is still there, beyond the letters by which its issuer is known."""
    if len(secret) < 20:
        return secret[2:] in text
    lines = [line.strip(' "+>') for line in secret[12 if len(secret) > 40 else len(secret) // 2 :].split("\n")]
    lines = [line for line in lines if line and "-----" not in line]
    return any(line[at : at + 8] in text for line in lines for at in range(max(1, len(line) - 8)))


_ROWS = [
    line.split("|", 1)
    for line in (Path(__file__).parent / "secret_shapes.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize(("name", "template"), _ROWS, ids=[name for name, _ in _ROWS])
def test_a_secret_is_refused_and_taken_out_wherever_it_stands(name: str, template: str, tmp_path: Path):
    text, secret = _filled(template, tmp_path)
    redacted = redact(f"Look: {text}\nThat is it.")
    taken_out = not _leftover(secret, redacted.text) and redacted.secrets > 0
    assert taken_out == (name not in MISSED), redacted.text
    found = find_secret(f"Look: {text}\nThat is it.")
    assert bool(found) == (redacted.secrets > 0)
    assert not name.startswith("=") or found == name[1:].partition("/")[0]
    assert redact(redacted.text) == (redacted.text, 0)


@given(st.text(max_size=300))
def test_prose_passes(text: str):
    assert find_secret(text) is None


def test_code_raises_hardly_an_alarm():
    """In Python's own modules, which hold no secret."""
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:: 1 if EXHAUSTIVE else 3]
    texts = [file.read_text("utf-8", "replace") for file in files]
    assert sum(map(len, texts)) > (3_000_000 if EXHAUSTIVE else 900_000)
    assert sum(redact(text).secrets for text in texts) == 0


def test_ordinary_notes_raise_no_alarm():
    lines = (Path(__file__).parent / "not_secrets.txt").read_text("utf-8").splitlines()
    assert len(lines) > 150
    assert [line for line in lines if redact(f"We noted {line}, today.\n{line}").secrets] == []


@pytest.mark.parametrize("unit", [
    "password ", "password=", "the password is a ", "<token>", "a://b@", "$6$", "curl -u ", "curl -u a:", "docker -p ",
    "Private-Lines: 1\n", "-----BEGIN PRIVATE " + "KEY-----\n> ", "\\\\", "token a b c d e ", "auth\": \"", "mcpm_",
    "ENV PASSWORD ", "--api-key", "?sig=", "a:5432:b:c:", "\"password\":\"", "'token', '", "M" * 24 + ".",
    "password:\u200b", "ghp_a1b2 ", "a key of b c ", "session=", "WIFI:S:a;", "<input value=a ",
    "<input type=password ", "--value a ", "a1_b2-", "\u00ad", "n\u0303",
    "Private-Lines: 1\nAAAAAAAAAA\n",
])  # fmt: skip
def test_the_time_grows_with_the_text_alone(unit: str):
    """Quadratic time would take minutes here."""
    redact(unit * (300_000 // len(unit)))
