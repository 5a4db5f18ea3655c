"""Reads question sets: a folder with `queries.jsonl`, and `vault/` with the notes to be searched.

Each line is a JSON object: `{"id", "conv"?, "question", "category"?, "answerable"?, "gold": [{"path", "line",
"end_line"?}]}`. `conv` names a folder below `vault/` that is a vault of its own; lines are 1-based; a path alone is the
whole note. An unanswerable question has no gold. Another file beside `vault/` may hold prompts to agents,
`{"id", "prompt", "wanted", "gold", "also"?, "outdated"?, "private"?, "project"?}`: `wanted` says whether they need
memory, `also` what helps without being needed, `outdated` what no longer holds, `private` what must not be told.
`baselines.json`, beside the set's folder or in it, may hold figures of other programs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from mcp_memory.errors import InvalidInput, NotFound
from mcp_memory.storage import open_storage
from mcp_memory.storage.path_rules import validate_existing
from mcp_memory.text.parsed_values import table_at

FIRST_BUDGET = "evidence@500tok"

LineLengths = Callable[[str], "Sequence[int] | None"]
"""The characters of each line of a note, line ends included; None if there is no such note."""


@dataclass(frozen=True, slots=True)
class GoldSpan:
    """Lines of a note, both ends included."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """`vault` is the folder below `vault/`, or empty. `gold`: where the answer is, if there is one."""

    id: str
    text: str
    vault: str = ""
    category: str = "all"
    answerable: bool = True
    gold: tuple[GoldSpan, ...] = ()
    is_prompt: bool = False
    """A prompt to an agent, which may need nothing that is stored."""
    project: str | None = None
    also: tuple[GoldSpan, ...] = ()
    outdated: tuple[GoldSpan, ...] = ()
    private: tuple[GoldSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """`vaults` holds the vaults, or is the only one. `baselines`: other programs' figures by metric. The notes of the
    folder `distractors` answer nothing, and are searched with each vault."""

    name: str
    vaults: Path
    questions: Sequence[EvalQuestion]
    baselines: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, dict[str, float]])
    distractors: Path | None = None

    def among(self, distractors: Path) -> QuestionSet:
        """Returns the same set with distractors. Raises NotFound if the folder holds no note."""
        if not distractors.is_dir() or not notes_of(distractors):
            raise NotFound(f"there are no notes in {distractors}", hint="pass a folder of Markdown files")
        return replace(self, name=f"{self.name}+{distractors.resolve().name}", distractors=distractors)

    def by_vault(self) -> dict[Path, list[EvalQuestion]]:
        """Returns the questions of each vault, in order."""
        found: dict[Path, list[EvalQuestion]] = {}
        for question in self.questions:
            found.setdefault(self.vaults / question.vault, []).append(question)
        return found

    def lengths(self) -> dict[str, LineLengths]:
        """Returns the line lengths by the vault's name."""
        return {name: line_lengths(self.vaults / name) for name in {question.vault for question in self.questions}}


def notes_of(vault: Path) -> list[Path]:
    """Returns the paths of a vault's own notes, relative to it and sorted."""
    listed = open_storage(vault, read_only=True).list().files
    return sorted(Path(path) for path in listed if not path.startswith("@"))


def line_lengths(vault: Path) -> LineLengths:
    @cache
    def lengths(path: str) -> Sequence[int] | None:
        try:
            with (vault / path).open(encoding="utf-8", errors="replace") as lines:
                return [len(line) for line in lines]
        except OSError:
            return None

    return lengths


