"""Reads the tables of words and patterns beside the modules that use them."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any


def read_table(package: str, name: str) -> dict[str, Any]:
    """Return a TOML file of a package."""
    return tomllib.loads((files(package) / name).read_text("utf-8"))


@cache
def read_cues(package: str, name: str) -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of a TOML file of a package, which may have a table of `parts`."""
    table = read_table(package, name)
    parts = table.pop("parts", {})
    return {cue: re.compile(either([pattern], parts)) for cue, pattern in table.items()}


def has_cue(package: str, name: str, cue: str, text: str) -> bool:
    """Return whether a text matches a pattern for small letters and typographic apostrophes."""
    return read_cues(package, name)[cue].search(text.lower().replace("'", "’")) is not None


def either(patterns: Sequence[str], parts: Mapping[str, str]) -> str:
    """Return the pattern that matches any of the patterns, and nothing without patterns. In a pattern, `<name>` stands
    for the part of this name; parts may be nested."""
    one = "|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)"
    for _ in parts:
        for name, part in parts.items():
            one = one.replace(f"<{name}>", part)
    return one
