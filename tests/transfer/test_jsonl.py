"""Exports of ours: what goes out comes back byte for byte, and nothing else is let in."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.transfer.formats import jsonl
from mcp_memory.transfer.formats.jsonl import ExportedFile
from mcp_memory.transfer.item import SkippedItem

NAMES = st.text("abäあ -", min_size=1, max_size=8).map(str.strip).filter(bool)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda parts: "/".join(parts) + ".md")
FILES = st.dictionaries(PATHS, st.binary(max_size=200), max_size=6)


@settings(max_examples=40)
@given(FILES)
def test_jsonl_comes_back(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    place = tmp_path_factory.mktemp("jsonl") / "x.jsonl"
    written = [jsonl.line(ExportedFile(path, data), {"title": "ä"}) for path, data in files.items()]
    place.write_bytes(b"".join(written))
    left: list[SkippedItem] = []
    assert [(file.path, file.data) for file in jsonl.files(place, left)] == list(files.items())
    assert left == []
    assert not files or jsonl.is_ours(written)


def test_a_line_that_is_not_whole_is_left_out(tmp_path: Path) -> None:
    good = jsonl.line(ExportedFile("a.md", b"text"), {})
    bad = [
        jsonl.line(ExportedFile("b.md", b"text"), {}).replace(b'"text"}', b'"next"}'),
        jsonl.line(ExportedFile("../c.md", b"text"), {}),
        jsonl.line(ExportedFile("d.txt", b"text"), {}),
        b"[]\n",
        b'{"path": "e.md", "etag": "1"}\n',
        b'{"path": "e.md", "etag": "1", "base64": "\\u00e9"}\n',
        good[:20],
    ]
    place = tmp_path / "x.jsonl"
    place.write_bytes(good + b"".join(bad))
    left: list[SkippedItem] = []
    assert [file.path for file in jsonl.files(place, left)] == ["a.md"]
    assert [each.path for each in left] == [f"line {number}" for number in range(2, 9)]
