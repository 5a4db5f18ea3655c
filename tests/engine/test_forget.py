"""Forget and restore: exact to the byte, for notes and for single log entries."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcp_memory.errors import IndexUnavailable, InvalidInput, NotFound, Refused
from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from mcp_memory.models import NoteState
from mcp_memory.text.markdown import frontmatter
from tests.support.world import NOON, World, found, index_of, more, vault_in

PATH = "notes/note.md"


keys = st.sampled_from(["title", "tags", "status", "my key", "# comment", "deleted_at", "updated", "x"])
values = st.sampled_from(
    ["plain", '"quoted"', "'it''s'", "[a, b]  # why", "", "2026-01-01", "|\n  block\n  text", "{a: 1}"]
)
heads = st.lists(st.tuples(keys, values), max_size=5, unique_by=lambda pair: pair[0]).map(
    lambda pairs: "".join(f"{key}: {value}\n" for key, value in pairs)
)
bodies = st.binary(max_size=60) | st.sampled_from(
    [b"", b"\n\n", b"tea", b"---\nid: x\n---\n", b"a\r\nb\rc\n", b"\xff\xfe tea"]
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    head = draw(st.none() | heads)
    text = "" if head is None else f"---\nid: 01MINE\n{head}---\n"
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    bom = b"\xef\xbb\xbf" if draw(st.booleans()) else b""
    return bom + text.encode() + draw(bodies)


@pytest.mark.parametrize("undo_lost", [False, True])
@settings(max_examples=more(40), deadline=None)
@given(data=files())
@example(data=b"")
@example(data=b"---\n---\n")
@example(data=b"\xef\xbb\xbf---\r\nid: 01MINE\r\n---")
@example(data=b"---\nid: 01MINE # mine\n\n# a comment\nstatus:   active   # why\n---\nbody  \n\n")
def test_any_bytes_come_back(undo_lost: bool, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        vault = vault_in(folder)
        file = folder / "vault" / PATH
        file.parent.mkdir()
        file.write_bytes(data)
        vault.provenance.adopt(vault.read(PATH))
        try:
            forgotten = vault.forget(PATH, None, "because")
        except (InvalidInput, Refused):
            assert file.read_bytes() == data  # no text, or a head that nobody can change safely: refused, untouched
            return
        assert forgotten.record.state is NoteState.DELETED
        assert _body(file.read_bytes()) == _body(data)
        assert vault.forget(PATH).record.etag == forgotten.record.etag
        if undo_lost:
            shutil.rmtree(folder / "undo")
            (folder / "undo").mkdir()
        restored = vault.restore(PATH)
        if not undo_lost or _invertible(data):
            assert file.read_bytes() == data
        assert restored.record.state is not NoteState.DELETED
        assert _body(file.read_bytes()) == _body(data)


def _body(data: bytes) -> bytes:
    text = data.decode("utf-8", "surrogateescape")
    return text[frontmatter.parse(text).body_start :].encode("utf-8", "surrogateescape").removeprefix(b"\xef\xbb\xbf")


def _invertible(data: bytes) -> bool:
    """The marks can only be taken out again where the keys that they set were not there, nor a head to be emptied."""
    text = data.decode("utf-8", "surrogateescape")
    head = frontmatter.split_head(text)
    has_any = not {"status", "deleted_at", "deleted_because"}.isdisjoint(frontmatter.parse(text).meta)
    return not has_any and (not head.exists or bool(text[head.start : head.end].strip()))


@pytest.mark.anyio
class TestThroughTheEngine:
    async def test_a_forgotten_note_is_nowhere_and_comes_back(self, world: World) -> None:
        async with world.engine() as engine:
            receipt = await engine.append("The canary sings at dawn", kind="fact", tags=["bird"])
            before = world.files()
            assert (await engine.forget(receipt.id, reason="it was a parrot")).status == "deleted"
            assert await found(engine, "canary dawn", include_archived=True) == []
            for look in (engine.recall(ids=[receipt.id]), engine.recall(path=receipt.path)):
                with pytest.raises(NotFound, match="was forgotten"):
                    await look
            assert "canary" not in await engine.recall("canary")
            assert b"canary sings" in world.read(receipt.path)
            assert b"deleted_because: it was a parrot" in world.read(receipt.path)
            await engine.forget(receipt.id, restore=True)
            assert world.files() == before
            assert await found(engine, "canary") == [receipt.path]

    async def test_also_after_a_restart_without_the_index(self, world: World) -> None:
        async with world.engine() as engine:
            receipt = await engine.append("The canary sings at dawn", kind="fact")
            before = world.files()
            await engine.forget(receipt.id)
        shutil.rmtree(world.state / "index")
        async with world.engine() as engine:
            assert await found(engine, "canary", include_archived=True) == []
            await engine.forget(receipt.id, restore=True)
            assert world.files() == before

    async def test_what_was_changed_since_keeps_the_change(self, world: World) -> None:
        async with world.engine() as engine:
            receipt = await engine.append("The canary sings", kind="fact")
            await engine.forget(receipt.id)
            file = world.root / receipt.path
            file.write_bytes(file.read_bytes() + b"At noon, too.\n")
            await engine.forget(receipt.path, restore=True)
            assert file.read_bytes().endswith(b"The canary sings\nAt noon, too.\n")
            assert b"deleted" not in file.read_bytes()
            assert await found(engine, "noon") == [receipt.path]

    async def test_a_superseded_note_stays_superseded(self, world: World) -> None:
        async with world.engine() as engine:
            old = await engine.append("Tea at four", kind="fact")
            await engine.append("Tea at five", kind="fact", supersedes=old.id)
            before = world.files()
            await engine.forget(old.id)
            assert (await engine.forget(old.id, restore=True)).status == "superseded"
        assert world.files() == before

    async def test_a_reason_is_one_line(self, world: World) -> None:
        async with world.engine() as engine:
            receipt = await engine.append("Tea at four", kind="fact")
            with pytest.raises(InvalidInput, match="reason must be one line"):
                await engine.forget(receipt.id, reason="a\nstatus: active")

    async def test_while_an_editor_saves(self, world: World) -> None:
        """Each save is in the file or was there when it was forgotten; no mark is lost."""
        async with world.engine() as engine:
            receipt = await engine.append("Tea at four", kind="fact")
            file = world.root / receipt.path
            original = file.read_bytes()

            def edit() -> None:
                for number in range(30):
                    draft = file.with_name(".editor")
                    draft.write_bytes(file.read_bytes() + f"save {number}\n".encode())
                    draft.replace(file)

            saving = asyncio.get_running_loop().run_in_executor(None, edit)
            for _ in range(5):
                await engine.forget(receipt.path)
                await engine.forget(receipt.path, restore=True)
            await saving
            saved = b"".join(each.read_bytes() for each in (world.root / "notes").rglob("*.md"))
            assert original.split(b"---\n")[-1] in saved
            assert b"save 29" in saved


@pytest.mark.anyio
class TestLogEntries:
    async def test_one_entry_is_hidden_with_all_its_words(self, world: World) -> None:
        async with world.engine() as engine:
            ids = [(await engine.append(words, kind="log", title=words.title())).id for words in ENTRIES]
            log = f"memory/{NOON.date()}.md"
            before = world.read(log)
            await engine.forget(ids[1])
            for ask in ("canary", "dawn canary singing"):
                hits = (await engine.search(ask, limit=50)).hits
                assert not [hit for hit in hits if "canary" in hit.snippet.lower()]
            told = [
                await engine.recall("canary"), await engine.recall(path=log), await engine.recall(),
                await engine.recall(ids=[ids[0], ids[2]]), await engine.recall(path=log, lines="1-99"),
            ]  # fmt: skip
            assert not [text for text in told if "canary" in text.lower()]
            assert "postman" in told[1]
            for gone in (engine.recall(ids=[ids[1]]), engine.recall(path=ids[1])):
                with pytest.raises(NotFound):
                    await gone
            # The neighbours are still there, and the lines are named as they are in the file.
            text = world.read(log).decode().split("\n")
            with index_of(engine) as index:
                for passage in index.passages(log):
                    assert text[passage.chunk.start_line - 1] == passage.chunk.text.split("\n")[0]
            assert world.read(log).endswith(before[-40:])
            await engine.forget(ids[1], restore=True)
            assert world.read(log) == before
            assert (await engine.search("canary")).hits[0].id == ids[1]

    async def test_two_and_back_in_another_order(self, world: World) -> None:
        async with world.engine() as engine:
            ids = [(await engine.append(words, kind="log")).id for words in ENTRIES]
            before = world.files()
            for entry in (ids[0], ids[2], ids[0]):
                await engine.forget(entry)
            for entry in (ids[0], ids[2], ids[2]):
                await engine.forget(entry, restore=True)
        assert world.files() == before

    async def test_forgotten_words_can_be_said_again(self, world: World) -> None:
        async with world.engine() as engine:
            first = await engine.append("The canary sings", kind="log")
            await engine.forget(first.id)
            again = await engine.append("The canary sings", kind="log")
            assert again.outcome == "created"
            assert (await engine.search("canary")).hits[0].id == again.id
            await engine.forget(again.id)
            world.later(minutes=3)
            third = await engine.append("The canary sings", kind="log")
            assert [hit.id for hit in (await engine.search("canary")).hits] == [third.id]
            assert third.id != first.id

    async def test_a_whole_log_is_not_forgotten(self, world: World) -> None:
        async with world.engine() as engine:
            receipt = await engine.append("The canary sings", kind="log")
            for restore in (False, True):
                with pytest.raises(InvalidInput, match="path#hash"):
                    await engine.forget(receipt.path, restore=restore)


ENTRIES = ("the postman came early", "the canary sings at dawn", "the milkman came late")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("operation", "is_entry"),
    [*product(["forget", "restore", "undo"], [False, True]), ("archive", False)],
)
async def test_what_is_done_is_answered_as_done_while_the_index_fails(
    world: World, operation: str, is_entry: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.engine() as engine:
        note = await engine.append("Tea at four", kind="log" if is_entry else "fact")
        if operation == "restore":
            await engine.forget(note.id)

        def fail(*_: object) -> int:
            raise IndexUnavailable("the index cannot be used: the disk is full")

        with monkeypatch.context() as faulty:
            faulty.setattr(SqliteIndex, "apply", fail)
            if operation == "undo":
                answer = await engine.perform("undo", {"target": note.id, "sure": True})
                assert [step["why"] for step in answer["steps"]] == [""]
            elif operation == "archive":
                await engine.forget(note.id, archive=True)
            else:
                answer = await engine.perform(operation, {"target": note.id})
                assert answer["status"] == {"forget": "deleted", "restore": "active"}[operation]
                assert "the disk is full" in answer["behind"]
            assert await found(engine, "tea") == []
        await engine.sweep()
        assert await found(engine, "tea") == ([note.path] if operation == "restore" else [])
        again = await engine.perform("restore", {"target": note.id})
        assert "behind" not in again and await found(engine, "tea") == [note.path]
