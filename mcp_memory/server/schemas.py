"""Output schemas of the tools. Plain JSON Schema: some clients validate, some show it to the model."""

from __future__ import annotations

from typing import Any

_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}


def _object(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


_HIT = _object(
    {
        "id": {"type": "string", "description": "Pass it to memory_recall(ids=…) or memory_forget(id=…)."},
        "path": _STRING,
        "start_line": _INTEGER,
        "end_line": _INTEGER,
        "heading": _STRING,
        "title": _STRING,
        "kind": _STRING,
        "date": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "score": {"type": "number", "description": "0 to 1, comparable between queries."},
        "snippet": _STRING,
        "explain": {"type": "object"},
    },
    optional=("explain",),
)

_LEFT_OUT = _object(
    {
        "id": _STRING,
        "path": _STRING,
        "start_line": _INTEGER,
        "end_line": _INTEGER,
        "title": _STRING,
        "filters": {"type": "array", "items": _STRING},
    }
)

SEARCH_SCHEMA = _object(
    {
        "hits": {"type": "array", "items": _HIT},
        "confidence": {"type": "number", "description": "0 to 1: how likely the answer is among the hits."},
        "as_of": {"type": "string", "description": "When this was true."},
        "degraded": {
            "type": "string",
            "description": "Why the answer may be incomplete, and which files of hits changed since they were indexed.",
        },
        "note": {"type": "string", "description": "A remark: that the answer is weak, or which filter left nothing."},
        "signs": {"type": "object", "description": "With explain: what the confidence was taken from."},
        "left_out": {
            "type": "array",
            "items": _LEFT_OUT,
            "description": "With explain: what would be among the hits, but for the filters named.",
        },
    },
    optional=("degraded", "note", "signs", "left_out"),
)

APPEND_SCHEMA = _object(
    {
        "id": _STRING,
        "path": _STRING,
        "etag": {"type": "string", "description": "sha256 of the file's bytes."},
        "outcome": {"type": "string", "enum": ["created", "duplicate", "superseded", "unknown"]},
        "indexed": {
            "type": "string",
            "enum": ["full", "keywords", "pending"],
            "description": "keywords: its words are found now, its vector follows at once; pending: the next sweep.",
        },
        "similar": {"type": "array", "items": _STRING, "description": "Ids of notes that say nearly the same."},
    }
)

FORGET_SCHEMA = _object(
    {"id": _STRING, "path": _STRING, "etag": _STRING, "status": {"type": "string", "enum": ["deleted", "active"]}}
)
