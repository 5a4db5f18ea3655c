"""The detector of contradictions on labelled pairs, and on all pairs of notes of the vaults that others wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from mcp_memory.comparison.comparison import Comparison
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.text.markdown import frontmatter
from tests.evaluation.sets import read_set

EVAL = Path(__file__).parent


@pytest.mark.parametrize("name", ["development", "held_out", "chat"])
def test_contradictions_are_found_and_look_alikes_left_alone(name: str) -> None:
    pairs = [json.loads(line) for line in (EVAL / "contradictions" / f"{name}.jsonl").read_text().splitlines()]
    flagged = {pair["id"] for pair in pairs if Comparison(*_statements(pair)).other_value}
    contrary = {pair["id"] for pair in pairs if pair["contradicts"]}
    assert len(pairs) >= 75 and len(contrary) <= len(pairs) / 2
    assert not flagged - contrary
    assert len(flagged & contrary) >= 0.8 * len(contrary)


@pytest.mark.parametrize("name", ["changes", "developer"])
def test_only_notes_that_no_longer_hold_are_contradicted(name: str) -> None:
    questions = read_set(EVAL / name / "prompts.jsonl").questions
    outdated = {span.path for question in questions for span in question.outdated}
    notes = sorted(_notes(EVAL / name / "vault"), key=lambda note: note[0])
    found = {
        older for (_, older, one), (_, newer, other) in combinations(notes, 2) if Comparison(one, other).other_value
    }  # fmt: skip
    superseded = {path for _, path, _ in notes if "-old" in path}
    assert found and found <= outdated | superseded
    assert len(found & outdated) >= 0.6 * len([path for path in outdated if path.startswith("notes/")])


def _statements(pair: dict[str, Any]) -> tuple[NoteText, NoteText]:
    one, two = ({key: pair[side].get(key) or "" for key in ("text", "title", "project")} for side in ("older", "newer"))
    return NoteText(**one, kind=pair["kind"]), NoteText(**two, kind=pair["kind"])


def _notes(vault: Path) -> Iterator[tuple[str, str, NoteText]]:
    for file in (vault / "notes").rglob("*.md"):
        document = frontmatter.parse(file.read_text(encoding="utf-8"))
        meta = document.meta
        statement = NoteText(document.body.strip(), meta["title"], meta["kind"], meta.get("project"))
        yield str(meta["created"]), file.relative_to(vault).as_posix(), statement
