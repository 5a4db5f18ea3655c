"""Invariant 3: writers of every sort at once lose nothing of one another's."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

from mcp_memory.errors import PreconditionFailed
from mcp_memory.models import NotePath, NoteState
from mcp_memory.text.markdown import logs
from mcp_memory.vault.vault import Vault
from tests.support.world import NOON, World, draft, more, python, vault_in

LOG = f"memory/{NOON.date()}.md"

WRITER = """
import sys
from pathlib import Path
from tests.support.world import draft, vault_in

vault, name, count = vault_in(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
sys.stdin.readline()
for number in range(count):
    vault.append(draft(f"{name} entry {number}", "log", session=f"{name}{number}"))
vault.settle()
"""


def test_a_person_who_adds_lines_and_processes_that_add_entries(tmp_path: Path) -> None:
    """The editor opens, adds at the end and closes, as `echo >>` does; it takes part in no lock."""
    vault = vault_in(tmp_path)
    vault.append(draft("first entry", "log"))
    file = tmp_path / "vault" / LOG
    count = more(15)
    crowd = [python(WRITER, tmp_path, name, count, stdin=subprocess.PIPE) for name in ("ann", "bob")]
    said: list[str] = []
    done = threading.Event()

    def add_lines() -> None:
        while not done.is_set():
            line = f"- by hand {len(said)}"
            with file.open("a") as out:
                out.write(f"\n{line}\n")
            said.append(line)
            done.wait(0.02)

    person = threading.Thread(target=add_lines)
    person.start()
    for writer in crowd:
        writer.communicate("\n")
    done.set()
    person.join()
    vault.settle()
    assert all(writer.returncode == 0 for writer in crowd)
    entries = entry_texts(vault)
    for name in ("ann", "bob"):
        for number in range(count):
            assert sum(f"{name} entry {number}\n" in text for text in entries) == 1
    kept = b"".join(path.read_bytes() for path in (tmp_path / "vault").rglob("*") if path.is_file()).decode()
    missing = [line for line in said if f"{line}\n" not in kept]
    assert missing == []


def entry_texts(vault: Vault) -> list[str]:
    file = vault.read(NotePath(LOG))
    return [file.text[entry.start : entry.end] for entry in logs.entries(file.text, file.body_start)]


def test_marks_and_edits_of_one_note_at_once(tmp_path: Path) -> None:
    """Two vaults forget and restore, two threads replace the body by compare-and-swap; each version that was written
    was written over one that its writer had read."""
    first = vault_in(tmp_path)
    path = first.append(draft("version zero")).file.record.path
    vaults = [first, *(vault_in(tmp_path) for _ in range(3))]
    written: list[str] = []
    rounds = more(15)

    def retire(vault: Vault) -> None:
        for _ in range(rounds):
            vault.forget(path)
            vault.restore(path)

    def edit(vault: Vault, name: str) -> None:
        for number in range(rounds):
            while True:
                blob = vault.backend.read(path)
                data = blob.data + f"{name}{number}\n".encode()
                try:
                    vault.backend.write(path, data, blob.etag)
                except PreconditionFailed:
                    continue
                written.append(f"{name}{number}")
                break

    threads = [threading.Thread(target=retire, args=(vault,)) for vault in vaults[:2]]
    threads += [threading.Thread(target=edit, args=(vault, name)) for vault, name in zip(vaults[2:], "ab", strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    vaults[0].restore(path)
    final = vaults[0].read(path)
    assert final.record.state is NoteState.ACTIVE
    lines = final.body.split()
    assert len(written) == 2 * rounds
    assert sorted(word for word in lines if word[1:].isdecimal()) == sorted(written)
    assert not list((tmp_path / "vault").rglob("*conflict*"))


@pytest.mark.anyio
async def test_an_edit_behind_our_back_is_met_not_overwritten(world: World) -> None:
    async with world.engine() as engine:
        receipt = await engine.append("Tea at four", kind="fact")
        file = world.root / receipt.path
        file.write_bytes(file.read_bytes() + b"edited by hand\n")  # not swept yet
        await engine.append("Tea at five", kind="fact", supersedes=receipt.id)
        assert file.read_bytes().endswith(b"Tea at four\nedited by hand\n")
        assert b"superseded" in file.read_bytes()
