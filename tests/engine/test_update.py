"""One note, changed: the text of a note or entry replaced, and no other byte."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mcp_memory.errors import InvalidInput, NotFound, PreconditionFailed, Refused
from mcp_memory.models import Outcome
from mcp_memory.text.markdown import frontmatter
from tests.support.world import NOON, World, found

pytestmark = pytest.mark.anyio

HAND_MADE = (
    b"\xef\xbb\xbf---\r\n# mine\r\nid:   'K1'   # keep\r\ntags: [ a,b ]\r\n---\r\n"
    b"\r\nThe kettle is red.\r\nCaf\xe9.\r\n"
)


async def test_a_body_goes_in_below_the_head_that_is_there(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("The port is 8087.\n", kind="fact", tags=["billing"])
        before = world.read(note.path)
        world.later(hours=1)
        edited = await engine.update(note.id, "The port is 8090.", expected=note.etag)
        assert (edited.outcome, edited.id, edited.path) == (Outcome.UPDATED, note.id, note.path)
        assert await found(engine, "8090") == [note.path]
        assert await found(engine, "8087") == []
        meta = frontmatter.parse(world.read(note.path).decode()).meta
        assert meta["updated"] == NOON + timedelta(hours=1)
        assert meta["title"] == "The port is 8090.", "the title was taken from the text"
        rest = world.read(note.path).replace(b"updated: 2026-11-21T13:00:00+00:00\n", b"").replace(b"8090", b"8087")
        assert rest == before
        again = await engine.update(note.id, "The port is 8090.", expected=note.etag)
        assert (again.outcome, again.etag) == (Outcome.UNCHANGED, edited.etag), "an answer that was lost is asked again"


async def test_nothing_is_written_over_another_programs_change(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("The port is 8087.", kind="fact")
        changed = world.read(note.path) + b"Their line.\n"
        world.write(note.path, changed)
        with pytest.raises(PreconditionFailed, match="has changed since"):
            await engine.update(note.id, "The port is 8090.", expected=note.etag)
        assert world.read(note.path) == changed


async def test_no_other_byte_changes(world: World) -> None:
    world.with_home("").write("notes/kettle.md", HAND_MADE)
    async with world.engine() as engine:
        read = await engine.perform("update", {"target": "notes/kettle.md"})
        assert read["text"].encode("utf-8", "surrogateescape") == HAND_MADE
        again = await engine.perform("update", {"target": "notes/kettle.md", "text": read["text"]})
        assert (again["outcome"], world.read("notes/kettle.md")) == ("unchanged", HAND_MADE)
        unix = read["text"].replace("\r\n", "\n").removeprefix(frontmatter.BOM).replace("red", "blue")
        await engine.perform("update", {"target": "notes/kettle.md", "text": unix, "expected": read["etag"]})
        changed = HAND_MADE.replace(b"red", b"blue")
        changed = changed.replace(b"# keep\r\n", b"# keep\r\nupdated: 2026-11-21T12:00:00+00:00\r\n")
        assert world.read("notes/kettle.md") == changed


async def test_a_file_of_yours_gets_no_head(world: World) -> None:
    world.with_home("Agent").write("mine.md", "Milk\n")
    async with world.engine() as engine:
        await engine.update("mine.md", "Milk and tea")
        assert world.read("mine.md") == b"Milk and tea\n"


async def test_one_entry_of_a_log_is_changed(world: World) -> None:
    async with world.engine() as engine:
        first = await engine.append("Deployed to staging.", kind="log", title="Deploy", project="shop", tags=["ops"])
        await engine.append("Tea.", kind="log")
        edited = await engine.update(first.id, "Deployed to production.\n\n- 3 pods")
        assert edited.id != first.id
        assert world.read(first.path) == (
            b"# 2026-11-21\n\n## 12:00 Deploy (project: shop; tags: ops)\n\nDeployed to production.\n\n- 3 pods\n\n"
            b"## 12:00\n\nTea.\n"
        )
        assert set(await found(engine, "production", project="shop", tags=["ops"])) == {first.path}
        again = await engine.update(first.id, "Deployed to production.\n\n- 3 pods")
        assert (again.outcome, again.id) == (Outcome.UNCHANGED, edited.id)
        with pytest.raises(NotFound, match="no entry"):
            await engine.update(first.id, "Something else.")
        for wrong in ("## 09:00 One\n\n## 10:00 Two", "Text\n\n```\nopen"):
            with pytest.raises(InvalidInput, match="not one entry"):
                await engine.update(edited.id, wrong)
        before = world.read(first.path)
        assert await engine.lost() == []
        world.write(first.path, b"# 2026-11-21\n\n## 12:00\n\nTea.\n")
        (lost,) = await engine.lost()
        assert lost["id"] == edited.id, "a stale save removed the entry as it was after the edit"
        await engine.perform("recover", {"ids": [lost["id"]]})
        assert set(world.read(first.path).split()) == set(before.split())


async def test_what_no_edit_may_do(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("The port is 8087.", kind="fact")
        before = world.read(note.path)
        for text, error in (
            (" \n", "empty"),
            (before.decode().replace(note.id, "01AAAAAAAAAAAAAAAAAAAAAAAA"), "id was changed"),
            (before.decode().replace("kind: fact", "kind: [fact"), "frontmatter"),
            ("a\x00b", "U\\+0000"),
        ):
            with pytest.raises(InvalidInput, match=error):
                await engine.update(note.id, text)
        with pytest.raises(Refused, match="secret"):
            await engine.update(note.id, "The key is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
        await engine.forget(note.id)
        with pytest.raises(NotFound, match="forgotten"):
            await engine.update(note.path, "The port is 8090.")
        with pytest.raises(Refused, match="read-only source"):
            await engine.update("@team/x.md", "Mine.")


async def test_an_archived_note_is_found_only_when_asked_for(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append("The kettle is red.", kind="fact")
        before = world.read(note.path)
        for _ in range(2):
            answer = await engine.perform("forget", {"target": note.id, "archive": True})
            assert (answer["id"], answer["status"]) == (note.id, "archived")
            assert await found(engine, "kettle") == []
            assert await found(engine, "kettle", include_archived=True) == [note.path]
        assert world.read(note.path) == before.replace(b"kind: fact\n", b"kind: fact\nstatus: archived\n")
        for _ in range(2):
            answer = await engine.perform("restore", {"target": note.id})
            assert (answer["status"], world.read(note.path)) == ("active", before)
        assert await found(engine, "kettle") == [note.path]
        entry = await engine.append("Tea.", kind="log")
        with pytest.raises(InvalidInput, match="no archive"):
            await engine.forget(entry.id, archive=True)
        await engine.forget(note.id)
        with pytest.raises(NotFound, match="forgotten"):
            await engine.forget(note.path, archive=True)
