"""What agents are told to call, as commands for who reads it in a shell."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import suppress

_PATH = re.compile(r'memory_recall path=("(?:[^"\\]|\\.)*"|\S+)(?: lines="([0-9-]+)")?')
_WORDS = {
    "memory_search path=": "mcp-memory search --path ",
    "memory_forget with restore=true": "mcp-memory restore",
    "memory_search": "mcp-memory search",
    "memory_recall": "mcp-memory recall",
    "memory_append": "mcp-memory append",
    "memory_forget": "mcp-memory forget",
    "include_archived=true": "--archived",
    "kind='log'": "--kind log",
}
_WORD = re.compile("|".join(map(re.escape, _WORDS)))

_QUOTED = re.compile(r">|\[\d|### ")


def tools_to_commands(said: str) -> str:
    """One of our own sentences, with commands in place of tools."""
    return _WORD.sub(lambda word: _WORDS[word[0]], _PATH.sub(_recalled, said))


def recall_to_commands(text: str) -> str:
    """An answer of recall: only our own lines in it are written anew, notes are quoted as they are."""
    lines = text.split("\n")
    return "\n".join(line if _QUOTED.match(line) else tools_to_commands(line) for line in lines)


def _recalled(call: re.Match[str]) -> str:
    path = call[1]
    with suppress(ValueError):
        path = shlex.quote(json.loads(path))
    return f"mcp-memory recall --path {path}" + (f" --lines {call[2]}" if call[2] else "")
