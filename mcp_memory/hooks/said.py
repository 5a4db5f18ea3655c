"""What a client says to a hook: one JSON object, of which little is needed. Pure."""

from __future__ import annotations

import json
from typing import NamedTuple, cast

from mcp_memory.errors import InvalidInput


class Unusable(InvalidInput):
    """What a client calls us with cannot be used. Its message quotes nothing, so that the log can."""


MOST_PROMPT_CHARS = 32_000
"""As much as the engine looks at; a person may paste a whole file."""

MOST_NAME_CHARS = 500


class Said(NamedTuple):
    """Empty where the client does not say it, or says no text. `cwd` is the folder that the agent works in,
    `transcript` the file that its client writes the session down in."""

    session: str
    cwd: str
    prompt: str
    transcript: str


def read(data: bytes) -> Said:
    """Raises Unusable for what is no JSON object; keys that we do not know are not ours to judge."""
    try:
        given: object = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise Unusable("the input is no JSON") from error
    if not isinstance(given, dict):
        raise Unusable("the input is no JSON object")
    table = cast("dict[str, object]", given)
    return Said(
        _text(table, "session_id")[:MOST_NAME_CHARS],
        _text(table, "cwd"),
        _text(table, "prompt")[:MOST_PROMPT_CHARS],
        _text(table, "transcript_path"),
    )


def _text(table: dict[str, object], key: str) -> str:
    value = table.get(key)
    return value if isinstance(value, str) else ""
