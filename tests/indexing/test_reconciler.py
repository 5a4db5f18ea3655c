"""The indexer: sweeps, mass loss, odd files, generations."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.errors import McpMemoryError
from mcp_memory.indexing.index_rows import IndexedFile, to_upsert
from mcp_memory.indexing.reconciler import compare, suspicion
from mcp_memory.models import Etag, FileStat, NotePath, Problem
from mcp_memory.storage.base import Listing
from mcp_memory.text.chunking.chunker import ChunkingConfig
from mcp_memory.vault.config import VaultConfig
from mcp_memory.vault.vault import Vault
from tests.support.indexed_vault import indexed_vault
from tests.support.toy import OPENING
from tests.support.world import World, draft, embedded, eventually, found, index_of, paths, records, until

pytestmark = pytest.mark.anyio


# -- the difference, pure ------------------------------------------------------------------------------------------


def listing(*files: str, odd: tuple[str, ...] = (), complete: bool = True, settled: bool = True) -> Listing:
    stats = {NotePath(f): FileStat(NotePath(f), f"sig {f}", 1, settled) for f in files}
    return Listing(stats, [Problem(path, "odd") for path in odd], complete=complete)


def known(*files: str) -> dict[NotePath, IndexedFile]:
    return {NotePath(f): IndexedFile(f"sig {f}", Etag("e")) for f in files}


def test_absent_files_are_gone_unless_their_place_is_odd() -> None:
    seen = compare(listing("a", odd=("deep/in", "c")), known("a", "b", "c", "deep/in/x", "deep/other"))
    assert seen.gone == ("b", "deep/other")
    assert seen.doubtful == ("c", "deep/in/x")
    assert compare(listing(odd=(".",)), known("a", "b/c")).gone == ()
    assert compare(listing(odd=("@team/.",)), known("@team/a", "b")).gone == ("b",)


@pytest.mark.parametrize(
    ("gone", "of", "unaccepted", "paused"),
    [(0, 0, True, False), (49, 49, False, False), (50, 50, False, True), (89, 100, False, False),
    (90, 100, False, True),
     (1, 100, True, True), (0, 100, True, False)],
)  # fmt: skip
def test_a_mass_loss_is_suspect(gone: int, of: int, unaccepted: bool, paused: bool) -> None:
    assert bool(suspicion(listing(), gone, of, unaccepted=unaccepted)) is paused


def test_an_incomplete_listing_proves_nothing() -> None:
    assert suspicion(listing(complete=False), 0, 0, unaccepted=False)


# -- mass loss -------------------------------------------------------------------------------------------------------


@pytest.fixture
def crowd(world: World) -> World:
    """A vault of 60 notes, each with a word of its own."""
    world.with_home("")
    for number in range(60):
        world.write(f"crowd/n{number}.md", f"uniqueword{number} stands here")
    return world


async def test_it_ends_by_itself_when_the_files_return_and_not_before(crowd: World) -> None:
    async with crowd.engine() as engine:
        away = crowd.root.with_name("away")
        (crowd.root / "crowd").rename(away)
        await engine.sweep()
        (crowd.root / "crowd").mkdir()
        for number in range(30):  # a sync client brings them back one by one
            (away / f"n{number}.md").rename(crowd.root / f"crowd/n{number}.md")
        await engine.sweep()
        assert await found(engine, "uniqueword50") == ["crowd/n50.md"]
        assert (await engine.status())["pruning_paused"]
        for file in away.iterdir():
            file.rename(crowd.root / "crowd" / file.name)
        await engine.sweep()
        assert (await engine.status())["pruning_paused"] is None
        assert (await engine.status())["notes"] == 60


@pytest.mark.parametrize("lost", ["root", "marker", "all but the folder"])
async def test_a_start_without_the_vault_answers_from_the_index(crowd: World, lost: str) -> None:
    async with crowd.engine() as engine:
        home = (await engine.status())["home"]
    away = crowd.root.parent / "away"
    if lost == "marker":
        (crowd.root / ".mcp-memory").rename(away)
    else:
        crowd.root.rename(away)
        if lost != "root":
            crowd.root.mkdir()
    async with crowd.engine() as engine:
        assert (await engine.status())["home"] == home
        assert await found(engine, "uniqueword7") == ["crowd/n7.md"]
        with pytest.raises(McpMemoryError, match="not there"):
            await engine.append("words", kind="fact")
        if lost == "marker":
            away.rename(crowd.root / ".mcp-memory")
        else:
            shutil.rmtree(crowd.root, ignore_errors=True)
            away.rename(crowd.root)
        assert (await engine.sweep())["changed"] == 0
        assert (await engine.status())["pruning_paused"] is None
        await engine.append("words", kind="fact")


async def test_a_person_can_say_that_this_is_the_vault(crowd: World) -> None:
    async with crowd.engine():
        pass
    shutil.rmtree(crowd.root)
    async with crowd.engine() as engine:
        assert await engine.perform("accept", {}) == {"pruned": 60}
        await engine.append("words", kind="fact")
        await engine.sweep()
        assert paths(engine) == ["notes/fact/words.md"]


async def test_few_files_go_without_a_word(world: World) -> None:
    world.write("a.md", "violet")
    async with world.engine() as engine:
        (world.root / "a.md").unlink()
        await engine.sweep()
        assert (await engine.status())["pruning_paused"] is None
        assert await found(engine, "violet") == []


# -- odd files -------------------------------------------------------------------------------------------------------


async def test_odd_files_are_indexed_or_reported(world: World) -> None:
    odd = {
        "utf16.md": "violet words".encode("utf-16"), "latin.md": b"violet caf\xe9", "binary.md": bytes(range(256)) * 9,
        "broken.md": b"---\nid: [\n---\nviolet body", "bomb.md": b"---\n" + ALIAS_BOMB + b"---\nviolet bomb",
        "empty.md": b"", "rule.md": b"violet\n\n---\n\nbelow", "huge.md": b"violet " * 2000,
        "nul.md": b"violet\0" + b"x" * 999,
        "line.md": b"violet " + b"x" * 9000,
    }  # fmt: skip
    world.with_home("")
    for name, content in odd.items():
        world.write(name, content)
    os.mkfifo(world.root / "fifo.md")
    (world.root / "link.md").symlink_to(world.root / "rule.md")
    (world.root / "dangling.md").symlink_to("nowhere")
    outside = world.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("violet outside")
    (world.root / "folder").symlink_to(outside)
    async with world.engine(vault=VaultConfig(max_note_bytes=10_000)) as engine:
        reported = set(await engine.problems())
        assert reported >= {"utf16.md", "latin.md", "binary.md", "broken.md", "bomb.md", "huge.md", "nul.md"}
        assert reported >= {"fifo.md", "link.md", "dangling.md", "folder"}
        assert not reported & {"empty.md", "rule.md", "line.md"}
        hits = set(await found(engine, "violet"))
        assert hits == {"latin.md", "broken.md", "bomb.md", "rule.md", "nul.md", "line.md", "huge.md"}
        assert set(paths(engine)) == set(odd)
        said = [finding.what for finding in await engine.doctor()]
        assert all(any(path in line for line in said) for path in reported)


ALIAS_BOMB = b"a: &a [x, x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (ord("b") + n, ord("b") + n, b", ".join([b"*%c" % (ord("a") + n)] * 9)) for n in range(12)
)


async def test_a_repaired_file_is_no_problem_any_more(world: World) -> None:
    file = world.write("a.md", "---\nid: [\n---\nviolet")
    async with world.engine() as engine:
        assert len(await engine.problems()) == 1
        file.write_text("---\nid: a\n---\nviolet")
        await engine.sweep()
        assert await engine.problems() == {}
        file.write_bytes(b"\xff")
        await engine.sweep()
        file.unlink()
        await engine.sweep()
        assert await engine.problems() == {}


@pytest.mark.parametrize("becomes", ["a link", "a folder", "a FIFO", "binary", "ignored", "below a linked folder"])
async def test_what_is_no_note_any_more_leaves_the_answers(world: World, becomes: str) -> None:
    file = world.write("deep/a.md", "violet words")
    async with world.engine() as engine:
        assert await found(engine, "violet") == ["deep/a.md"]
        away = world.root.parent / "away.md"
        match becomes:
            case "a link":
                file.rename(away)
                file.symlink_to(away)
            case "a folder":
                file.unlink()
                file.mkdir()
            case "a FIFO":
                file.unlink()
                os.mkfifo(file)
            case "binary":
                file.write_bytes(b"violet" + bytes(99))
            case "ignored":
                world.write(".memoryignore", "deep/\n")
            case "below a linked folder":
                file.parent.rename(away)
                (world.root / "deep").symlink_to(away)
        await engine.sweep()
        assert await found(engine, "violet") == []
        if becomes not in {"a folder", "ignored"}:
            assert await engine.problems()
        assert (await engine.status())["pruning_paused"] is None


@pytest.mark.skipif(os.geteuid() == 0, reason="file modes do not bind root")
async def test_a_folder_that_cannot_be_looked_into_keeps_its_answers(world: World) -> None:
    file = world.write("deep/a.md", "violet words")
    async with world.engine() as engine:
        file.parent.chmod(0)
        await engine.sweep()
        assert await found(engine, "violet") == ["deep/a.md"]
        assert set(await engine.problems()) == {"deep"}
        file.parent.chmod(0o700)
        await engine.sweep()
        assert await engine.problems() == {}


# -- own writes and sweeps at once -----------------------------------------------------------------------------------


async def test_a_note_appended_during_a_sweep_stays_found(world: World) -> None:
    for number in range(200):
        world.write(f"crowd/n{number}.md", f"crowd {number}")
    async with world.engine() as engine:
        lost: list[str] = []
        done = anyio.Event()

        async def sweep() -> None:
            while not done.is_set():
                await engine.sweep()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sweep)
            tasks.start_soon(sweep)
            for number in range(40):
                receipt = await engine.append(f"freshword{number} is here", kind="fact")
                lost += [] if await found(engine, f"freshword{number}") == [receipt.path] else [receipt.path]
            done.set()
        assert lost == []


async def test_a_note_written_behind_the_listing_is_not_taken_for_gone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("a.md", "violet")
    async with world.engine() as engine:
        real = Vault.list

        def slow_list(vault: Vault) -> Listing:
            listing = real(vault)
            anyio.from_thread.run(lambda: engine.append("freshword", kind="fact"))
            return listing

        with monkeypatch.context() as slow:
            slow.setattr(Vault, "list", slow_list)
            assert (await engine.sweep())["gone"] == 0
        assert len(await found(engine, "freshword")) == 1


async def test_an_older_state_of_a_file_never_replaces_a_newer_one(world: World) -> None:
    with indexed_vault(world) as room:
        first = room.vault.append(draft("first entry", "log")).file
        second = room.vault.append(draft("second entry", "log")).file
        await room.writer.index_note(second)
        await room.writer.index_note(first)
        assert any("second entry" in text for text in room.texts(second.record.path))


async def test_entries_appended_at_once_are_all_found_at_once(world: World) -> None:
    async with world.engine() as engine:
        missing: list[int] = []

        async def say(number: int) -> None:
            receipt = await engine.append(f"loggedword{number}", kind="log", session=str(number))
            hits = (await engine.search(f"loggedword{number}")).hits
            if receipt.id not in [hit.id for hit in hits]:
                missing.append(number)

        for start in range(0, 40, 8):
            async with anyio.create_task_group() as tasks:
                for number in range(start, start + 8):
                    tasks.start_soon(say, number)
        assert missing == []


async def test_an_unchanged_vault_is_not_read_again(world: World) -> None:
    for number in range(10):
        os.utime(world.write(f"n{number}.md", "x"), (1e9, 1e9))
    async with world.engine() as engine:
        await eventually(lambda: _quiet(engine))
        with _opened() as names:
            await engine.sweep()
        assert [name for name in names if name.endswith(".md")] == []
        os.utime(world.write("n3.md", "y"), (2e9, 2e9))
        with _opened() as names:
            await engine.sweep()
        assert {name for name in names if name.endswith(".md")} == {"n3.md"}, "this does see what is read"


_openings: list[list[str]] = []
_hearing: list[bool] = []


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open":
        for names in _openings:
            names.append(Path(os.fsdecode(arguments[0])).name if isinstance(arguments[0], str | bytes) else "")


@contextmanager
def _opened() -> Iterator[list[str]]:
    """The names of the files that this process opens within the block, as the interpreter's audit tells them."""
    if not _hearing:
        _hearing.append(True)
        sys.addaudithook(_hear)  # for good: Python has no way to take one off
    names: list[str] = []
    _openings.append(names)
    try:
        yield names
    finally:
        _openings.remove(names)


