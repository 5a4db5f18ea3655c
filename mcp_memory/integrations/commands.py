"""Our own commands in somebody's configuration: which is ours, and for which vault."""

from __future__ import annotations

import re
from dataclasses import dataclass

PROGRAM, MODULE = "mcp-memory", ["-P", "-m", "mcp_memory"]
"""As a program, and what follows a Python interpreter."""

OPTIONS = {"client", "vault", "config", "project"}

ENV = "/usr/bin/env"
VARIABLES = ("MCP_MEMORY_STATE", "MCP_MEMORY_MODELS")
"""What may stand before our program, since clients hand few variables on: where this machine's own things are."""

_WORD = r"""[\w@%+=:,./-]+|"(?:[^"\\$`\n]|\\["\\$`])*"|'[^'\n]*'"""
"""A shell word as `install` or a careful person writes it. Whatever else a shell gives a meaning to is in none."""


@dataclass(frozen=True, slots=True)
class OurCommand:
    """`verb` is `headers`, `stdio`, or `hook EVENT`; `vault` is None for the default one."""

    verb: str
    client: str
    vault: str | None


def read(line: object) -> OurCommand | None:
    """What a configured command does, if it is one of ours and does nothing else.

    Of a path only an absolute one counts: a relative one leads to whatever lies in an agent's project.
    """
    rest = _after_program(_words(line) if isinstance(line, str) else [])
    options: dict[str, str] = {}
    plain: list[str] = []
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            plain.append(word)
        elif word[:2] == "--" and word[2:] in OPTIONS and rest:
            options[word[2:]] = rest.pop(0)
        else:
            return None
    return OurCommand(" ".join(plain), options.get("client", ""), options.get("vault")) if plain else None


def variables_of(line: object) -> list[str]:
    """The `NAME=value` words of ours that stand before the program."""
    words = _words(line) if isinstance(line, str) else []
    return words[1 : len(words) - len(_after_variables(words))]


def _after_variables(words: list[str]) -> list[str]:
    if words[:1] != [ENV]:
        return words
    rest = words[1:]
    while rest and rest[0].partition("=")[0] in VARIABLES and "=" in rest[0]:
        rest = rest[1:]
    return rest


def _after_program(words: list[str]) -> list[str]:
    """The words after our program's; none where it is another one."""
    words = _after_variables(words)
    program = words[0] if words else ""
    if program == PROGRAM or (program.startswith("/") and program.rpartition("/")[2] == PROGRAM):
        return words[1:]
    return words[4:] if program.startswith("/") and words[1:4] == MODULE else []


def _words(line: str) -> list[str]:
    """The words of a line that is nothing but words, else none."""
    if not re.fullmatch(f"(?:{_WORD})(?: +(?:{_WORD}))*", line, re.ASCII):
        return []
    return [
        re.sub(r'\\(["\\$`])', r"\1", word[1:-1]) if word[0] == '"' else word.strip("'")
        for word in re.findall(_WORD, line, re.ASCII)
    ]
