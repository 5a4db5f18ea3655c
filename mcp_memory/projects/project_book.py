"""The vault's list of projects, `.mcp-memory/projects.toml`, which a person can read and edit."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, cast

from mcp_memory.errors import ConfigInvalid
from mcp_memory.projects.repository_facts import is_label

FILE = ".mcp-memory/projects.toml"

_HEAD = """# Your projects. Each has its name as in the heads of notes, and what its repositories are known by: where
# they come from (origins), the commits that their history begins with, and their folders. Aliases are further names in
# notes that mean the same project. You may edit this file; `mcp-memory projects` lists, merges and splits.
"""
_HEADER = re.compile(r"^\[[^\[\n].*\][ \t]*(?:#.*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Project:
    """A project. `label` is the name in the heads of notes; the aliases may be, too. The rest identifies its
    repositories."""

    label: str
    origins: tuple[str, ...] = ()
    first_commits: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset((self.label, *self.aliases))

    def joined(self, other: Project) -> Project:
        """Return the project with all that identifies the other one."""
        both = {name: tuple(dict.fromkeys((*getattr(self, name), *getattr(other, name)))) for name in _LISTS}
        return replace(self, **both)


_LISTS = tuple(one.name for one in fields(Project) if one.name != "label")


@dataclass(frozen=True)
class ProjectBook:
    """The projects as the file's `text` has them."""

    projects: tuple[Project, ...] = ()
    text: str = _HEAD

    @classmethod
    def parse(cls, text: str) -> ProjectBook:
        """Parse the list. Raises ConfigInvalid, naming the file, if it can't be used."""
        try:
            tables = tomllib.loads(text.removeprefix("\ufeff"))
        except tomllib.TOMLDecodeError as error:
            raise _invalid(str(error)) from error
        found = cls(tuple(_project(label, table) for label, table in tables.items()), text)
        names = [name for one in found.projects for name in one.names]
        if twice := {name for name in names if names.count(name) > 1}:
            raise _invalid(f"{min(twice)!r} stands for two projects")
        return found

    def named(self, name: str) -> Project | None:
        """Return the project with this label or alias."""
        return next((one for one in self.projects if name in one.names), None)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for one in self.projects for name in one.names)

    def label_at(self, folder: str) -> str | None:
        """Return the label of the project with the nearest folder around this one."""
        around = [
            (len(own), one.label) for one in self.projects for own in one.folders if f"{folder}/".startswith(f"{own}/")
        ]
        return max(around, default=(0, None))[1]

    @property
    def origins(self) -> frozenset[str]:
        return frozenset(origin for one in self.projects for origin in one.origins)

    def with_project(self, project: Project, *, without: Collection[str] = ()) -> ProjectBook:
        """Return the book with this project in place of the project with its label, and without the projects with the
        other labels. The rest of the text stays as it is."""
        changed = dict.fromkeys(without) | {project.label: project}
        projects = [changed.get(one.label, one) for one in self.projects]
        if project not in projects:
            projects.append(project)
        kept = tuple(one for one in projects if one)
        text = "".join(_blocks(self.text, changed))
        if project.label not in {one.label for one in self.projects}:
            text = f"{text.rstrip()}\n\n{_block(project)}".lstrip("\n")
        try:
            new = ProjectBook.parse(text)
        except ConfigInvalid:
            new = None
        if new is None or set(new.projects) != set(kept):  # written in a form of TOML that we don't
            text = "\n".join((_HEAD, *map(_block, kept)))
        return ProjectBook(kept, text)


def _project(label: str, table: Any) -> Project:
    if not is_label(label):
        raise _invalid(f"{label[:100]!r} can't be a project's name")
    if not isinstance(table, dict):
        raise _invalid(f"{label!r} is no table, such as [{label}]")
    values = cast("Mapping[str, Any]", table)
    lists = dict[str, tuple[str, ...]]()
    for name in _LISTS:
        value: Any = values.get(name, [])
        items = cast("list[Any]", value) if isinstance(value, list) else [value]
        if not all(isinstance(item, str) for item in items):
            raise _invalid(f"{name} of {label!r} is not a list of strings")
        lists[name] = tuple(dict.fromkeys(items))
    return Project(label, **lists)


def _invalid(why: str) -> ConfigInvalid:
    return ConfigInvalid(f"{FILE} in the vault can't be used: {why}", hint="correct it in an editor, or delete it")


def _blocks(text: str, changed: Mapping[str, Project | None]) -> Iterator[str]:
    """Yield the file's parts, each from its header to the next, with the changed ones rewritten below their
    comments."""
    bounds = [*(found.start() for found in _HEADER.finditer(text)), len(text)]
    yield text[: bounds[0]]
    for start, end in pairwise(bounds):
        block = text[start:end]
        label = _label_of(block.partition("\n")[0])
        if label not in changed:
            yield block
        elif project := changed[label]:
            comments = [line for line in block.splitlines() if line.startswith("#")]
            yield "\n".join((_block(project).rstrip(), *comments)) + "\n\n"


def _label_of(header: str) -> str:
    try:
        return next(iter(tomllib.loads(header)), "")
    except tomllib.TOMLDecodeError:
        return ""


def _block(project: Project) -> str:
    lists = (f"{name} = [{', '.join(map(_quoted, listed))}]" for name in _LISTS if (listed := getattr(project, name)))
    return "\n".join((f"[{_quoted(project.label)}]", *lists)) + "\n"


def _quoted(text: str) -> str:
    """Quote a text for TOML, whose basic strings have JSON's escapes, except for one character that JSON doesn't
    escape."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
