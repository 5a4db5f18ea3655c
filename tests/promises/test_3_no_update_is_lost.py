"""Invariant 3: writers of every sort at once lose nothing of one another's."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from mcp_memory.errors import PreconditionFailed
from mcp_memory.models import NoteState
from mcp_memory.vault.vault import Vault
from tests.support.world import World, draft, more, vault_in


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
