"""Reads question sets: a folder with `queries.jsonl`, and `vault/` with the notes to be searched.

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
from mcp_memory.storage import open_storage
from mcp_memory.storage.path_rules import validate_existing

FIRST_BUDGET = "evidence@500tok"


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """Lines of a note, both ends included."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """`vault` is the folder below `vault/`, or empty. `gold`: where the answer stands, if it is answerable."""

    id: str
    text: str
    vault: str = ""
    category: str = "all"
    answerable: bool = True
    gold: tuple[GoldSpan, ...] = ()
    is_prompt: bool = False
    """What a person told an agent: it may want nothing that is stored."""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """`vaults` is the folder that holds the vaults, or is the only one."""

    name: str
    vaults: Path
    questions: Sequence[EvalQuestion]
    baselines: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, dict[str, float]])
    """Figures of others, by metric."""

    def by_vault(self) -> dict[Path, list[EvalQuestion]]:
        """The questions of each vault, in order."""
        found: dict[Path, list[EvalQuestion]] = {}
        for question in self.questions:
            found.setdefault(self.vaults / question.vault, []).append(question)
        return found

    def lengths(self) -> dict[str, LineLengths]:
        """Of each vault's lines, by the vault's name."""
        return {name: LineLengths(self.vaults / name) for name in {question.vault for question in self.questions}}


def notes_of(vault: Path) -> list[Path]:
    """The notes below a folder that an engine would find there, relative to it, in order; no source's."""
    listed = open_storage(vault, read_only=True).list().files
    return sorted(Path(path) for path in listed if not path.startswith("@"))


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
    line that is no question, whose gold is no place in its vault, and for a file without any."""
    file = place / "queries.jsonl" if place.is_dir() else place
    vaults = file.parent / "vault"
    if not file.is_file() or not vaults.is_dir():
        raise NotFound(
            f"{place} is no question set", hint="it needs queries.jsonl and vault/; see mcp-memory eval --help"
        )
    golden = _Golden(vaults)
    lines = _text(file).split("\n")
    questions = [
        _question(line, golden, f"{file}, line {number}") for number, line in enumerate(lines, 1) if line.strip()
    ]
    if not questions:
        raise InvalidInput(f"{file} holds no question", hint="one a line, as JSON; see mcp-memory eval --help")
    is_whole = place.is_dir()
    name = file.parent.name if is_whole else f"{file.parent.name}-{file.stem}"
    return QuestionSet(name, vaults, questions, _baselines(place) if is_whole else {})


def _text(file: Path) -> str:
    data = file.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput(
            f"{file}, line {line} is not UTF-8: {error.reason}", hint="save the file as UTF-8"
        ) from error


class _Golden:
    """What gold may name: lines of notes that an engine finds in the set's vaults. Nothing else is looked at."""

    def __init__(self, vaults: Path) -> None:
        self._vaults = vaults
        self._known: dict[str, tuple[frozenset[str], LineLengths]] = {}

    def vault(self, name: str) -> tuple[frozenset[str], LineLengths]:
        """Raises InvalidInput for one that is not there."""
        if name not in self._known:
            folder = self._vaults / validate_existing(name) if name else self._vaults
            if not folder.is_dir():
                raise InvalidInput(f"it names a vault that is not there: {folder}")
            self._known[name] = frozenset(file.as_posix() for file in notes_of(folder)), LineLengths(folder)
        return self._known[name]

    def span(self, gold: Mapping[str, Any] | str, vault: str) -> GoldSpan:
        """Raises InvalidInput for what is no place in the vault."""
        notes, lengths = self.vault(vault)
        path = validate_existing(gold if isinstance(gold, str) else str(gold["path"]))
        if path not in notes:
            raise InvalidInput(f"gold names {path!r}, and no such note is in {self._vaults / vault}")
        last = len(lengths(path) or ())
        start, end = 1, last
        if not isinstance(gold, str):
            start = int(gold["line"])
            end = int(gold.get("end_line", start))
        if not last:
            raise InvalidInput(f"gold names {path!r}, which is empty")
        if end < start:
            raise InvalidInput(f"gold in {path!r} ends at line {end}, before it begins at {start}")
        if not 1 <= start <= end <= last:
            raise InvalidInput(f"gold names lines {start} to {end} of {path!r}, which has the lines 1 to {last}")
        return GoldSpan(path, start, end)


def _question(line: str, golden: _Golden, place: str) -> EvalQuestion:
    try:
        row = json.loads(line)
        conversation, category = str(row.get("conv") or ""), str(row.get("category") or "all")
        golden.vault(conversation)
        gold = tuple(golden.span(each, conversation) for each in row.get("gold") or ())
        answerable = bool(row.get("answerable", row.get("wanted", True)))
        if answerable and not gold:
            raise InvalidInput("an answerable question without gold")
        text = row["question"] if "question" in row else row["prompt"]
        return EvalQuestion(str(row["id"]), str(text), conversation, category, answerable, gold, "prompt" in row)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error.message}", hint="see mcp-memory eval --help") from error
    except KeyError as error:
        raise InvalidInput(f"{place} is no question: it has no {error}", hint="see mcp-memory eval --help") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{place} is no question: {error}", hint="see mcp-memory eval --help") from error


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
