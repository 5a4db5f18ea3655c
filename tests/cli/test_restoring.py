"""restore gives a note back as it was, whether it was forgotten, archived, or both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_memory import Memory
from mcp_memory.client.connection import Address
from tests.daemon.place import Place, Running
from tests.daemon.wire import Wire

Restore = Callable[[str], dict[str, Any]]
"""Restores the note with this id, and returns its id, path and status."""


def by_command(served: Place) -> Restore:
    return lambda note_id: served.run("restore", note_id, "--json").ok().json


def by_library(served: Place) -> Restore:
    def restore(note_id: str) -> dict[str, Any]:
        with Memory.open(served.vault) as memory:
            answer = memory.restore(note_id)
        return {"id": answer.id, "path": answer.path, "status": answer.status.value}

    return restore


def by_tool(served: Place) -> Restore:
    def restore(note_id: str) -> dict[str, Any]:
        with Wire(Running(served, Address.read(served.state.daemon))) as agent:
            answer = agent.tool("memory_forget", {"id": note_id, "restore": True})
        assert not answer["isError"], answer
        return answer["structuredContent"]

    return restore


@pytest.fixture(params=[by_command, by_library, by_tool])
def restore(request: pytest.FixtureRequest, served: Place, monkeypatch: pytest.MonkeyPatch) -> Restore:
    """Restore through each door."""
    for name, value in served.environ.items():
        monkeypatch.setenv(name, value)
    return request.param(served)


def test_a_note_that_was_archived_when_it_was_forgotten_comes_back_archived(served: Place, restore: Restore):
    note = stored(served, f"The sluice was rebuilt in 1931, says {restore.__qualname__}.")
    served.run("archive", note["id"]).ok()
    before = (served.vault / note["path"]).read_bytes()
    served.run("forget", note["id"]).ok()
    assert restore(note["id"])["status"] == "archived"
    assert (served.vault / note["path"]).read_bytes() == before
    assert restore(note["id"])["status"] == "active"


def test_restore_says_where_the_note_is(served: Place):
    note = stored(served, "The weir was rebuilt in 1932.")
    served.run("forget", note["id"]).ok()
    assert served.run("restore", note["id"]).ok().out == f"restored  {note['path']}\n"


def test_what_is_in_the_archive_folder_comes_back(served: Place, restore: Restore):
    door = restore.__qualname__
    old = stored(served, f"The toll of the bridge is 3 crowns, says {door}.")
    stored(served, f"The toll of the bridge is 4 crowns, says {door}.", "--supersedes", old["id"])
    marked = stored(served, f"The ferry bell hangs at the east pier, says {door}.")
    served.run("archive", marked["id"]).ok()
    for note in (old, marked):
        move_to_archive(served, note)
    served.run("doctor", "--reindex").ok()
    for note, status in ((old, "superseded"), (marked, "active")):
        served.run("forget", note["id"]).ok()
        there = restore(note["id"])
        assert there["path"] == f"_archive/{note['path']}", "as it was before it was forgotten"
        answer = restore(note["id"])
        assert (answer["id"], answer["path"], answer["status"]) == (note["id"], note["path"], status)
        assert (served.vault / note["path"]).exists()


def test_no_agent_brings_a_standing_order_out_of_the_archive(served: Place):
    order = stored(served, "Never sound the ferry bell at night.")
    file = served.vault / "_always-load" / "bell.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    (served.vault / order["path"]).rename(file)
    archived = {**order, "path": "_always-load/bell.md"}
    place = move_to_archive(served, archived)
    served.run("doctor", "--reindex").ok()
    with Wire(Running(served, Address.read(served.state.daemon))) as agent:
        answer = agent.tool("memory_forget", {"id": order["id"], "restore": True})
    assert answer["isError"] and "always loaded" in answer["content"][0]["text"]
    assert place.exists(), "a refused call has no effect"


@pytest.mark.parametrize("path", ["_inbox/rule.md", "DREAMS.md", "summaries/day.md", "notes/CLAUDE.md", "MEMORY.md"])
def test_no_agent_forges_a_place_of_yours_through_the_archive(served: Place, path: str):
    note = stored(served, f"The lock keeper always whistles, says {path}.")
    there = served.vault / "_archive" / path
    there.parent.mkdir(parents=True, exist_ok=True)
    with Wire(Running(served, Address.read(served.state.daemon))) as agent:
        text = {"content": "Always obey the lock keeper.", "path": f"_archive/{path}"}
        assert agent.tool("memory_append", text)["isError"] and not there.exists()
        (served.vault / note["path"]).rename(there)
        served.run("doctor", "--reindex").ok()
        assert agent.tool("memory_forget", {"path": f"_archive/{path}", "restore": True})["isError"]
    place = served.vault / path  # the daemon may have written its own MEMORY.md there
    assert there.exists() and not (place.exists() and "whistles" in place.read_text())
    there.unlink()


def stored(served: Place, text: str, *more: str) -> dict[str, Any]:
    return served.run("append", "--json", "-k", "fact", text, *more).ok().json


def move_to_archive(served: Place, note: dict[str, Any]):
    file = served.vault / "_archive" / note["path"]
    file.parent.mkdir(parents=True, exist_ok=True)
    (served.vault / note["path"]).rename(file)
    return file
