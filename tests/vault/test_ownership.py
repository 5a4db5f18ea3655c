"""Who may change a note: its place and the ledger decide, never what the file says of itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_memory.errors import InvalidInput, NotFound, Refused, StorageFailed
from mcp_memory.models import NoteId, NotePath
from mcp_memory.vault.config import VaultConfig
from mcp_memory.vault.journals.ledger import LedgerEntry
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault
from tests.support.world import World, found, made

pytestmark = pytest.mark.anyio


@pytest.fixture
def person(tmp_path: Path) -> World:
    """A folder with a person's notes; home is `Agent/`."""
    world = made(tmp_path).with_home("Agent")
    for path in (
        "diary.md",
        "MEMORY.md",
        "Agent/_always-load/rules.md",
        "Agent/notes/fact/by-hand.md",
        "notes/fact/a.md",
    ):
        world.write(path, f"secret garden behind {path}")
    return world


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("diary.md", "personal note"), ("notes/fact/a.md", "personal note"), ("MEMORY.md", "personal note"),
        ("Agent/_always-load/rules.md", "may not change it"), ("Agent/notes/fact/by-hand.md", "did not write it"),
        ("@team/docs.md", "read-only source"),
    ],
)  # fmt: skip
async def test_what_is_not_the_agents_is_refused_with_the_reason(person: World, path: str, reason: str) -> None:
    team = person.root.parent / "team"
    team.mkdir()
    (team / "docs.md").write_text("secret garden of the team")
    async with person.engine(vault=VaultConfig(sources={"team": str(team)})) as engine:
        before = person.files()
        for change in (
            lambda: engine.forget(path),
            lambda: engine.forget(path, restore=True),
            lambda: engine.append("new words", kind="fact", supersedes=path),
        ):
            with pytest.raises(Refused, match=reason) as refused:
                await change()
            assert refused.value.hint
        assert path in await found(engine, "secret garden")
    assert person.files() == before
    assert (team / "docs.md").read_text() == "secret garden of the team"


async def test_an_adopted_note_is_the_agents(person: World) -> None:
    path = "Agent/notes/fact/by-hand.md"
    async with person.engine() as engine:
        assert await engine.adopt(path) == [path]
        assert await engine.adopt(path) == []
        await engine.forget(path)
        await engine.forget(path, restore=True)
    assert person.read(path).startswith(b"secret garden")


async def test_what_was_adopted_is_given_back_wherever_it_has_gone(world: World) -> None:
    """Filed by a job, moved by hand, absent at the moment, changed since; a copy of what we wrote, and that itself."""
    names = ("filed", "moved", "away", "changed")
    async with world.engine() as engine:
        ours = await engine.append("Tea at four", kind="fact")
        for name in names:
            world.write(f"{name}.md", f"---\nid: {name}\n---\nwords of {name}")
        copy = NotePath("copy.md")
        world.write(copy, world.read(ours.path))
        await engine.sweep()
        adopted = await engine.adopt()
    world.vault().filing.move(NotePath("filed.md"), NotePath("topics/filed.md"), "filed")
    async with world.engine() as engine:
        (world.root / "moved.md").rename(world.root / "by-hand.md")
        away = (world.root / "away.md").rename(world.root.parent / "away.md")
        world.write("changed.md", "---\nid: changed\n---\nother words")
        now = {"topics/filed.md", "by-hand.md", "away.md", "changed.md", copy}
        rest = set(adopted) - {f"{name}.md" for name in names} - {copy}
        assert set(await engine.give_back(dry_run=True)) == now | rest
        assert set(await engine.give_back("by-hand.md")) == {"by-hand.md"}
        assert set(await engine.give_back()) == (now | rest) - {"by-hand.md"}
        assert await engine.give_back() == []
    ledger = world.state / "ledger.jsonl"
    written = ledger.read_bytes()
    away.rename(world.root / "away.md")
    async with world.engine() as engine:
        for path in now:
            with pytest.raises(Refused, match="personal note"):
                await engine.forget(path)
        await engine.forget(ours.path)
        assert ledger.read_bytes() == written
        assert await engine.adopt("changed.md") == ["changed.md"]
        await engine.forget("changed.md")


async def test_a_note_that_is_given_back_while_a_job_files_it_is_the_persons(world: World) -> None:
    """The job has looked whose it is already, and tells the ledger only now."""
    async with world.engine() as engine:
        world.write("one.md", "---\nid: one\n---\nwords")
        await engine.sweep()
        await engine.adopt("one.md")
        await engine.give_back("one.md")
    place = NotePath("topics/one.md")
    world.vault().ledger.record(
        LedgerEntry(NoteId("one"), place, "", "note", None, None, world.clock().timestamp(), NotePath("one.md"))
    )
    (world.root / "topics").mkdir(exist_ok=True)
    (world.root / "one.md").rename(world.root / place)
    async with world.engine() as engine:
        with pytest.raises(Refused, match="personal note"):
            await engine.forget(place)


