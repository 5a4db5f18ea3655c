"""What a restore needs is as durable as the change that it undoes, and what was forgotten stays so."""

from __future__ import annotations

import hashlib
import os
from datetime import date, timedelta
from pathlib import Path

import pytest

from mcp_memory.errors import StorageFailed
from mcp_memory.models import Etag, NotePath
from mcp_memory.vault.journals.tombstones import GRACE_DAYS, Tombstone, Tombstones

AFTER, BEFORE = (Etag(hashlib.sha256(data).hexdigest()) for data in (b"after", b"before"))
LOG = NotePath("memory/2026-11-21.md")


def test_the_name_is_synced_after_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[int, list[str]]] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, sorted(file.name for file in tmp_path.iterdir())))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    undo = Tombstones(tmp_path)
    undo.keep(AFTER, BEFORE, b"before")
    [file] = tmp_path.iterdir()
    assert [inode for inode, _ in synced] == [file.stat().st_ino, tmp_path.stat().st_ino]
    assert synced[-1][1] == [file.name]
    assert undo.find(AFTER) == b"before"


def test_it_is_known_after_a_restart_until_it_is_released(tmp_path: Path) -> None:
    undo = Tombstones(tmp_path)
    undo.keep(AFTER, BEFORE, b"before")
    undo.keep_entry(Tombstone(LOG, "0123456789abcdef"))
    (tmp_path / f"{AFTER}.4711").write_bytes(b"the draft of an interrupted change")
    for each in (undo, Tombstones(tmp_path)):
        assert each.hides(BEFORE)
        assert not each.hides(AFTER)
        assert each.original(AFTER) == BEFORE
        assert each.entries(LOG) == {"0123456789abcdef"}
    undo.release(BEFORE)
    undo.release_entry(LOG, "0123456789abcdef")
    for each in (undo, Tombstones(tmp_path)):
        assert not each.hides(BEFORE)
        assert each.find(AFTER) is None
        assert each.entries(LOG) == frozenset()


def test_a_folder_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="gone: it is not there"):
        Tombstones(tmp_path / "gone")


def looked(undo: Tombstones, days: int, *, there: set[Etag] | None = None, start: date = date(2026, 1, 1)) -> None:
    for day in range(days):
        for _ in range(3):
            undo.prune(there or set(), {LOG} if there else set(), start + timedelta(days=day))


@pytest.mark.parametrize("standing", ["marked", "unmarked", "gone"])
@pytest.mark.parametrize("days", [GRACE_DAYS, GRACE_DAYS + 1])
def test_kept_as_long_as_the_file_stands_and_a_while_longer(tmp_path: Path, standing: str, days: int) -> None:
    undo = Tombstones(tmp_path)
    undo.keep(AFTER, BEFORE, b"before")
    undo.keep_entry(Tombstone(LOG, "0123456789abcdef"))
    (tmp_path / f"{AFTER}.4711").write_bytes(b"a draft")
    looked(undo, days, there={"marked": {AFTER}, "unmarked": {BEFORE}, "gone": set()}[standing])
    stays = standing != "gone" or days <= GRACE_DAYS
    assert undo.hides(BEFORE) is stays
    assert bool(undo.entries(LOG)) is stays
    assert (undo.find(AFTER) == b"before") is stays
    assert (tmp_path / f"{AFTER}.4711").exists() is (days <= GRACE_DAYS)
    if not stays:
        assert [file.name for file in tmp_path.iterdir()] == ["checks.json"]


def test_the_grace_begins_anew_when_the_file_was_back(tmp_path: Path) -> None:
    undo = Tombstones(tmp_path)
    undo.keep(AFTER, BEFORE, b"before")
    looked(undo, 20)
    looked(undo, 1, there={AFTER}, start=date(2026, 2, 1))
    looked(undo, 20, start=date(2026, 3, 1))
    assert Tombstones(tmp_path).find(AFTER) == b"before"
    looked(undo, 20, start=date(2026, 4, 1))
    assert Tombstones(tmp_path).find(AFTER) is None


def test_a_clock_that_is_years_ahead_makes_nothing_old(tmp_path: Path) -> None:
    undo = Tombstones(tmp_path)
    undo.keep(AFTER, BEFORE, b"before")
    looked(undo, 2)
    looked(undo, 2, start=date(2036, 1, 1))
    looked(undo, 10)
    assert undo.find(AFTER) == b"before"


@pytest.mark.parametrize("checks", [b"", b"\xff", b"[1]", b'{"days": 7}', b'{"days": [], "since": {"x": "soon"}}'])
def test_a_damaged_list_of_checks_stops_no_pruning(tmp_path: Path, checks: bytes) -> None:
    undo = Tombstones(tmp_path)
    undo.keep(AFTER, BEFORE, b"before")
    undo.keep_entry(Tombstone(LOG, "0123456789abcdef"))
    looked(undo, 1)
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
    (tmp_path / "checks.json").write_bytes(checks)
    looked(undo, GRACE_DAYS + 2)
    assert [file.name for file in tmp_path.iterdir()] == ["checks.json"]


def test_an_entry_that_cannot_be_read_is_a_fact_and_the_others_count(tmp_path: Path) -> None:
    Tombstones(tmp_path).keep_entry(Tombstone(LOG, "0123456789abcdef"))
    damaged = tmp_path / "fedcba9876543210.0123456789abcdef.entry"
    damaged.write_bytes(b"memory/\xff")
    undo = Tombstones(tmp_path)
    assert undo.entries(LOG) == {"0123456789abcdef"}
    assert [problem.path for problem in undo.problems] == [str(damaged)]
