"""What clients changed, as a person sees it, and the way back."""

from __future__ import annotations

import pytest

from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.errors import Refused
from tests.daemon.place import Place


def test_a_person_sees_what_two_clients_did_and_takes_one_back(served: Place):
    address = Address.read(served.state.daemon)
    codex, claude = (DaemonConnection(address, served.credentials, client=name) for name in ("codex", "claude"))
    kept = codex.call("append", {"content": "The lighthouse has 214 steps.", "kind": "fact", "session": "c-1"})
    gone = claude.call("append", {"content": "The lighthouse is blue.", "kind": "fact", "session": "c-2"})
    entry = claude.call("append", {"content": "Painted the lighthouse", "kind": "log", "session": "c-2"})
    served.run("edit", kept["id"], stdin=b"The lighthouse has 217 steps.").ok()
    claude.call("forget", {"target": kept["id"], "session": "c-2"})

    out = served.run("changes", "--limit", "5").ok().out
    lines = [line for line in out.splitlines() if "  " in line]
    assert [line.split()[1] for line in lines] == ["forgotten", "edited", "stored", "stored", "stored"]
    assert "The lighthouse has 217 steps. (notes/fact/" in lines[0]
    assert [line.split("  ")[-2] for line in lines] == [
        "claude, session c-2", "you", "claude, session c-2", "claude, session c-2", "codex, session c-1",
    ]  # fmt: skip
    assert "Painted the lighthouse" in lines[2]
    assert "no changes are recorded" in served.run("changes", "--client", "nobody").ok().out

    wanted = ("undo", "--session", "c-2")
    preview = served.run(*wanted)
    assert preview.code == 5
    assert [line.split("  ")[-2] for line in preview.out.splitlines()] == [
        "will be active again", "will be forgotten", "will be forgotten"
    ]  # fmt: skip
    assert served.run(*wanted, "--json").code == 5
    assert kept["id"] not in served.run("search", "lighthouse").ok().out
    undone = served.run(*wanted, "--yes").ok().out
    assert "3 changes undone" in undone and "undone: stored  The lighthouse is blue." in undone
    page = served.run("topics", "organize").ok().out.splitlines()[0]
    assert page not in served.run("changes").ok().out, "it is made anew"
    for command, kind in (("forget", "forgotten"), ("restore", "restored")):
        assert served.run(command, page).ok().out and kind in served.run("changes", "--limit", "1").ok().out
    assert "nothing to undo" in served.run(*wanted).ok().out
    found = served.run("search", "lighthouse").ok().out
    assert "217 steps" in found
    assert gone["path"] not in found
    assert entry["path"] not in found
    edited = lines[1].split()[-1]
    served.run("undo", edited, "--yes").ok()
    assert "214 steps" in served.run("search", "lighthouse").ok().out
    changed = [change for change in served.run("changes", "--json").ok().json["changes"] if change["undoes"] == edited]
    assert [change["client"] for change in changed] == ["cli"]
    assert "(undone)" in served.run("changes").ok().out
    with pytest.raises(Refused):
        codex.call("changes", {})
    with pytest.raises(Refused):
        codex.call("undo", {"since": "2026-11-01", "sure": True})


def test_the_last_change_needs_no_name(served: Place):
    kept = served.run("append", "--json", "-k", "fact", "The ferry holds 40 cars.").ok().json["id"]
    gone = served.run("append", "--json", "-k", "fact", "The pier is 90 metres long.").ok().json["id"]
    served.run("forget", gone).ok()
    assert served.run("undo").code == 5, "nobody could confirm it"
    for listed in ({gone, kept}, {kept}, set[str]()):
        served.run("undo", "--yes").ok()
        assert {note["id"] for note in served.run("list", "--json").ok().json["notes"]} & {kept, gone} == listed


def test_the_preview_names_a_note_once_with_what_becomes_of_it(served: Place):
    note = served.run("append", "--json", "-k", "fact", "The mole is 300 metres long.").ok().json["id"]
    served.run("append", "-k", "fact", "The mole has a lamp.").ok()
    served.run("forget", note).ok()
    served.run("restore", note).ok()
    preview = served.run("undo", "--since", "today").out.splitlines()
    lamp, long = sorted((line for line in preview if "mole" in line), key=lambda line: "300" in line)
    assert "The mole is 300 metres long." in long and "will be forgotten  with 2 later changes" in long
    assert "The mole has a lamp." in lamp and "later" not in lamp


def test_what_cannot_be_undone_stays_and_ends_with_1(served: Place):
    note = served.run("append", "--json", "-k", "fact", "The buoy is red.").ok().json
    served.run("edit", note["id"], stdin=b"The buoy is green.").ok()
    served.run("forget", note["id"]).ok()
    changes = served.run("changes", "--json", "--limit", "2").ok().json["changes"]
    refused = served.run("undo", changes[1]["id"], "--yes")
    assert refused.code == 1
    assert "changed since" in refused.out
    assert served.run("undo", "ffffffff", "--yes").code == 4
