"""The regular expressions of the whole package."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import ModuleType

import mcp_memory

UNSOUND = {"POSSESSIVE_REPEAT", "ATOMIC_GROUP"}
"""What CPython 3.11 before 3.11.5 matches wrongly (CPython's issues 101955 and 106052)."""


def test_no_pattern_relies_on_what_early_python_3_11_gets_wrong() -> None:
    found = {f"{where}: {pattern.pattern}" for where, pattern in patterns() if UNSOUND & operations(pattern)}
    assert not found


def test_the_check_sees_both_forms() -> None:
    assert operations(re.compile(r"a(?:b|c++)")) & UNSOUND
    assert operations(re.compile(r"a(?>b)")) & UNSOUND


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    seen = 0
    for name in ("mcp_memory", *(found.name for found in pkgutil.walk_packages(mcp_memory.__path__, "mcp_memory."))):
        if name.endswith("__main__"):
            continue
        for value in everything_in(importlib.import_module(name)):
            if isinstance(value, re.Pattern):
                seen += 1
                yield name, value
    assert seen > 100, "the package's patterns were not found"


def everything_in(module: ModuleType) -> Iterator[object]:
    """The module's values, and what stands in its tuples, lists and dictionaries."""
    waiting: list[object] = [value for name, value in vars(module).items() if not name.startswith("__")]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, (tuple, list, frozenset, set)):
            waiting.extend(value)
        elif is_dataclass(value) and not isinstance(value, type) and type(value).__module__ == module.__name__:
            waiting.extend(getattr(value, field.name, None) for field in fields(value))


def operations(pattern: re.Pattern[str]) -> set[str]:
    """The names of all operations that `pattern` compiles to."""
    names: set[str] = set()
    waiting: list[object] = list(re._parser.parse(pattern.pattern, pattern.flags))
    while waiting:
        part = waiting.pop()
        if isinstance(part, re._constants._NamedIntConstant):
            names.add(part.name)
        elif isinstance(part, (tuple, list, re._parser.SubPattern)):
            waiting.extend(part)
    return names
