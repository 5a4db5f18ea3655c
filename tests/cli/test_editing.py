"""edit and archive, as someone types them."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.errors import Refused
from tests.daemon.place import Place


def with_editor(place: Place, script: str) -> Place:
    """Someone whose editor runs this script with the file as `$1`."""
    editor = place.root / "editor.sh"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    editor.chmod(0o700)
    return replace(place, more={**place.more, "EDITOR": str(editor)})


@pytest.mark.parametrize("with_daemon", [True, False], ids=["daemon", "alone"])
def test_an_edit_and_the_way_back_from_the_archive(place: Place, with_daemon: bool):
    with place.started() if with_daemon else nullcontext():
        note = place.run("append", "--json", "-k", "fact", "The weir is closed in May.").ok().json
        file = place.vault / note["path"]
        person = with_editor(place, 'sed -i "s/May/June/" "$1"')
        assert person.run("edit", note["id"]).ok().out == f"updated  {note['path']}  {note['id'][-6:]}\n"
        assert "The weir is closed in June." in file.read_text()
        assert person.run("edit", note["path"]).ok().out.startswith("unchanged  ")
        hits = place.run("search", "--json", "weir June").ok().json["hits"]
        assert [hit["path"] for hit in hits] == [note["path"]]

        before = file.read_bytes()
        archived = place.run("archive", note["id"]).ok().out
        assert archived == f"archived  {note['path']}\n  → mcp-memory restore {note['id'][-6:]}\n"
        assert place.run("search", "--json", "weir").ok().json["hits"] == []
        assert place.run("search", "--json", "--archived", "weir").ok().json["hits"]
        assert place.run("restore", note["id"]).ok().out == f"restored  {note['path']}\n"
        assert file.read_bytes() == before
        assert place.run("archive").ok().out == "nothing is ready for _archive/\n"
        assert place.run("archive", "--all", note["id"]).code == 2

        moved = place.vault / "_archive" / note["path"]
        moved.parent.mkdir(parents=True)
        file.rename(moved)
        place.run("doctor", "--reindex").ok()
        assert place.run("search", "--json", "weir").ok().json["hits"] == []
        assert place.run("restore", "weir", "closed").ok().out == f"restored  {note['path']}\n"
        assert file.read_bytes() == before and not moved.exists()


def test_an_edit_that_met_another_change_is_kept_and_can_be_repeated(served: Place):
    note = served.run("append", "--json", "-k", "fact", "The sluice is green.").ok().json
    file = served.vault / note["path"]
    person = with_editor(served, f'sed -i s/green/red/ "$1"; echo "Oiled." >> "{file}"')
    met = person.run("edit", note["id"])
    assert met.code == 6
    kept = Path(re.findall(r"your text is in (\S+)", met.err)[0])
    assert "The sluice is red." in kept.read_text()
    assert file.read_text().endswith("The sluice is green.\nOiled.\n")
    assert f"mcp-memory edit {note['id']} < {kept}" in met.err
    served.run("edit", note["id"], stdin=kept.read_bytes()).ok()
    assert file.read_text().endswith("The sluice is red.\n")
    failed = with_editor(served, "exit 1").run("edit", note["id"])
    assert (failed.code, "Nothing was changed" in failed.err) == (2, True)
    stale = served.run("edit", note["id"], "--expected", note["etag"], "--json", stdin=b"The sluice is blue.\n")
    assert (stale.code, stale.json["code"]) == (6, "precondition_failed")
    assert served.run("edit", note["id"], stdin=b" \n").code == 2
    assert served.run("edit", "notes/fact/none.md", stdin=b"Text\n").code == 4


def test_one_entry_is_edited_alone(served: Place):
    entry = served.run("append", "--json", "-k", "log", "--title", "Walk", "Along the canal.").ok().json
    log = served.vault / entry["path"]
    before = log.read_text()
    edited = served.run("edit", entry["id"], "--json", stdin=b"Along the river.").ok().json
    assert log.read_text() == before.replace("canal", "river")
    shown = with_editor(served, f'cp "$1" "{served.root}/shown.md"')
    shown.run("edit", edited["id"]).ok()
    assert re.fullmatch(r"## \d\d:\d\d Walk\n\nAlong the river.\n", (served.root / "shown.md").read_text())


def test_agents_change_notes_with_the_tools_alone(served: Place):
    note = served.run("append", "--json", "-k", "fact", "The lock keeper is Ada.").ok().json
    agent = DaemonConnection(Address.read(served.state.daemon), served.credentials, client="agent")
    with pytest.raises(Refused):
        agent.call("update", {"target": note["id"], "text": "The lock keeper is Bob."})
    answer = agent.call("forget", {"target": note["id"], "archive": True})
    assert answer["status"] == "archived"


def test_your_own_folders_are_written_only_after_a_yes(served: Place):
    own = served.vault / "Projects" / "house.md"
    refused = served.run("edit", "--new", "Projects/house.md", stdin=b"The roof is slate.")
    assert (refused.code, "--yes" in refused.err, own.exists()) == (5, True, False)
    made = served.run("edit", "--new", "Projects/house.md", "--yes", stdin=b"The roof is slate.").ok().out
    assert made.startswith("created  Projects/house.md")
    assert own.read_text() == "The roof is slate."
    refused = served.run("edit", "Projects/house.md", stdin=b"The roof is tin.")
    assert (refused.code, "Projects/house.md" in refused.out + refused.err) == (5, True)
    assert own.read_text() == "The roof is slate."
    served.run("edit", "Projects/house.md", "--yes", stdin=b"The roof is tin.").ok()
    assert own.read_text().strip() == "The roof is tin."
    taken = served.run("edit", "--new", "Projects/house.md", "--yes", stdin=b"The roof is gold.")
    assert taken.code == 1
    unasked = served.run("edit", "--new", "Projects/house.md", stdin=b"The roof is gold.")
    assert "Projects/house.md exists" in unasked.err
    assert "Write it?" not in unasked.out + unasked.err
    assert "Traceback" not in taken.err
    served.run("undo", "--yes").ok()
    assert own.read_text() == "The roof is slate."
    outside = served.run("edit", "--new", "../house.md", "--yes", stdin=b"x")
    assert outside.code != 0
    assert not (served.vault.parent / "house.md").exists()


def test_an_agent_creates_no_file_in_your_folders(served: Place):
    agent = DaemonConnection(Address.read(served.state.daemon), served.credentials, client="agent")
    with pytest.raises(Refused):
        agent.call("update", {"target": "Projects/house.md", "text": "Mine now.", "create": True})


def test_a_plan_is_replaced_by_append_with_its_etag(place: Place):
    with place.started():
        path = "projects/kite/plan.md"
        made = place.run("append", "--json", "--path", path, "Sew the sail first.").ok().json
        shown = place.run("recall", "--path", path).ok().out
        etag = re.findall(r"etag=(\w+)", shown)[0]
        agent = DaemonConnection(Address.read(place.state.daemon), place.credentials, client="agent")
        changed = agent.call("append", {"content": "Buy the rope first.", "path": path, "etag": made["etag"]})
        assert (changed["outcome"], changed["id"]) == ("updated", made["id"])
        assert place.run("append", "--path", path, "--etag", etag, "Fly it first.").code == 6
        place.run("append", "--path", path, "--etag", changed["etag"], "Fly it first.").ok()
        assert "Fly it first." in place.run("show", path).ok().out
