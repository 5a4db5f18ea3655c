"""Loads the phrases that mark statements, a table per language in `languages/`."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from mcp_memory.projects.repository_facts import name_in
from mcp_memory.statements.candidate import StatementKind
from mcp_memory.text.language.word_tables import either

_REPOSITORY_PATH = re.compile(r"(?<![\w/~.:@$\\-])(?:\.?[\w-]+/)+\.?[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,7}\b(?!/)")


_FORMS = {
    "lead": r"(?:{})(?:\s*[,:!.–—-]+\s*|\s+)(?=\S)",
    "denial": r"^(?:{})\s*[.!,…]*$",
    "reminder": r"^(?:{})\s*[.!,…]*$",
    "works": r"^(?:{})\s*(?=[.!,;…]|$)",
}
"""The patterns around the phrases of some kinds."""


@dataclass(frozen=True)
class Language:
    """Patterns for the view of a `UserSentence`, by their names in the file of the language; `en.toml` describes
    them."""

    patterns: Mapping[str, re.Pattern[str]]
    outright: Mapping[StatementKind, re.Pattern[str]]
    tentative: Mapping[StatementKind, re.Pattern[str]]

    def __getitem__(self, name: str) -> re.Pattern[str]:
        return self.patterns[name]


@cache
def languages() -> tuple[Language, ...]:
    """Load all languages, ordered by their names."""
    folder = files("mcp_memory.statements") / "languages"
    texts = (file.read_text("utf-8") for file in sorted(folder.iterdir(), key=str) if file.name.endswith(".toml"))
    return tuple(map(_language, map(tomllib.loads, texts)))


def matches(name: str, view: str) -> bool:
    """Return whether a view matches the pattern of this name in any language."""
    return any(language[name].search(view) for language in languages())


def is_personal(kind: str, statement: str, project: str | None = None) -> bool:
    """Return whether a statement is a preference without limits: not for a place or team in any language, for files of
    a repository, or for the `project` of the session."""
    if kind != StatementKind.PREFERENCE or matches("here", statement.lower()):
        return False
    return not repository_paths(statement) and not (project and names_project(statement, project))


def repository_paths(text: str) -> list[str]:
    """Return the relative paths of repository files in a text, such as `src/config.py`."""
    return _REPOSITORY_PATH.findall(text)


def names_project(text: str, project: str) -> bool:
    """Return whether a text names a project; the part in parentheses is optional, as in `my-app (personal)`."""
    return re.search(rf"(?<![\w-]){re.escape(name_in(project))}(?![\w-])", text, re.IGNORECASE) is not None


def _language(table: Mapping[str, Any]) -> Language:
    parts = table.get("parts", {})
    patterns = {
        name: re.compile(_FORMS.get(name, "{}").replace("{}", either(phrases, parts)))
        for name, phrases in table.items()
        if not isinstance(phrases, dict)
    }

    def kinds(name: str) -> dict[StatementKind, re.Pattern[str]]:
        found = table.get(name, {}).items()
        return {StatementKind(kind): re.compile(either(phrases, parts)) for kind, phrases in found}

    return Language(patterns, kinds("outright"), kinds("tentative"))
