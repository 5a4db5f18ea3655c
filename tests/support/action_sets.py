"""Reads the labelled actions and failures of `tests/eval/actions`, and measures what an engine tells about them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

EVAL = Path(__file__).parents[1] / "eval"
ACTIONS = EVAL / "actions"
VAULTS = {"developer": EVAL / "developer" / "vault", "embedded": EVAL / "strangers" / "embedded" / "vault"}
"""People whose notes are another set's; those of others are in `notes.txt`."""

PEOPLE = tuple(sorted(folder.name for folder in ACTIONS.iterdir() if folder.is_dir()))
HELD_OUT = frozenset({"platform", "observatory"})

_HEAD = re.compile(r"([\w-]+): ([@$]) (.+?)(?: -> ([\w./, -]+))?")


@dataclass(frozen=True, slots=True)
class Case:
    """An action (`file` or `command`), or with an `output` a failure; `gold`: the notes of which one should be told."""

    project: str
    file: str
    command: str
    gold: frozenset[str]
    output: str = ""

    @property
    def arguments(self) -> dict[str, Any]:
        return {"file_path": f"{self.folder}/{self.file}"} if self.file else {"command": self.command}

    @property
    def folder(self) -> str:
        return f"/work/{self.project}"


@dataclass
class Score:
    """`told` with the notes' names; precision counts notes that were told, recall the cases that want one."""

    told: list[tuple[Case, Sequence[str]]] = field(default_factory=list[tuple[Case, Sequence[str]]])

    @property
    def precision(self) -> float:
        hits = [name in case.gold for case, names in self.told for name in names]
        return sum(hits) / len(hits) if hits else 1.0

    @property
    def recall(self) -> float:
        wanted = [bool(case.gold & {*names}) for case, names in self.told if case.gold]
        return sum(wanted) / len(wanted) if wanted else 1.0

    @property
    def wrong(self) -> list[tuple[str, Sequence[str]]]:
        return [(case.file or case.command, names) for case, names in self.told if {*names} - case.gold]

    def __str__(self) -> str:
        given, wanted = sum(bool(names) for _, names in self.told), sum(bool(case.gold) for case, _ in self.told)
        figures = f"precision {self.precision:.2f}, recall {self.recall:.2f}"
        return f"{figures} ({given} told, {wanted} wanted, of {len(self.told)})"


def actions(person: str) -> list[Case]:
    lines = (ACTIONS / person / "actions.txt").read_text(encoding="utf-8").splitlines()
    return [_case(line) for line in lines if line and not line.startswith("#")]


def failures(person: str) -> list[Case]:
    blocks = (ACTIONS / person / "failures.txt").read_text(encoding="utf-8").split("\n")
    found: list[tuple[str, list[str]]] = []
    for line in blocks:
        if _HEAD.fullmatch(line) and line.split(":")[0].isidentifier() and line.split(" ")[1] == "$":
            found.append((line, []))
        elif found:
            found[-1][1].append(line)
    return [_case(head, "\n".join(lines).strip()) for head, lines in found]


def _case(line: str, output: str = "") -> Case:
    match = _HEAD.fullmatch(line)
    assert match, line
    project, what, name, gold = match.groups()
    names = frozenset((gold or "").replace(",", " ").split())
    return Case(project, name if what == "@" else "", name if what == "$" else "", names, output)


async def fill(world: World, engine: KeywordEngine, person: str) -> dict[str, str]:
    """Puts the person's notes into the vault. Returns the name of each in labels, by its id."""
    if person in VAULTS:
        shutil.copytree(VAULTS[person], world.root, dirs_exist_ok=True)
        await engine.sweep()
        return {str(note.id): note.path for note in await engine.notes()}
    names: dict[str, str] = {}
    for name, kind, project, marks, title, text in _notes(person):
        private = {"tags": ["private"]} if "private" in marks else {}
        expires = {"expires": "2026-11-22"} if "expired" in marks else {}
        receipt = await engine.append(
            text, kind=kind, title=title or None, project=project or "*", **private, **expires
        )
        names[receipt.id] = name
        if "superseded" in marks:
            await engine.append(f"Not any more: {title}", kind="note", supersedes=receipt.id, project=project)
        if "always" in marks:
            folder = world.root / "_always-load"
            folder.mkdir(exist_ok=True)
            (world.root / receipt.path).rename(folder / Path(receipt.path).name)
    await engine.sweep()
    world.later(days=3)
    return names


def _notes(person: str) -> Iterator[tuple[str, ...]]:
    for line in (ACTIONS / person / "notes.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            *head, rest = re.split(r"\s*\|\s*", line, maxsplit=4)
            title, _, text = rest.partition(" = ") if not rest.startswith("= ") else ("", "", rest[2:])
            yield (*(part.strip() for part in head), title.strip(), text.strip())


async def measure(engine: KeywordEngine, person: str, names: dict[str, str]) -> tuple[Score, Score]:
    """What is told about the person's actions, and failures, each in a session of its own."""
    before, after = Score(), Score()
    for number, case in enumerate(actions(person)):
        answer = await engine.perform("advise", {
            "session": f"t/a{number}", "arguments": case.arguments, "folder": case.folder, "project": case.project,
        })  # fmt: skip
        before.told.append((case, [names.get(note, note) for note in answer["notes"]]))
    for number, case in enumerate(failures(person)):
        answer = await engine.perform("advise", {
            "session": f"t/f{number}", "output": case.output, "project": case.project,
        })  # fmt: skip
        after.told.append((case, [names.get(note, note) for note in answer["notes"]]))
    return before, after