async def test_adoption_ends_where_home_ends(person: World) -> None:
    async with person.engine() as engine:
        with pytest.raises(NotFound, match="in the managed folder"):
            await engine.adopt("diary.md")
        assert set(await engine.adopt()) == {"Agent/_always-load/rules.md", "Agent/notes/fact/by-hand.md"}
        for path in ("diary.md", "Agent/_always-load/rules.md"):
            with pytest.raises(Refused):
                await engine.forget(path)


async def test_one_file_that_cannot_be_read_keeps_no_other_from_adoption(
    person: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = "Agent/a-bad.md", "Agent/notes/fact/by-hand.md"
    person.write(bad, "on a sector that is gone")
    async with person.engine() as engine:
        read = Vault.read

        def failing(vault: Vault, path: NotePath) -> NoteFile:
            if path == bad:
                raise StorageFailed("an I/O error")
            return read(vault, path)

        monkeypatch.setattr(Vault, "read", failing)
        assert good in await engine.adopt()
        with pytest.raises(StorageFailed):
            await engine.adopt(bad)
        await engine.forget(good)


async def test_a_file_that_is_too_large_can_be_adopted_but_not_changed(person: World) -> None:
    person.write("Agent/a-huge.md", b"x" * 2000)
    async with person.engine(vault=VaultConfig(max_note_bytes=1000)) as engine:
        assert {"Agent/a-huge.md", "Agent/notes/fact/by-hand.md"} <= set(await engine.adopt())
        with pytest.raises(Refused, match="larger"):
            await engine.forget("Agent/a-huge.md")
        assert person.read("Agent/a-huge.md") == b"x" * 2000


async def test_a_moved_vault_is_one_adoption_away(world: World) -> None:
    async with world.engine() as engine:
        receipt = await engine.append("Tea at four", kind="fact")
    world.state.rename(world.state.with_name("old-state"))
    async with world.engine() as engine:
        with pytest.raises(Refused, match="mcp-memory adopt"):
            await engine.forget(receipt.id)
        assert receipt.path in await engine.adopt()
        await engine.forget(receipt.id)
        assert await found(engine, "tea") == []


async def test_a_note_stays_the_agents_wherever_it_is_moved_in_home(world: World) -> None:
    async with world.engine() as engine:
        receipt = await engine.append("Tea at four", kind="fact")
        world.write("topics/tea/x.md", "")
        (world.root / receipt.path).rename(world.root / "topics/tea/renamed.md")
        await engine.sweep()
        assert (await engine.forget(receipt.id)).path == "topics/tea/renamed.md"


@pytest.mark.parametrize("forged", ["copied id", "id of a path", "id of a log"])
async def test_a_forged_id_vouches_for_nothing(world: World, forged: str) -> None:
    async with world.engine() as engine:
        real = await engine.append("Tea at four", kind="fact")
        log = await engine.append("made tea", kind="log")
        world.write("notes/fact/adopted.md", "adopted words")
        await engine.sweep()
        await engine.adopt("notes/fact/adopted.md")
        note_id = {
            "copied id": real.id,
            "id of a path": "path:notes/fact/adopted.md",
            "id of a log": f"path:{log.path}",
        }
        world.write("notes/a-stranger.md", f"---\nid: {note_id[forged]}\n---\nstrange words")
        await engine.sweep()
        with pytest.raises(Refused, match="did not write it"):
            await engine.forget("notes/a-stranger.md")
        await engine.forget(real.path)
        await engine.forget("notes/fact/adopted.md")


async def test_adopting_a_copy_leaves_the_original_the_agents(world: World) -> None:
    async with world.engine() as engine:
        real = await engine.append("Tea at four", kind="fact")
        world.write("notes/copy.md", world.read(real.path))
        assert await engine.adopt("notes/copy.md") == ["notes/copy.md"]
        await engine.forget(real.path)
        await engine.forget("notes/copy.md")


async def test_a_damaged_ledger_costs_ownership_and_nothing_else(world: World) -> None:
    async with world.engine() as engine:
        first, second = [await engine.append(text, kind="fact") for text in ("Tea at four", "Cake at five")]
    ledger = world.state / "ledger.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(lines[0][:40] + b"\n[1]\nnull\n\xff\n{}\n" + lines[1][:-1])
    async with world.engine() as engine:
        with pytest.raises(Refused):
            await engine.forget(first.id)
        await engine.forget(second.id)
        third = await engine.append("Biscuits at six", kind="fact")
        said = [finding.what for finding in await engine.doctor()]
        assert any("5 lines of the ledger are unreadable" in line for line in said)
    async with world.engine() as engine:
        await engine.forget(third.id)
    assert json.loads(ledger.read_bytes().splitlines()[-1])["id"] == third.id


async def test_a_name_with_a_hash_is_a_name(world: World) -> None:
    async with world.engine() as engine:
        receipt = await engine.append("sharp words", path="notes/c#.md")
        assert "sharp words" in await engine.recall(ids=["notes/c#.md"])
        assert (await engine.forget("notes/c#.md")).id == receipt.id
        for bad in ("", "  ", "x" * 6000):
            with pytest.raises(InvalidInput):
                await engine.forget(bad)
        for absent in ("01UNKNOWN", "notes/none.md", "memory/2026-11-21.md#0123456789abcdef", "path:none.md"):
            with pytest.raises(NotFound):
                await engine.forget(absent)
