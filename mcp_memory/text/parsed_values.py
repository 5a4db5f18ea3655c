"""Looks up values in parsed JSON, TOML or YAML, which may have any shape. Pure."""

import json
from collections.abc import Mapping
from typing import Any, cast


def value_at(value: object, *path: str) -> Any:
    """Return the value at `path`, or None."""
    for key in path:
        value = cast("Mapping[str, object]", value).get(key) if isinstance(value, Mapping) else None
    return value


def table_at(value: object, *path: str) -> dict[str, Any]:
    """Return the table at `path`, or an empty table."""
    found: object = value_at(value, *path)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def list_at(value: object, *path: str) -> list[Any]:
    """Return the list at `path`, or an empty list."""
    found: object = value_at(value, *path)
    return cast("list[Any]", found) if isinstance(found, list) else []


def text_at(value: object, *path: str) -> str:
    """Return the string at `path`, or an empty string."""
    found: object = value_at(value, *path)
    return found if isinstance(found, str) else ""


def json_within(text: str) -> object:
    """Return the JSON object in a text, perhaps in a fence or after words of courtesy; None if there is none."""
    try:
        return json.loads(text[text.find("{") : text.rfind("}") + 1])
    except (ValueError, RecursionError):
        return None
