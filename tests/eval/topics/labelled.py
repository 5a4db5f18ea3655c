"""Reads the labelled vaults: notes with their groups, the acceptable names of each group, questions about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_memory.text.language.terms import fold, words
from mcp_memory.text.markdown import frontmatter

HERE = Path(__file__).parent
DEVELOPER = HERE.parent / "developer" / "vault" / "notes"
NAMES = ("developer", "household", "researcher", "held_out")
SETS = ("agents", "agents_held_out", "unnamed", "unnamed_held_out")
"""Folders of vaults by several authors."""

_NOTE = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d) (?P<kind>\w+)(?: @(?P<project>\w+))?(?P<tags>(?: #[^\s:#«]+)*)"
    r"(?: «(?P<title>[^»]+)»)?: (?P<text>.+)"
)
_ARTICLES = frozenset({"the", "our", "my", "a", "der", "die", "das", "in", "of", "to", "for", "on", "im", "zum", "zur"})


@dataclass(frozen=True)
class LabelledNote:
    group: str
    day: str
    kind: str
    project: str | None
    title: str | None
    tags: tuple[str, ...]
    text: str


@dataclass
class LabelledVault:
    """`names`: group → acceptable names; a group below a project is `project/group`. `questions`: group → pairs of a
    question and the words of which one answers it."""

    notes: list[LabelledNote] = field(default_factory=list[LabelledNote])
    names: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    questions: dict[str, list[tuple[str, list[str]]]] = field(default_factory=dict[str, list[tuple[str, list[str]]]])


def vaults_of(name: str) -> list[str]:
    """Those of a set, or the vault itself."""
    return sorted(f"{name}/{file.stem}" for file in (HERE / name).glob("*.txt")) if name in SETS else [name]


def read_vault(name: str) -> LabelledVault:
    vault, group = LabelledVault(), ""
    for line in (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark in {"#", "##"}:
            group, _, names = (part.strip() for part in rest.partition("|"))
            vault.names[group] = [name.strip() for name in names.split(";") if name.strip()]
        elif mark == "?":
            question, *answers = (part.strip() for part in rest.split("|"))
            vault.questions.setdefault(group, []).append((question, answers))
        elif mark == "=":
            vault.notes += [_developers(group, path) for path in rest.split()]
        elif line.strip():
            found = _NOTE.fullmatch(line)
            assert found, line
            text = found["text"].replace("\\n", "\n")
            tags = tuple(tag.lstrip("#") for tag in found["tags"].split())
            note = LabelledNote(group, found["day"], found["kind"], found["project"], found["title"], tags, text)
            vault.notes.append(note)
    vault.notes.sort(key=lambda note: note.day)
    return vault


def _developers(group: str, path: str) -> LabelledNote:
    document = frontmatter.parse((DEVELOPER / f"{path}.md").read_text(encoding="utf-8"))
    meta = document.meta
    kind = "workflow" if meta["kind"] == "procedure" else str(meta["kind"])
    day = str(meta["created"])[:10]
    tags = tuple(map(str, meta.get("tags", ())))
    return LabelledNote(group, day, kind, str(meta["project"]), str(meta["title"]), tags, document.body.strip())


def group_of(groups: Sequence[str], *, is_top: bool) -> set[str]:
    """The groups that most of a topic's notes belong to: at the top also a project."""
    counts = Counter(groups)
    if is_top:
        counts.update(group.partition("/")[0] for group in groups if "/" in group)
    return {group for group, count in counts.items() if 2 * count > len(groups)}


def is_acceptable(title: str, names: Sequence[str]) -> bool:
    """Whether the first phrase of a title is one of these names, but for case, a plural's s, articles, prepositions and
    the order of words."""
    return _plain(title.split(",", maxsplit=1)[0]) in {_plain(name) for name in names}


def _plain(name: str) -> frozenset[str]:
    return frozenset(fold(word).removesuffix("s") for word in words(name) if word.lower() not in _ARTICLES)


def is_answered(answers: Sequence[str], text: str) -> bool:
    return any(answer.casefold() in text.casefold() for answer in answers)


def acceptable_names(vault: LabelledVault, groups: set[str]) -> list[str]:
    found: Mapping[str, list[str]] = vault.names
    return [name for group in groups for name in found[group]]
