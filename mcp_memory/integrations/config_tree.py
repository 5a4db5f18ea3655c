"""Values inside a parsed configuration, which may have any shape. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


def value_at(value: object, *path: str) -> Any:
    """The value at `path`; None where there is none."""
    for key in path:
        value = cast("Mapping[str, object]", value).get(key) if isinstance(value, Mapping) else None
    return value


def table_at(value: object, *path: str) -> dict[str, Any]:
    """The table at `path`; an empty one where there is none."""
    found: object = value_at(value, *path)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def list_at(value: object, *path: str) -> list[Any]:
    """The list at `path`; an empty one where there is none."""
    found: object = value_at(value, *path)
    return cast("list[Any]", found) if isinstance(found, list) else []
