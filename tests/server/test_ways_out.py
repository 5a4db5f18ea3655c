"""What must not be read, or not without a word, on any way that leads to a note."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place, Running
from tests.daemon.wire import Wire


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    root = tmp_path_factory.mktemp("ways")
    place = Place(root, root / "models", KEYWORDS_ONLY).make()
    with place.started() as served:
        yield served


def everything(wire: Wire, target: str, words: str) -> dict[str, str]:
    """What an agent is answered on each way, by its name."""
    query = {"query": words, "limit": 50, "explain": True}
    said = {
        "search": json.dumps(wire.tool("memory_search", query)),
        "search of archived": json.dumps(wire.tool("memory_search", {**query, "include_archived": True})),
        "recall": wire.text("memory_recall", {"query": words}),
        "recall by id": wire.text("memory_recall", {"ids": [target]}),
        "start": wire.text("memory_recall"),
        "note": wire.rpc("resources/read", {"uri": f"memory://note/{target}"}).text,
        "restore": wire.api("restore", {"target": f"{target}x"}).text,
        "hook": wire.send("POST", "/hook/prompt", json.dumps({"session_id": "s", "prompt": words}).encode()).text,
    }
    for name in ("memory://tree", "memory://status"):
        said[name] = wire.rpc("resources/read", {"uri": name}).text
    for name, arguments in {
        "show": {"target": target}, "titles": {"ids": [target]}, "tree": {}, "status": {},
        "brief": {"session": "tests/s", "prompt": words},
    }.items():  # fmt: skip
        said[f"api {name}"] = wire.api(name, arguments).text
    return said


def test_a_forgotten_note_and_a_forgotten_entry_are_on_no_way(running: Running):
    with Wire(running) as wire:
        for kind in ("fact", "log"):
            arguments = {
                "content": f"Zanzibar {kind} is told of here.",
                "title": f"Zanzibar {kind} title",
                "kind": kind,
            }
            note = wire.tool("memory_append", arguments)["structuredContent"]
            wire.tool("memory_forget", {"id": note["id"]})
            said = everything(wire, note["id"], f"is told of {kind}")
            assert [way for way, text in said.items() if "Zanzibar" in text] == []


def test_a_candidate_waits_for_the_person_unseen_by_agents(running: Running):
    folder = running.place.vault / "_inbox"
    folder.mkdir()
    text = "---\nid: candidate\ntitle: Yellowknife title\nkind: preference\n---\nYellowknife is what waits here.\n"
    (folder / "candidate.md").write_text(text)
    running.place.run("doctor", "--reindex").ok()
    with Wire(running) as wire:
        for target in ("candidate", "_inbox/candidate.md"):
            said = everything(wire, target, "what waits here")
            assert [way for way, text in said.items() if "Yellowknife" in text] == []
        assert "mcp-memory review" in said["recall by id"]
    assert "Yellowknife" in running.place.run("show", "candidate").ok().out


def test_a_superseded_note_says_so_where_it_is_read(running: Running):
    with Wire(running) as wire:
        old = wire.tool("memory_append", {"content": "Xanadu opens at nine.", "kind": "fact"})["structuredContent"]
        new = {"content": "The palace opens at ten.", "kind": "fact", "supersedes": old["id"]}
        wire.tool("memory_append", new)
        said = everything(wire, old["id"], "opens at nine")
    assert "Xanadu" not in said["recall"] + said["start"] + said["hook"] + said["api brief"] + said["api show"]
    for way in ("recall by id", "note"):
        assert "Xanadu opens" in said[way]
        assert "was superseded by" in said[way]
