"""Loads the phrases that mark statements, a table per language in `languages/`."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from mcp_memory.projects.repository_facts import name_in
from mcp_memory.statements.candidate import StatementKind
from mcp_memory.text.language.word_tables import either
from mcp_memory.text.parsed_values import list_at

_REPOSITORY_PATH = re.compile(r"(?<![\w/~.:@$\\-])(?:\.?[\w-]+/)+\.?[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,7}\b(?!/)")


@dataclass(frozen=True)
class Language:
    """Patterns for the view of a `UserSentence`. `before` and `anywhere` rule out a statement; `works` reports that an
    error is gone; `here` limits a statement to a place or team. `request`: a question that asks you to do
    something from now on. `reminder`: `remind me of it`."""

    code: str
    lead: re.Pattern[str]
    question: re.Pattern[str]
    before: re.Pattern[str]
    anywhere: re.Pattern[str]
    denial: re.Pattern[str]
    remember: re.Pattern[str]
    introduces: re.Pattern[str]
    request: re.Pattern[str]
    reminder: re.Pattern[str]
    here: re.Pattern[str]
    works: re.Pattern[str]
    outright: Mapping[StatementKind, re.Pattern[str]]
    tentative: Mapping[StatementKind, re.Pattern[str]]
    states: re.Pattern[str]
    states_not: re.Pattern[str]
    capitals_name: bool
    """Whether a capital letter within a sentence marks a name."""


@cache
def languages() -> tuple[Language, ...]:
    """Load all languages, ordered by code."""
    folder = files("mcp_memory.statements") / "languages"
    tables = {file.name: file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".toml")}
    return tuple(_language(name.removesuffix(".toml"), tomllib.loads(tables[name])) for name in sorted(tables))


def introduces(line: str) -> bool:
    """Return whether a line introduces a quotation, in any language."""
    return any(language.introduces.search(line) for language in languages())


def is_personal(kind: str, statement: str, project: str | None = None) -> bool:
    """Return whether a statement is a preference without limits: not for a place or team in any language, for files of
    a repository, or for the `project` of the session."""
    if kind != StatementKind.PREFERENCE or any(language.here.search(statement.lower()) for language in languages()):
        return False
    return not repository_paths(statement) and not (project and names_project(statement, project))


def repository_paths(text: str) -> list[str]:
    """Return the relative paths of repository files in a text, such as `src/config.py`."""
    return _REPOSITORY_PATH.findall(text)


def names_project(text: str, project: str) -> bool:
    """Return whether a text names a project; the part in parentheses is optional, as in `my-app (personal)`."""
    return re.search(rf"(?<![\w-]){re.escape(name_in(project))}(?![\w-])", text, re.IGNORECASE) is not None


def _language(code: str, table: Mapping[str, Any]) -> Language:
    def joined(patterns: Sequence[str]) -> str:
        return either(patterns, table.get("parts", {}))

    def any_of(*names: str) -> re.Pattern[str]:
        return re.compile(joined(list_at(table, *names)))

    def whole(name: str) -> re.Pattern[str]:
        return re.compile(rf"(?:{joined(table[name])})\s*[.!,…]*")

    def by_kind(name: str) -> dict[StatementKind, re.Pattern[str]]:
        return {StatementKind(kind): re.compile(joined(patterns)) for kind, patterns in table.get(name, {}).items()}

    return Language(
        code=code,
        lead=re.compile(rf"(?:{joined(table['lead'])})(?:\s*[,:!.–—-]+\s*|\s+)(?=\S)"),
        question=re.compile(rf"(?:{joined(table['question'])})"),
        before=any_of("before"),
        anywhere=any_of("anywhere"),
        denial=whole("denial"),
        remember=any_of("remember"),
        introduces=any_of("introduces"),
        request=any_of("request"),
        reminder=whole("reminder"),
        here=any_of("here"),
        works=re.compile(rf"(?:{joined(table['works'])})\s*(?=[.!,;…]|$)"),
        outright=by_kind("outright"),
        tentative=by_kind("tentative"),
        states=any_of("stating", "fact"),
        states_not=any_of("stating", "not_fact"),
        capitals_name=bool(table.get("capitals_name", True)),
    )
