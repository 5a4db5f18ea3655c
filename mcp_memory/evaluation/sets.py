"""Question sets: a folder with `queries.jsonl`, and `vault/` with the notes to be searched.

One JSON object a line: `{"id", "conv"?, "question", "category"?, "answerable"?, "gold": [{"path", "line",
"end_line"?}]}`. `conv` names a folder below `vault/` that is a vault of its own; lines are 1-based; a path alone is the
whole note. A question that is not answerable has no gold. Another file beside `vault/` may hold what agents are asked,
`{"id", "prompt", "wanted", "gold"}`: whether memory is wanted for it. `baselines.json`, beside the set's folder or in
it, may hold figures of others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from mcp_memory.errors import InvalidInput, NotFound

FIRST_BUDGET = "evidence@500tok"


@dataclass(frozen=True, slots=True)
class Span:
    """Lines of a note, both ends included."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    """`vault` is the folder below `vault/`, or empty. `gold`: where the answer stands, if it is answerable."""

    id: str
    text: str
    vault: str = ""
    category: str = "all"
    answerable: bool = True
    gold: tuple[Span, ...] = ()
    is_prompt: bool = False
    """What a person told an agent: it may want nothing that is stored."""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """`vaults` is the folder that holds the vaults, or is the only one."""

    name: str
    vaults: Path
    questions: Sequence[Question]
    baselines: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, dict[str, float]])
    """Figures of others, by metric."""

    def by_vault(self) -> dict[Path, list[Question]]:
        """The questions of each vault, in order."""
        found: dict[Path, list[Question]] = {}
        for question in self.questions:
            found.setdefault(self.vaults / question.vault, []).append(question)
        return found

    def lengths(self) -> dict[str, LineLengths]:
        """Of each vault's lines, by the vault's name."""
        return {name: LineLengths(self.vaults / name) for name in {question.vault for question in self.questions}}


def notes_of(vault: Path) -> list[Path]:
    """The notes below a folder, relative to it, in order; nothing hidden, and no source's."""
    found = sorted(file.relative_to(vault) for file in vault.rglob("*.md") if file.is_file())
    return [file for file in found if not any(part.startswith((".", "@")) for part in file.parts)]


class LineLengths:
    """The characters of each line of a vault's notes, line ends included; each note is read once."""

    def __init__(self, vault: Path) -> None:
        self._vault = vault
        self._known: dict[str, Sequence[int] | None] = {}

    def __call__(self, path: str) -> Sequence[int] | None:
        """None for a note that is not there."""
        if path not in self._known:
            try:
                with (self._vault / path).open(encoding="utf-8", errors="replace") as lines:
                    self._known[path] = [len(line) for line in lines]
            except OSError:
                self._known[path] = None
        return self._known[path]


def read_set(place: Path) -> QuestionSet:
    """A set's folder, or one of the files of questions in it. Raises NotFound where there is no set, InvalidInput for a
    line that is no question."""
    file = place / "queries.jsonl" if place.is_dir() else place
    vaults = file.parent / "vault"
    if not file.is_file() or not vaults.is_dir():
        raise NotFound(
            f"{place} is no question set", hint="it needs queries.jsonl and vault/; see mcp-memory eval --help"
        )
    lines = file.read_text(encoding="utf-8").splitlines()
    questions = [
        _question(line, vaults, f"{file}, line {number}") for number, line in enumerate(lines, 1) if line.strip()
    ]
    is_whole = place.is_dir()
    name = file.parent.name if is_whole else f"{file.parent.name}-{file.stem}"
    found = QuestionSet(name, vaults, questions, _baselines(place) if is_whole else {})
    for vault in found.by_vault():
        if not vault.is_dir():
            raise InvalidInput(f"{file} names a vault that is not there: {vault}")
    return found


def _question(line: str, vaults: Path, place: str) -> Question:
    try:
        row = json.loads(line)
        conversation, category = str(row.get("conv") or ""), str(row.get("category") or "all")
        gold = tuple(_span(each, vaults / conversation) for each in row.get("gold") or ())
        answerable = bool(row.get("answerable", row.get("wanted", True)))
        if answerable and not gold:
            raise InvalidInput(f"{place}: an answerable question without gold")
        text = row["question"] if "question" in row else row["prompt"]
        return Question(str(row["id"]), str(text), conversation, category, answerable, gold, "prompt" in row)
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise InvalidInput(f"{place} is no question: {error}", hint="see mcp-memory eval --help") from error


def _span(gold: Mapping[str, Any] | str, vault: Path) -> Span:
    if isinstance(gold, str):
        return Span(gold, 1, len((vault / gold).read_text(encoding="utf-8").splitlines()))
    return Span(str(gold["path"]), int(gold["line"]), int(gold.get("end_line", gold["line"])))


def _baselines(folder: Path) -> dict[str, dict[str, float]]:
    """The overall figures of each that has them, those of the reference last."""
    for file in (folder / "baselines.json", folder.parent / "baselines.json"):
        if file.is_file():
            told = cast("dict[str, Any]", json.loads(file.read_text(encoding="utf-8")))
            known = {**_of(told, folder.name)}
            known |= {f"reference/{name}": each for name, each in _of(told.get("reference", {}), folder.name).items()}
            overall = {name: each.get("categories", {}).get("overall", {}) for name, each in known.items()}
            return {name: figures for name, figures in overall.items() if FIRST_BUDGET in figures}
    return {}


def _of(told: Mapping[str, Any], name: str) -> dict[str, dict[str, Any]]:
    return told.get("sets", {}).get(name, {})
