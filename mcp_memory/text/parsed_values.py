"""Looks up values in parsed JSON, TOML or YAML, which may have any shape. Pure."""

from collections.abc import Mapping
from typing import Any, cast


def value_at(value: object, *path: str) -> Any:
    """The value at `path`; None if there is none."""
    for key in path:
        value = cast("Mapping[str, object]", value).get(key) if isinstance(value, Mapping) else None
    return value


def table_at(value: object, *path: str) -> dict[str, Any]:
    """The table at `path`; an empty one if there is none."""
    found: object = value_at(value, *path)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def list_at(value: object, *path: str) -> list[Any]:
    """The list at `path`; an empty one if there is none."""
    found: object = value_at(value, *path)
    return cast("list[Any]", found) if isinstance(found, list) else []


def text_at(value: object, *path: str) -> str:
    """The string at `path`; an empty one if there is none."""
    found: object = value_at(value, *path)
    return found if isinstance(found, str) else ""
