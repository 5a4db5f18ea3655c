"""A file of JSON lines loses no whole line, whatever a crash or another program left in it."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.errors import StorageFailed
from mcp_memory.runtime.json_lines import JsonLines
from tests.support.world import more

FACTS = st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), st.booleans(), st.lists(st.text())))


@settings(max_examples=more(50), deadline=None)
@given(lines=st.lists(FACTS, max_size=6), torn=st.binary(max_size=20).filter(lambda data: b"\n" not in data))
def test_what_was_appended_is_read_also_after_half_a_line(
    tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, Any]], torn: bytes
) -> None:
    file = tmp_path_factory.mktemp("state") / "facts.jsonl"
    kept = JsonLines(file)
    for line in lines:
        kept.append(line)
    with file.open("ab") as other:
        other.write(b'{"half": ' + torn)
    kept.append({"last": 1})
    assert JsonLines(file).read() == [*lines, {"last": 1}]


def test_a_full_file_becomes_the_older_of_two_and_lines_are_removed_from_both(tmp_path: Path) -> None:
    kept = JsonLines(tmp_path / "facts.jsonl", synced=False, most_bytes=100)
    for number in range(12):
        kept.append({"number": number, "text": "x" * 20})
    known = [line["number"] for line in kept.read()]
    assert known == list(range(known[0], 12)) and len(known) >= 4
    assert kept.remove(lambda line: line["number"] % 2 == 0) == sum(number % 2 == 0 for number in known)
    assert all(line["number"] % 2 for line in kept.read())


def test_several_lines_are_appended_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    kept = JsonLines(folder / "facts.jsonl")
    kept.append({"a": 1}, {"b": None, "c": 2})
    assert kept.read() == [{"a": 1}, {"c": 2}]
    assert (folder.stat().st_mode & 0o777, kept.file.stat().st_mode & 0o777) == (0o700, 0o600)
    (tmp_path / "blocked").write_text("a file where a folder is wanted")
    blocked = JsonLines(tmp_path / "blocked" / "facts.jsonl")
    with pytest.raises(StorageFailed):
        blocked.append({"a": 1})
    blocked.try_append({"a": 1})


def test_lines_that_are_no_objects_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "facts.jsonl"
    file.write_bytes(b'{"a": 1}\nno json\n[1]\n\xff\n{"b": 2}\n')
    kept = JsonLines(file)
    assert (kept.read(), kept.damaged) == ([{"a": 1}, {"b": 2}], 3)


def test_lines_are_read_back_from_the_end_and_no_further_than_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = JsonLines(tmp_path / "facts.jsonl", synced=False, most_bytes=100_000)
    for number in range(1500):
        kept.append({"number": number, "text": "x" * 60})
    whole = kept.read()
    for block in (7, 1000, 1_000_000):
        monkeypatch.setattr("mcp_memory.runtime.json_lines.BLOCK", block)
        assert list(kept.read_back()) == whole[::-1]
    assert kept.read_first() == whole[0]
    monkeypatch.setattr("mcp_memory.runtime.json_lines.BLOCK", 1000)
    monkeypatch.setattr("mcp_memory.runtime.json_lines._decoded", lambda line: {"read": len(line)} if line else None)
    with kept.file.open("r+b") as file:
        file.write(b"x" * 20_000)  # one long line, which isn't reached
    assert {line["read"] for line in islice(kept.read_back(), 50)} == {len(whole[-1]["text"]) + 25}
    assert list(JsonLines(tmp_path / "none.jsonl").read_back()) == []
