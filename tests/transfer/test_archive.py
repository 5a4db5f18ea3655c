"""Exports of ours: what goes out comes back byte for byte, and nothing else is let in."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.errors import Refused
from mcp_memory.transfer.formats import archive, jsonl
from mcp_memory.transfer.formats.archive import MARKER, SUMS, ArchivedFile
from mcp_memory.transfer.item import SkippedItem

NAMES = st.text("abäあ -", min_size=1, max_size=8).map(str.strip).filter(bool)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda parts: "/".join(parts) + ".md")
FILES = st.dictionaries(PATHS, st.binary(max_size=200), max_size=6)


@settings(max_examples=40)
@given(FILES)
def test_a_tar_comes_back(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    place = tmp_path_factory.mktemp("tar") / "x.tar"
    place.write_bytes(packed(files))
    assert archive.is_archive(place)
    found = archive.checked(place)
    assert found.marker == b"id"
    assert {file.path: file.data for file in found.files()} == files
    assert packed(files) == place.read_bytes()


@settings(max_examples=40)
@given(FILES)
def test_jsonl_comes_back(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    place = tmp_path_factory.mktemp("jsonl") / "x.jsonl"
    written = [jsonl.line(ArchivedFile(path, data), {"title": "ä"}) for path, data in files.items()]
    place.write_bytes(b"".join(written))
    left: list[SkippedItem] = []
    assert [(file.path, file.data) for file in jsonl.files(place, left)] == list(files.items())
    assert left == []
    assert not files or jsonl.is_ours(written)


def test_a_line_that_is_not_whole_is_left_out(tmp_path: Path) -> None:
    good = jsonl.line(ArchivedFile("a.md", b"text"), {})
    bad = [
        jsonl.line(ArchivedFile("b.md", b"text"), {}).replace(b'"text"}', b'"next"}'),
        jsonl.line(ArchivedFile("../c.md", b"text"), {}),
        jsonl.line(ArchivedFile("d.txt", b"text"), {}),
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


def packed(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    archive.write(out, b"id", (ArchivedFile(path, data) for path, data in sorted(files.items())))
    return out.getvalue()


Change = Callable[[tarfile.TarFile], None]


def added(name: str, data: bytes = b"x", **fields: object) -> Change:
    def change(tar: tarfile.TarFile) -> None:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        for key, value in fields.items():
            setattr(member, key, value)
        tar.addfile(member, io.BytesIO(data))

    return change


def hostile(place: Path, *changes: Change, sums: dict[str, bytes] | None = None) -> Path:
    """A tar with our marker, these members, and the sums that would fit."""
    with tarfile.open(place, "w", format=tarfile.PAX_FORMAT) as tar:
        added(MARKER, b"id")(tar)
        for change in changes:
            change(tar)
        named = {MARKER: b"id", **(sums or {})}
        text = "".join(f"{hashlib.sha256(data).hexdigest()}  {path}\n" for path, data in named.items())
        added(SUMS, text.encode())(tar)
    return place


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (added("../evil.md"), "holds '..'"),
        (added("/etc/evil.md"), "is absolute"),
        (added("a/./b.md"), "holds '.'"),
        (added("a\\b.md"), "backslash"),
        (added(".bashrc"), "hidden"),
        (added("run.sh"), "is not a note"),
        (added("a.md", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "not a plain file"),
        (added("a.md", b"", type=tarfile.LNKTYPE, linkname="b.md"), "not a plain file"),
        (added("a.md", b"", type=tarfile.CHRTYPE), "not a plain file"),
        (added("a.md", b"", type=tarfile.FIFOTYPE), "not a plain file"),
        (added("a.md", b"", type=tarfile.DIRTYPE), "not a plain file"),
        (added("a.md", b"other"), "is damaged"),
        (added("b.md"), "is missing in the archive or in"),
        (added("a.md", b"x", pax_headers={"GNU.sparse.map": "0,1", "GNU.sparse.size": "1"}), ""),
        (added("a.md", b"x", pax_headers={"comment": "y" * 4_000_000}), "not a whole tar"),
    ],
)
def test_what_nobody_exported_is_refused(tmp_path: Path, change: Change, said: str) -> None:
    with pytest.raises(Refused, match="was not imported") as refused:
        archive.checked(hostile(tmp_path / "x.tar", change, sums={"a.md": b"x"}))
    assert said in refused.value.message


def test_a_name_twice_a_cut_and_a_false_size(tmp_path: Path) -> None:
    twice = hostile(tmp_path / "twice.tar", added("a.md"), added("a.md"), sums={"a.md": b"x"})
    whole = packed({"a.md": b"x" * 2000})
    cut, huge = tmp_path / "cut.tar", tmp_path / "huge.tar"
    for at in (600, 1500, 3000, 4000):
        cut.write_bytes(whole[:at])
        with pytest.raises(Refused):
            archive.checked(cut)
    member = tarfile.TarInfo("a.md")
    member.size = 1 << 40
    huge.write_bytes(packed({})[:1024] + member.tobuf() + b"x" * 1024)
    for place, said in (twice, "twice"), (huge, "claims"):
        with pytest.raises(Refused, match=said):
            archive.checked(place)


def test_a_flipped_bit_anywhere_in_a_note_is_seen(tmp_path: Path) -> None:
    whole, place = bytearray(packed({"a.md": b"some text"})), tmp_path / "x.tar"
    whole[whole.index(b"some text") + 3] ^= 1
    place.write_bytes(whole)
    with pytest.raises(Refused, match="damaged"):
        archive.checked(place)