async def _quiet(engine) -> bool:
    """No file has to be looked into."""
    with _opened() as names:
        await engine.sweep()
    return not any(name.endswith(".md") for name in names)


async def test_a_file_too_young_for_its_signature_is_looked_at_again(world: World) -> None:
    with indexed_vault(world) as room:
        world.write("a.md", "violet")

        async def is_settled() -> bool:
            await room.reconciler.reconcile()
            return not room.writer.indexed_files[NotePath("a.md")].signature.endswith("?")

        assert not await is_settled()
        await eventually(is_settled)


# -- generations -----------------------------------------------------------------------------------------------------


async def test_another_model_and_chunking_answer_alike_and_leave_one_generation(toy_world: World) -> None:
    for number in range(5):
        toy_world.write(f"n{number}.md", f"violet {number}\n\n" * 9)
    for sections in (
        {}, {"embedder": EmbedderConfig("toy", "other")}, {"chunking": ChunkingConfig(max_chars=400)},
        {"embedder": EmbedderConfig("none")}, {},
    ):  # fmt: skip
        async with toy_world.engine(**sections) as engine:
            assert len(await found(engine, "violet")) >= 5
            assert (await engine.status())["pending"] == 0
            with index_of(engine) as index:
                assert len(index.generations()) == 1
            assert await engine.problems() == {}


