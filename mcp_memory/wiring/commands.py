"""Our own commands in somebody's configuration: which is ours, and for which vault."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

PROGRAMS = ("mcp-memory", "mcp_memory")
"""As a program, and as the module after `python -m`."""


@dataclass(frozen=True, slots=True)
class Command:
    """`verb` is `headers`, or `hook EVENT`; `vault` is None for the default one."""

    verb: str
    client: str
    vault: str | None


def read(line: object) -> Command | None:
    """What a configured command does, if it is one of ours."""
    try:
        words = shlex.split(line) if isinstance(line, str) else []
    except ValueError:
        return None
    at = next((number for number, word in enumerate(words[:3]) if word.rpartition("/")[2] in PROGRAMS), None)
    if at is None:
        return None
    rest = words[at + 1 :]
    options: dict[str, str] = {}
    plain: list[str] = []
    while rest:
        word = rest.pop(0)
        if word.startswith("--") and rest:
            options[word[2:]] = rest.pop(0)
        else:
            plain.append(word)
    return Command(" ".join(plain), options.get("client", ""), options.get("vault"))
