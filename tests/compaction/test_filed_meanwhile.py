"""In the moment between a move and the index hearing of it, every call still finds the note, and finds it once."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from mcp_memory.errors import NotFound, StorageFailed
from mcp_memory.models import NotePath, Outcome, Receipt
from mcp_memory.storage.base import Blob
from mcp_memory.storage.filesystem import FilesystemBackend
from mcp_memory.vault.vault import Vault
from tests.support.topics import ALL_AT_ONCE, TEA, told, topic_of
from tests.support.world import World, paths, records

pytestmark = pytest.mark.anyio

FILED = NotePath("topics/01-tea/001-tea.md")


@pytest.fixture
def vaults(monkeypatch: pytest.MonkeyPatch) -> list[Vault]:
    """The vaults of all engines, as they are opened."""
    opened, init = list[Vault](), Vault.__init__

    def opening(vault: Vault, *given: Any) -> None:
        opened.append(vault)
        init(vault, *given)

    monkeypatch.setattr(Vault, "__init__", opening)
    return opened


async def filed(vault: Vault, receipt: Receipt, to: NotePath = FILED) -> None:
    """Moved, and nobody was told."""
    await anyio.to_thread.run_sync(vault.filing.move, receipt.path, to, receipt.id)


async def test_a_note_is_forgotten_and_comes_back_by_id_and_by_its_old_path(
    toy_world: World, vaults: list[Vault]
) -> None:
    async with toy_world.engine() as engine:
        for number, target in enumerate(("id", "path")):
            receipt = await engine.append(f"{TEA[0]} Cup {number}.")
            place = NotePath(f"topics/01-tea/00{number}-tea.md")
            await filed(vaults[0], receipt, place)
            gone = await engine.forget(getattr(receipt, target))
            assert gone.path == place and b"status: deleted" in toy_world.read(place)
            assert (await engine.forget(receipt.id, restore=True)).etag == receipt.etag


async def test_it_is_read_replaced_and_found(toy_world: World, vaults: list[Vault]) -> None:
    async with toy_world.engine() as engine:
        receipt = await engine.append(TEA[0])
        await filed(vaults[0], receipt)
        assert "60 degrees" in await engine.recall(ids=[receipt.id])
        assert "60 degrees" in await engine.recall(path=receipt.path)
        assert (await engine.perform("show", {"target": receipt.id}))["path"] == FILED
        found = await engine.search("green tea Uji")
        assert [hit.path for hit in found.hits] == [FILED] and found.degraded is None
        newer = await engine.append("Green tea needs 75 degrees.", supersedes=receipt.id)
        assert newer.outcome is Outcome.SUPERSEDED and b"status: superseded" in toy_world.read(FILED)


async def test_an_old_path_that_two_notes_had_names_neither(toy_world: World, vaults: list[Vault]) -> None:
    async with toy_world.engine() as engine:
        for number in range(2):
            receipt = await engine.append(TEA[number])
            place = toy_world.root / "topics/_fresh/001-tea.md"
            (toy_world.root / receipt.path).rename(place)
            await engine.adopt("topics/_fresh/001-tea.md")
            old = Receipt(receipt.id, NotePath("topics/_fresh/001-tea.md"), receipt.etag, receipt.outcome, "")
            await filed(vaults[0], old, NotePath(f"topics/01-tea/00{number}-tea.md"))
        with pytest.raises(NotFound):
            await engine.forget("topics/_fresh/001-tea.md")


async def test_the_same_words_said_while_their_note_is_filed_make_no_second_one(
    toy_world: World, vaults: list[Vault], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with toy_world.engine() as engine:
        receipt = await engine.append(TEA[0])
        (vault,), looked = vaults, list[str]()
        backend = vault.backend
        read = backend.read

        def reading(path: NotePath, **limits: object) -> Blob:
            looked.append(path)
            if len(looked) == 1:  # the rename comes after this first look
                backend.move(receipt.path, FILED)
                raise NotFound(path)
            return read(path, **limits)

        monkeypatch.setattr(backend, "read", reading)
        (note,) = [record for record in records(engine) if record.id == receipt.id]
        entry = vault.ledger.written(note.content_hash, note.kind, None)[-1]
        vault.filing.record(receipt.id, FILED, entry.content, entry.kind, None, left=receipt.path)
        again = await engine.append(TEA[0])
        assert again.outcome is Outcome.DUPLICATE and again.id == receipt.id and looked[0] == FILED


async def test_a_disk_that_says_no_ends_an_undo_and_the_same_call_does_the_rest(
    toy_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        before = toy_world.files()
        run = (await engine.compact()).run
        moves, move = list[NotePath](), FilesystemBackend.move

        def full(backend: FilesystemBackend, source: NotePath, target: NotePath) -> None:
            if len(moves) == 2:
                raise StorageFailed("no space left on the device [ENOSPC]")
            moves.append(source)
            move(backend, source, target)

        with monkeypatch.context() as patched:
            patched.setattr(FilesystemBackend, "move", full)
            assert "ENOSPC" in (await engine.undo_run(run)).left[0]
        assert (await engine.undo_run(run)).left == []
        assert toy_world.files() == before and sorted(paths(engine)) == sorted(p for p in before if p.endswith(".md"))


async def test_an_erased_note_is_gone_from_the_page_of_a_topic_that_it_was_moved_out_of(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        ids = await told(engine, [*TEA, "Green tea from Uji needs water, and Bob pays the secret invoice for it."])
        await engine.compact()
        page = toy_world.root / topic_of(toy_world, "green-tea") / "_summary.md"
        assert "invoice" in page.read_text()
        (note,) = page.parent.glob("005-*.md")
        note.rename(toy_world.root / "mine.md")
        await engine.sweep()
        planned = await engine.perform("erase", {"target": ids[-1], "sure": True})
        assert any("the page topics/" in line for line in planned["erased"])
        kept = [file for file in [*toy_world.root.rglob("*"), *toy_world.state.rglob("*")]
                if file.is_file() and b"invoice" in file.read_bytes()]  # fmt: skip
        assert not kept
