"""The tools' schemas as clients list them. Plain JSON Schema: some clients validate by it, some show it to the model.

Every session of every agent pays for each word of the input schemas.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pydantic

from mcp_memory.core.arguments import RequestField


def input_schema(fields: Sequence[RequestField], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool's arguments, without those that aren't listed. It has no defaults and no null, since
    descriptions name the defaults. `facts`: the values for the braces in descriptions."""
    properties: dict[str, Any] = {}
    for field in fields:
        if field.is_listed:
            schema = pydantic.TypeAdapter(field.hint).json_schema()
            properties[field.name] = {**schema, "description": (field.about or "").format(**facts)}
    required = [field.name for field in fields if field.is_required]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}
_STRINGS = {"type": "array", "items": _STRING}
_NULLABLE = {"anyOf": [_STRING, {"type": "null"}]}


def _object(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def _string(description: str) -> dict[str, Any]:
    return {**_STRING, "description": description}


_PLACE = {"path": _STRING, "start_line": _INTEGER, "end_line": _INTEGER}

_HIT = _object(
    {
        "id": _string("Pass it to memory_recall(ids=[…]) or memory_forget(id=…)."),
        "path": _STRING,
        "start_line": {**_INTEGER, "description": "Absent for a whole note."},
        "end_line": {**_INTEGER, "description": "Absent for a whole note."},
        "heading": _string("Absent if the snippet or path says it."),
        "title": _string("Absent if the snippet or path says it."),
        "kind": _STRING,
        "project": {**_NULLABLE, "description": "Absent for the project of this session."},
        "date": _NULLABLE,
        "score": {"type": "number", "description": "0 to 1, comparable between queries."},
        "snippet": _STRING,
        "is_whole": {"type": "boolean"},
        "outdated": _string("Since when, and what a newer note says instead, or when it ended."),
        "status": _string("superseded, archived, expired or candidate; absent if active."),
        "superseded_by": _string("Id of the active note that replaced it."),
        "explain": {"type": "object"},
    },
    optional=(
        *("start_line", "end_line", "heading", "title", "project", "date", "is_whole"),
        *("outdated", "status", "superseded_by", "explain"),
    ),
)

SEARCH_SCHEMA = _object(
    {
        "hits": {"type": "array", "items": _HIT},
        "confidence": {"type": "number", "description": "0 to 1: how likely the hits contain the answer."},
        "as_of": _string("Time of this answer."),
        "degraded": _string("Why the answer may be incomplete, and which hits' files changed since they were indexed."),
        "note": _string("Says that the answer is weak, or which filter excluded everything."),
        "signs": {"type": "object", "description": "With explain: what the confidence is based on."},
        "left_out": {
            "type": "array",
            "items": _object({"id": _STRING, **_PLACE, "title": _STRING, "filters": _STRINGS}),
            "description": "With explain: what only the named filters excluded.",
        },
    },
    optional=("degraded", "note", "signs", "left_out"),
)

_LINK = _object(dict.fromkeys(("id", "path", "text", "why"), _STRING), optional=("why",))

APPEND_SCHEMA = _object(
    {
        "id": _STRING,
        "path": _STRING,
        "etag": _string("sha256 of the file's bytes."),
        "outcome": {**_STRING, "enum": ["created", "duplicate", "superseded", "unknown"]},
        "indexed": {
            **_string("keywords: found by its words now, by meaning soon; pending: found after the next sweep."),
            "enum": ["full", "keywords", "pending"],
        },
        "similar": {
            "type": "array",
            "items": _object({"id": _STRING, "text": _STRING}),
            "description": "Notes that say nearly the same, the nearest first.",
        },
        "contradicts": {
            "type": "array",
            "items": _object({"id": _STRING, "text": _STRING, "why": _STRING}),
            "description": "Older notes that contradict yours.",
        },
        "ask": _string("The next call, if yours replaces the first of these notes."),
        "superseded": {
            **_LINK,
            "description": "What this note replaced. If you forget this note, that note is active again.",
        },
        "superseded_by": {**_LINK, "description": "For a duplicate: what has replaced it since."},
    },
    optional=("ask", "superseded", "superseded_by"),
)

FORGET_SCHEMA = _object(
    {
        **dict.fromkeys(("id", "path", "etag"), _STRING),
        "status": {**_STRING, "enum": ["deleted", "archived", "active", "superseded"]},
        "holds_now": {**_LINK, "description": "The note that is active now."},
        "behind": _string("Why the index catches up only at the next sweep."),
    },
    optional=("holds_now", "behind"),
)
