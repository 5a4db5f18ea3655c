"""No path, however it is made up, leads out of the vault, and hidden names tell what they hold."""

from __future__ import annotations

import hashlib
import os
import tempfile
import unicodedata
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcp_memory.errors import McpMemoryError, PathRefused
from mcp_memory.storage.filesystem import FilesystemBackend
from mcp_memory.storage.leftovers import TempName, conflict_name
from mcp_memory.storage.path_rules import fold, unnameable, validate_existing, validate_new
from mcp_memory.text.escape_invisible import printable
from tests.support.world import more

PIECES = st.sampled_from(
    ["..", ".", "", "/", "\\", "a", "b", "link", "up", "etc", "passwd", ".md", "x.md", "\x00", "\n", "%2e", "~", "C:",
     " ", "\u2024", "．．", "\ud800", "node_modules", ".git", "*", "é", "e\u0301"]
)  # fmt: skip
PATHS = st.one_of(
    st.lists(PIECES, max_size=8).map("/".join), st.lists(PIECES, max_size=8).map("".join), st.text(max_size=40)
)


@settings(max_examples=more(1_500), deadline=None)
@given(PATHS)
def test_an_accepted_path_names_a_place_below_the_root(path: str) -> None:
    try:
        validate_existing(path)
    except PathRefused as error:
        assert not {unicodedata.category(character) for character in error.message} & {"Cc", "Cs", "Zl", "Zp"}
        with pytest.raises(PathRefused):
            validate_new(path)
        return
    resolved = os.path.normpath("/root/of/vault/" + path)
    assert resolved == "/root/of/vault/" + path
    assert not any(part.startswith(".") for part in path.split("/"))


def test_no_verb_reads_or_writes_outside() -> None:
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        (base / "vault" / "a").mkdir(parents=True)
        (base / "x.md").write_bytes(b"outside")
        (base / "vault" / "link").symlink_to(base)
        (base / "vault" / "a" / "up").symlink_to("../..")
        files = FilesystemBackend(base / "vault", locks=base / "locks", marker=None)
        before = (base / "x.md").stat()

        @settings(max_examples=more(500), deadline=None)
        @given(PATHS)
        @example("../x.md")
        @example("link/x.md")
        @example("a/up/x.md")
        def probe(path: str) -> None:
            for call in (
                lambda: files.read(path).data,
                lambda: files.write(path, b"inside", None),
                lambda: files.write(path, b"inside", hashlib.sha256(b"outside").hexdigest()),
                lambda: files.stat(path),
                lambda: files.remove_generated(path, hashlib.sha256(b"outside").hexdigest()),
                lambda: files.move(path, "moved.md"),
                lambda: files.rmdir_empty(path),
            ):
                try:
                    assert call() != b"outside"
                except McpMemoryError as error:
                    assert error.code in {"path_refused", "not_found", "already_exists", "precondition_failed"}

        probe()
        assert sorted(path.name for path in base.iterdir()) == ["locks", "vault", "x.md"]
        assert (base / "x.md").stat() == before


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=30))
def test_folding_is_stable_under_case_and_normal_form(name: str) -> None:
    assert fold(fold(name)) == fold(name)
    for form in ("NFC", "NFD"):
        assert fold(unicodedata.normalize(form, name)) == fold(name)


@settings(max_examples=500, deadline=None)
@given(st.binary(min_size=1, max_size=60).filter(lambda raw: b"/" not in raw and b"\0" not in raw))
def test_any_name_on_disk_can_be_shown_on_one_line(raw: bytes) -> None:
    name = os.fsdecode(raw)
    shown = printable(name)
    assert shown.encode()
    assert "\n" not in shown
    if unnameable(name) is None and not name.startswith("."):
        assert validate_existing(name) == name


NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1, max_size=80)
ETAGS = st.binary(min_size=1, max_size=8).map(lambda data: hashlib.sha256(data).hexdigest())


@settings(max_examples=500, deadline=None)
@given(ETAGS, st.none() | ETAGS, st.none() | NAMES)
def test_a_hidden_name_says_what_the_file_holds(new: str, old: str | None, was: str | None) -> None:
    label = replace(TempName.for_etags(new, old), was=was)
    name = label.fresh()
    assert name.startswith(".")
    assert TempName.parse(name) == label
    assert label.names_bytes(new)
    assert old is None or label.names_bytes(old)
    assert label.fresh() != name


@settings(max_examples=500, deadline=None)
@given(NAMES.map(lambda name: f"{name}.md"), st.integers(1, 999))
def test_a_conflict_copy_is_a_note_with_a_fitting_name(name: str, number: int) -> None:
    copy = conflict_name(name * 4, datetime(2026, 11, 21, 14, 3, 55), number)
    assert len(copy.encode()) <= 255
    assert copy.endswith(".md")
    assert "(conflict 2026-11-21 14.03.55" in copy


def test_a_conflict_copy_reads_well() -> None:
    moment = datetime(2026, 11, 21, 14, 3, 55)
    assert conflict_name("plan.md", moment) == "plan (conflict 2026-11-21 14.03.55).md"
    assert conflict_name("plan.md", moment, 2) == "plan (conflict 2026-11-21 14.03.55 2).md"
