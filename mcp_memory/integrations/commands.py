"""Recognizes our own commands in configurations, and the vault of each."""

import re
from typing import NamedTuple

PROGRAM, MODULE = "mcp-memory", ["-P", "-m", "mcp_memory"]
"""Our program's name, and the words that follow a Python interpreter to run the program."""

OPTIONS = {"client", "vault", "config", "project"}

ENV = "/usr/bin/env"
FOREIGN = ("PYTHONHOME", "PYTHONPATH")
"""Variables for another Python, which would keep ours from starting."""
LAUNCHER = " ".join([ENV, *(f"-u {name}" for name in FOREIGN)])
"""The words before our program in every command that a client starts."""
VARIABLES = ("MCP_MEMORY_STATE", "MCP_MEMORY_MODELS")
"""Variables for this machine's folders, which may be set before our program, because clients pass few variables on."""

_WORD = r"""[\w@%+=:,./-]+|"(?:[^"\\$`\n]|\\["\\$`])*"|'[^'\n]*'"""
"""A shell word as `install` or a careful person writes it, with no other shell syntax."""


class OurCommand(NamedTuple):
    """A command of ours. `verb` is `headers`, `stdio`, or `hook EVENT`. `vault` is None for the default vault."""

    verb: str
    client: str
    vault: str | None


def read(line: object) -> OurCommand | None:
    """Parse a configured command that is ours and does nothing else; None for any other. A relative path isn't ours,
    because it may lead to a file in an agent's project."""
    words = _after_variables(_words(line))
    program = words[0] if words else ""
    if program == PROGRAM or (program.startswith("/") and program.rpartition("/")[2] == PROGRAM):
        rest = words[1:]
    else:
        rest = words[4:] if program.startswith("/") and words[1:4] == MODULE else []
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


def program_of(line: object) -> str:
    """Return the word that names the program; empty if no word does."""
    return next(iter(_after_variables(_words(line))), "")


def variables_of(line: object) -> list[str]:
    """Return our `NAME=value` words before the program."""
    words = _words(line)
    return [word for word in words[1 : len(words) - len(_after_variables(words))] if "=" in word]


def _after_variables(words: list[str]) -> list[str]:
    if words[:1] != [ENV]:
        return words
    rest = words[1:]
    while rest[:1] == ["-u"] and rest[1:2] and rest[1] in FOREIGN:
        rest = rest[2:]
    while rest and rest[0].partition("=")[0] in VARIABLES and "=" in rest[0]:
        rest = rest[1:]
    return rest


def _words(line: object) -> list[str]:
    """Return the words of a line; empty if the line has other shell syntax."""
    if not isinstance(line, str) or not re.fullmatch(f"(?:{_WORD})(?: +(?:{_WORD}))*", line, re.ASCII):
        return []
    return [
        re.sub(r'\\(["\\$`])', r"\1", word[1:-1]) if word[0] == '"' else word.strip("'")
        for word in re.findall(_WORD, line, re.ASCII)
    ]
