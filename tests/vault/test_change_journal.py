from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_memory.models import Etag, NoteId, NotePath
from mcp_memory.vault.journals import change_journal
from mcp_memory.vault.journals.change_journal import ChangeJournal, ChangeKind, NoteChange, acting, current_caller
from mcp_memory.vault.journals.tombstones import Caller
from tests.support.world import draft, vault_in

A = NotePath("notes/fact/a.md")


def change(at: float, kind: ChangeKind = "stored", path: NotePath = A, **facts: object) -> NoteChange:
    return NoteChange(at, kind, path, NoteId("X"), **facts)  # pyright: ignore[reportArgumentType] -- as passed


def etag_of(data: bytes) -> Etag:
    return Etag(hashlib.sha256(data).hexdigest())


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(get_args(ChangeKind)), st.text(max_size=5)), max_size=8))
def test_what_is_recorded_is_read_by_the_next_process_the_latest_first(
    tmp_path: Path, made: list[tuple[ChangeKind, str]]
) -> None:
    for file in tmp_path.glob("*.jsonl"):
        file.unlink()
    changes = [change(float(at), kind, session=name or None) for at, (kind, name) in enumerate(made)]
    for one in changes:
        ChangeJournal(tmp_path).record(one)
    assert ChangeJournal(tmp_path).changes() == changes[::-1]


def test_half_a_line_and_one_of_a_later_version_are_left_out(tmp_path: Path) -> None:
    journal = ChangeJournal(tmp_path)
    journal.record(change(1))
    with (tmp_path / "changes.jsonl").open("a") as file:
        file.write('{"at":2,"kind":"hummed","path":"a","note":"X"}\n{"at":3,"ki')
    journal.record(change(4))
    assert [one.at for one in journal.changes()] == [4, 1]


def test_the_journal_is_bounded_and_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_journal, "MOST_BYTES", 1000)
    journal = ChangeJournal(tmp_path)
    for at in range(100):
        journal.record(change(float(at)))
    known = [one.at for one in journal.changes()]
    assert known == [*reversed(range(100))][: len(known)]
    assert 5 < len(known) < 40
    journal.keep(NoteId("X"), etag_of(b"x"), b"x", is_edit=False)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.rglob("*")}
    assert modes.pop("versions") == 0o700
    assert set(modes.values()) == {0o600}


def test_earlier_bytes_go_by_size_and_by_days_with_edits(tmp_path: Path) -> None:
    versions = [f"version {number}".encode() for number in range(6)]

    def left(journal: ChangeJournal) -> list[int]:
        return [at for at, data in enumerate(versions) if journal.find(NoteId("X"), etag_of(data)) == data]

    old = ChangeJournal(tmp_path)
    for day, data in enumerate(versions[:5]):
        old.keep(NoteId("X"), etag_of(data), data, is_edit=day % 2 == 0)
        (newest,) = tmp_path.glob(f"versions/*.{etag_of(data)}")
        os.utime(newest, (day * 86400.0, day * 86400.0))
    assert left(old) == [0, 1, 2, 3, 4]
    by_days = ChangeJournal(tmp_path, keep_days=3)
    by_days.keep(NoteId("X"), etag_of(versions[5]), versions[5], is_edit=True)
    assert left(by_days) == [3, 4, 5]
    by_size = ChangeJournal(tmp_path, keep_bytes=len(versions[0]))
    by_size.keep(NoteId("X"), etag_of(versions[0]), versions[0], is_edit=True)
    assert left(by_size) == [0]


def test_what_a_block_leaves_open_comes_from_the_one_around_it() -> None:
    with acting(Caller("cli", undoes="1")), acting(Caller(session="s")):
        assert current_caller() == Caller("cli", "s", undoes="1")
    assert current_caller() == Caller()


def test_each_write_of_the_vault_is_recorded_with_its_caller(tmp_path: Path) -> None:
    vault = vault_in(tmp_path)
    with acting(Caller("codex", "s1")):
        first = vault.append(draft("Port 1", "fact")).file.record
        second = vault.append(draft("Port 2", "fact"), supersedes=first.path).file.record
        assert vault.append(draft("Port 2", "fact")).file.record.path == second.path  # a duplicate: no change
        vault.forget(second.path)
        vault.forget(second.path)  # it is forgotten already
        vault.restore(second.path)
        entry = vault.append(draft("Done", "log", project="api"))
        vault.forget(entry.file.record.path, entry.entry)
        revised = vault.filing.revise(
            second.path, vault.read(second.path).text + "More\n", vault.read(second.path).record.etag
        )
        vault.filing.move(second.path, NotePath("notes/b.md"), second.id)
    found = vault.changes.changes()[::-1]
    assert [(one.kind, one.path) for one in found] == [
        ("stored", first.path), ("stored", second.path), ("superseded", first.path), ("forgotten", second.path),
        ("restored", second.path), ("stored", entry.file.record.path), ("forgotten", entry.file.record.path),
        ("edited", second.path), ("moved", "notes/b.md"),
    ]  # fmt: skip
    assert {(one.client, one.session) for one in found} == {("codex", "s1")}
    assert found[2].other == second.id
    assert (found[5].entry, found[5].project, found[6].entry) == (entry.entry, "api", entry.entry)
    assert (found[7].after, found[8].other) == (revised.record.etag, second.path)
    assert vault.changes.find(second.id, found[7].before or Etag("")) is not None
    journal = b"".join(file.read_bytes() for file in tmp_path.glob("changes*.jsonl"))
    assert b"Port" not in journal
    assert b"Done" not in journal


def test_erasing_a_note_leaves_no_line_and_no_earlier_bytes(tmp_path: Path) -> None:
    vault = vault_in(tmp_path)
    first = vault.append(draft("CANARY one", "fact")).file.record
    other = vault.append(draft("Another", "fact")).file.record
    vault.filing.revise(first.path, vault.read(first.path).text + "More\n", first.etag)
    assert vault.journals.describe(first.path, None, [first.id])
    vault.erase(first.path)
    vault.erase_traces(first.path, None, [first.id])
    assert [one.note for one in vault.changes.changes()] == [other.id]
    assert not any(b"CANARY" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
