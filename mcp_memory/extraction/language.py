"""Loads the phrases that mark statements, one table per language in `languages/`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from mcp_memory.extraction.candidate import StatementKind


@dataclass(frozen=True, slots=True)
class Language:
    """Patterns for a sentence as `spoken` shows it. `before` and `anywhere` are what makes a claim none; `works` is a
    person's word that an error is gone."""

    code: str
    lead: re.Pattern[str]
    question: re.Pattern[str]
    before: re.Pattern[str]
    anywhere: re.Pattern[str]
    denial: re.Pattern[str]
    remember: re.Pattern[str]
    introduces: re.Pattern[str]
    here: re.Pattern[str]
    """Binds what is said to the place where one works: what `we` do is a team's, and another's may do otherwise."""
    works: re.Pattern[str]
    outright: Mapping[StatementKind, re.Pattern[str]]
    tentative: Mapping[StatementKind, re.Pattern[str]]
    states: re.Pattern[str]
    states_not: re.Pattern[str]
    capitals_name: bool
    """Whether a capital within a sentence tells a name."""


@cache
def languages() -> tuple[Language, ...]:
    """Loads all languages, ordered by code."""
    folder = files("mcp_memory.extraction") / "languages"
    tables = sorted((each for each in folder.iterdir() if each.name.endswith(".toml")), key=lambda each: each.name)
    return tuple(_language(each.name.removesuffix(".toml"), tomllib.loads(each.read_text("utf-8"))) for each in tables)


def introduces(line: str) -> bool:
    """Whether what follows a line is quoted from elsewhere, in any language."""
    return any(language.introduces.search(line) for language in languages())


def is_local(statement: str) -> bool:
    """Whether it says that it holds here, where one works, or for those one works with, in any language."""
    return any(language.here.search(statement.lower()) for language in languages())


def _language(code: str, table: Mapping[str, Any]) -> Language:
    parts: Mapping[str, str] = table.get("parts", {})

    def joined(patterns: Sequence[str]) -> str:
        one = "|".join(f"(?:{pattern})" for pattern in patterns) or r"(?!)"
        for _ in parts:  # a part may be made of others
            for name, part in parts.items():
                one = one.replace(f"<{name}>", part)
        return one

    def either(*names: str) -> re.Pattern[str]:
        found: Any = table
        for name in names:
            found = found.get(name, {})
        return re.compile(joined(found or ()))

    def whole(name: str) -> re.Pattern[str]:
        return re.compile(rf"(?:{joined(table[name])})\s*[.!,…]*")

    def claims(name: str) -> dict[StatementKind, re.Pattern[str]]:
        return {StatementKind(sort): re.compile(joined(patterns)) for sort, patterns in table.get(name, {}).items()}

    return Language(
        code=code,
        lead=re.compile(rf"(?:{joined(table['lead'])})(?:\s*[,:!.–—-]+\s*|\s+)(?=\S)"),
        question=re.compile(rf"(?:{joined(table['question'])})"),
        before=either("before"),
        anywhere=either("anywhere"),
        denial=whole("denial"),
        remember=either("remember"),
        introduces=either("introduces"),
        here=either("here"),
        works=re.compile(rf"(?:{joined(table['works'])})\s*(?=[.!,;…]|$)"),
        outright=claims("outright"),
        tentative=claims("tentative"),
        states=either("stating", "fact"),
        states_not=either("stating", "not_fact"),
        capitals_name=bool(table.get("capitals_name", True)),
    )
