"""Question sets are read strictly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_memory.errors import InvalidInput
from tests.evaluation.sets import GoldSpan, read_set

GOOD = {"id": "q1", "question": "why Postgres?", "gold": [{"path": "a.md", "line": 3}]}


def a_set(folder: Path, *rows: object) -> Path:
    """In its vaults are notes of four lines."""
    (folder / "vault" / "one").mkdir(parents=True, exist_ok=True)
    for note in ("a.md", "one/b.md"):
        (folder / "vault" / note).write_text("one\ntwo\nthree\n\n", encoding="utf-8")
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (folder / "queries.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_a_set_is_read(tmp_path: Path) -> None:
    more = {
        "id": "q2",
        "conv": "one",
        "question": "what?",
        "category": "hard",
        "gold": [{"path": "b.md", "line": 1, "end_line": 4}],
    }
    absent = {"id": "q3", "conv": "one", "question": "who?", "category": "absent", "answerable": False}
    found = read_set(a_set(tmp_path, GOOD, "", more, absent))
    assert [(each.id, each.vault, each.category, each.answerable) for each in found.questions] == [
        ("q1", "", "all", True), ("q2", "one", "hard", True), ("q3", "one", "absent", False),
    ]  # fmt: skip
    assert found.questions[1].gold == (GoldSpan("b.md", 1, 4),)
    vaults = found.by_vault()
    assert list(vaults) == [tmp_path / "vault", tmp_path / "vault" / "one"]
    assert set(found.lengths()) == {"", "one"}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("no json", "line 2"), ('["a list"]', "line 2"), ({**GOOD, "gold": [{"path": "a.md"}]}, "line 2"),
        ({"id": "q", "question": "?"}, "without gold"), ({**GOOD, "conv": "two"}, "line 2.*not there"),
        ({**GOOD, "conv": "../.."}, "line 2.*holds '..'"),
        ({**GOOD, "gold": ["none.md"]}, "line 2.*'none.md', and no such note"),
        *(
            ({**GOOD, "gold": [gold]}, f"line 2.*{said}")
            for gold, said in (
                ({"path": "none.md", "line": 1}, "'none.md', and no such note"),
                ({"path": "b.md", "line": 1}, "'b.md', and no such note"),  # that is in another vault
                ({"path": "beside.txt", "line": 1}, "'beside.txt', and no such note"),
                ({"path": "linked.md", "line": 1}, "'linked.md', and no such note"),
                ({"path": "empty.md", "line": 1}, "'empty.md', which is empty"),
                ({"path": "a.md", "line": 5}, "lines 5 to 5 of 'a.md', which has the lines 1 to 4"),
                ({"path": "a.md", "line": 4, "end_line": 5}, "lines 4 to 5 of 'a.md'"),
                ({"path": "a.md", "line": 0}, "lines 0 to 0 of 'a.md'"),
                ({"path": "a.md", "line": 3, "end_line": 2}, "ends at line 2, before it begins at 3"),
                ({"path": "../outside.md", "line": 1}, "holds '..'"),
                ({"path": "/etc/passwd", "line": 1}, "is absolute"),
                ({"path": ".hidden.md", "line": 1}, "hidden part"),
                ("../outside.md", "holds '..'"), ("empty.md", "'empty.md', which is empty"),
            )
        ),
    ],
)  # fmt: skip
def test_a_line_that_is_no_question_is_named(tmp_path: Path, row: object, said: str) -> None:
    folder = a_set(tmp_path, GOOD, row)
    for beside in ("outside.md", "vault/beside.txt", "vault/.hidden.md"):
        (folder / beside).write_text("One line.\n")
    (folder / "vault" / "empty.md").touch()
    (folder / "vault" / "linked.md").symlink_to(folder / "outside.md")
    with pytest.raises(InvalidInput, match=said):
        read_set(folder)


def test_a_file_that_is_not_utf_8_or_holds_no_question(tmp_path: Path) -> None:
    folder = a_set(tmp_path, GOOD)
    (folder / "queries.jsonl").write_bytes(json.dumps(GOOD).encode() + b'\n{"id": "\xe9"}\n')
    with pytest.raises(InvalidInput, match=r"queries.jsonl, line 2 is not UTF-8"):
        read_set(folder)
    (folder / "queries.jsonl").write_text("\n \n")
    with pytest.raises(InvalidInput, match=r"queries.jsonl has no questions"):
        read_set(folder)


def test_prompts_are_a_set_too(tmp_path: Path) -> None:
    folder = a_set(tmp_path, GOOD)
    rows = [
        {"id": "p1", "prompt": "why Postgres again?", "wanted": True, "gold": ["a.md"]},
        {"id": "p2", "prompt": "go on", "wanted": False, "category": "continue", "gold": []},
    ]
    (folder / "prompts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    found = read_set(folder / "prompts.jsonl")
    assert [(each.text, each.answerable, each.gold) for each in found.questions] == [
        ("why Postgres again?", True, (GoldSpan("a.md", 1, 4),)), ("go on", False, ()),
    ]  # fmt: skip
    assert found.name == f"{folder.name}-prompts"
    (folder / "prompts.jsonl").write_text(json.dumps({**rows[0], "gold": ["none.md"]}), encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"line 1.*no such note"):
        read_set(folder / "prompts.jsonl")
