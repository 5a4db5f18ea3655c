"""Reads the tables of words and patterns beside the modules that use them."""

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any


def read_table(package: str, name: str) -> dict[str, Any]:
    """Return a TOML file of a package."""
    return tomllib.loads((files(package) / name).read_text("utf-8"))


def either(patterns: Sequence[str], parts: Mapping[str, str]) -> str:
    """Return the pattern that matches any of the patterns, and nothing without patterns. In a pattern, `<name>` stands
    for the part of this name; parts may be nested."""
    one = "|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)"
    for _ in parts:
        for name, part in parts.items():
            one = one.replace(f"<{name}>", part)
    return one
