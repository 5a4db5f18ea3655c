"""Lines as Claude Code writes them, with a time and an id of their own, and where the real samples are."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).with_name("samples")
BEGAN = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)


def line(number: int, text: str, *, role: str = "user", **more: Any) -> bytes:
    """A message that somebody typed, or that the model answered."""
    content: Any = text if role == "user" else [{"type": "text", "text": text}]
    return entry(number, {"role": role, "content": content}, role, **more)


def result(number: int, call: str, output: str, *, failed: bool = False) -> bytes:
    part = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}
    return entry(number, {"role": "user", "content": [part]}, "user")


def use(number: int, call: str, tool: str, **arguments: Any) -> bytes:
    part = {"type": "tool_use", "id": call, "name": tool, "input": arguments}
    return entry(number, {"role": "assistant", "content": [part]}, "assistant")


def entry(number: int, message: dict[str, Any], kind: str, **more: Any) -> bytes:
    at = (BEGAN + timedelta(seconds=number)).isoformat().replace("+00:00", "Z")
    facts = {
        "parentUuid": None, "isSidechain": False, "type": kind, "message": message, "uuid": f"u{number}",
        "timestamp": at, "cwd": "/home/ada/app", "sessionId": "s-1", "version": "2.1.329", **more,
    }  # fmt: skip
    return json.dumps(facts, ensure_ascii=False).encode() + b"\n"


def lately(data: bytes) -> bytes:
    """The same as if it was said yesterday: what was said long ago does not count at once."""
    yesterday = datetime.now(UTC) - timedelta(days=1)
    return data.replace(f"{BEGAN:%Y-%m-%dT}".encode(), f"{yesterday:%Y-%m-%dT}".encode())