def read_set(place: Path) -> QuestionSet:
    """Reads a set's folder, or one of the files of questions in it. Raises NotFound if there is no set, InvalidInput
    for a line that is not a question or whose gold is not in its vault, and for an empty file."""
    file = place / "queries.jsonl" if place.is_dir() else place
    vaults = file.parent / "vault"
    if not file.is_file() or not vaults.is_dir():
        raise NotFound(
            f"{place} is not a question set", hint="it needs queries.jsonl and vault/; see tests/evaluation/sets.py"
        )
    golden = _Golden(vaults)
    questions: list[EvalQuestion] = []
    for number, line in enumerate(file.read_bytes().split(b"\n"), 1):
        if line.strip():
            questions.append(_question(line, golden, f"{file}, line {number}"))
    if not questions:
        raise InvalidInput(f"{file} has no questions", hint="one per line, as JSON; see tests/evaluation/sets.py")
    is_whole = place.is_dir()
    name = file.parent.name if is_whole else f"{file.parent.name}-{file.stem}"
    return QuestionSet(name, vaults, questions, _baselines(place) if is_whole else {})


class _Golden:
    """Checks gold: it may only name lines of notes in the set's vaults."""

    def __init__(self, vaults: Path) -> None:
        self._vaults = vaults
        self._known: dict[str, tuple[frozenset[str], LineLengths]] = {}

    def vault(self, name: str) -> tuple[frozenset[str], LineLengths]:
        """Raises InvalidInput if there is no such vault."""
        if name not in self._known:
            folder = self._vaults / validate_existing(name) if name else self._vaults
            if not folder.is_dir():
                raise InvalidInput(f"it names a vault that is not there: {folder}")
            self._known[name] = frozenset(file.as_posix() for file in notes_of(folder)), line_lengths(folder)
        return self._known[name]

    def span(self, gold: Mapping[str, Any] | str, vault: str) -> GoldSpan:
        """Raises InvalidInput for a place that is not in the vault."""
        notes, lengths = self.vault(vault)
        path = validate_existing(gold if isinstance(gold, str) else str(gold["path"]))
        if path not in notes:
            raise InvalidInput(f"gold names {path!r}, and no such note is in {self._vaults / vault}")
        last = len(lengths(path) or ())
        if not last:
            raise InvalidInput(f"gold names {path!r}, which is empty")
        if isinstance(gold, str):
            return GoldSpan(path, 1, last)
        start = int(gold["line"])
        end = int(gold.get("end_line", start))
        if end < start:
            raise InvalidInput(f"gold in {path!r} ends at line {end}, before it begins at {start}")
        if not 1 <= start <= end <= last:
            raise InvalidInput(f"gold names lines {start} to {end} of {path!r}, which has the lines 1 to {last}")
        return GoldSpan(path, start, end)


def _question(line: bytes, golden: _Golden, place: str) -> EvalQuestion:
    try:
        row = json.loads(line.decode())
        conversation, category = str(row.get("conv") or ""), str(row.get("category") or "all")
        golden.vault(conversation)
        gold, also, outdated, private = (
            tuple(golden.span(span, conversation) for span in row.get(label) or ())
            for label in ("gold", "also", "outdated", "private")
        )
        answerable = bool(row.get("answerable", row.get("wanted", True)))
        if answerable and not gold:
            raise InvalidInput("an answerable question without gold")
        text = row["question"] if "question" in row else row["prompt"]
        return EvalQuestion(
            str(row["id"]), str(text), conversation, category, answerable, gold, "prompt" in row,
            row.get("project"), also, outdated, private,
        )  # fmt: skip
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{place} is not UTF-8: {error.reason}", hint="save the file as UTF-8") from error
    except (InvalidInput, KeyError, ValueError, TypeError, AttributeError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        why = error.message if isinstance(error, InvalidInput) else f"not a question: {why}"
        raise InvalidInput(f"{place}: {why}", hint="see tests/evaluation/sets.py") from error


def _baselines(folder: Path) -> dict[str, dict[str, float]]:
    """Returns the overall figures of each program that has some, those of the reference last."""
    for file in (folder / "baselines.json", folder.parent / "baselines.json"):
        if file.is_file():
            content = json.loads(file.read_text(encoding="utf-8"))
            known = table_at(content, "sets", folder.name)
            reference = table_at(content, "reference", "sets", folder.name)
            known |= {f"reference/{name}": figures for name, figures in reference.items()}
            overall = {name: table_at(figures, "categories", "overall") for name, figures in known.items()}
            return {name: figures for name, figures in overall.items() if FIRST_BUDGET in figures}
    return {}