async def test_a_generation_is_not_built_from_what_is_left(toy_world: World) -> None:
    """Another model is chosen while the disk is away."""
    for number in range(60):
        toy_world.write(f"crowd/n{number}.md", f"uniqueword{number}")
    async with toy_world.engine():
        pass
    away = toy_world.root.with_name("away")
    toy_world.root.rename(away)
    async with toy_world.engine(embedder=EmbedderConfig("toy", "other")) as engine:
        assert await found(engine, "uniqueword9", mode="keyword") == ["crowd/n9.md"]
        assert "index" in await engine.problems()
        away.rename(toy_world.root)
        await engine.sweep()
        await until(engine, lambda status: status["model_state"] == "ready")
        assert (await engine.status())["notes"] == 60
        assert await found(engine, "uniqueword9", mode="semantic")
        assert await engine.problems() == {}


async def test_an_interrupted_build_leaves_no_ghosts(toy_world: World) -> None:
    for number in range(3):
        toy_world.write(f"n{number}.md", f"violet {number}")
    async with toy_world.engine():
        pass
    with indexed_vault(toy_world) as room:
        half = room.index.begin(room.writer.fingerprint("toy other"), "toy other", 64)
        file = room.vault.read(NotePath("n1.md"))
        room.index.apply(half.number, [to_upsert(file.record, file.text, file.body_start, ChunkingConfig())])
    (toy_world.root / "n1.md").unlink()
    async with toy_world.engine(embedder=EmbedderConfig("toy", "other")) as engine:
        assert sorted(await found(engine, "violet")) == ["n0.md", "n2.md"]
        assert len(records(engine)) == 2


async def test_reindex_trusts_nothing_but_the_bytes(toy_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    toy_world.write("a.md", "violet")
    async with toy_world.engine() as engine:
        spoken = len(OPENING.toy.texts)
        assert spoken >= 1
        answer = await engine.perform("reindex", {})
        assert (answer["notes"], answer["reindexed"], answer["embedded"]) == (1, 0, 0)
        assert len(OPENING.toy.texts) == spoken
        await eventually(lambda: _quiet(engine))
        listing = toy_world.vault().list()
        toy_world.write("a.md", "indigo")
        monkeypatch.setattr(Vault, "list", lambda _: listing)  # a change that no signature shows
        assert (await engine.sweep())["changed"] == 0
        assert (await engine.perform("reindex", {}))["reindexed"] == 1
        assert [hit.path for hit in (await engine.search("indigo", mode="keyword")).hits] == ["a.md"]


# -- an index that is lost while it is in use --------------------------------------------------------------------------


@pytest.mark.parametrize("harm", ["folder deleted", "file deleted", "overwritten"])
async def test_an_index_lost_while_running_is_rebuilt(toy_world: World, harm: str) -> None:
    world = toy_world
    async with world.engine(watching=True) as engine:
        before = await engine.append("the ferry leaves at nine")
        if harm == "folder deleted":
            shutil.rmtree(world.state / "index")
        for file in (world.state / "index").glob("index.db*"):
            if harm == "file deleted":
                file.unlink()
            else:
                file.write_bytes(os.urandom(file.stat().st_size))

        async def whole() -> bool:
            try:
                result = await engine.search("ferry", mode="semantic")
            except McpMemoryError:
                return False  # the call that meets the damage
            return before.path in [hit.path for hit in result.hits] and result.degraded is None

        await eventually(whole)
        await engine.append("the bus leaves at ten")
        await embedded(engine)


async def test_bytes_that_mean_something_else_now_are_written_again(world: World) -> None:
    """A note's twin has the same bytes; forgetting the note hides it too, although its file stays as it was."""
    async with world.engine() as engine:
        receipt = await engine.append("the violet teapot is cracked", kind="fact")
        (world.root / "twin.md").write_bytes(world.read(receipt.path))
        await engine.sweep()
        assert await found(engine, "violet")
        await engine.forget(receipt.path)
        assert await found(engine, "violet") == []
