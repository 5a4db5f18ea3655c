"""Who forgot what, and the way back: list --deleted, restore of many, and a person's own files."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.errors import InvalidInput, Refused
from tests.daemon.place import Place

MANY = 24


def listed(place: Place, *options: str) -> list[dict]:
    return place.run("list", "--deleted", "--json", *options).ok().json["forgotten"]


def test_what_one_client_forgot_comes_back_at_once(served: Place):
    """Through the daemon: an agent floods it, and signs as the client that its token is of."""
    agent = DaemonConnection(Address.read(served.state.daemon), served.credentials, client="flooder")
    kept = served.run("append", "--json", "-k", "fact", "The weir is closed in May.").ok().json
    before, earlier = {}, {each["path"] for each in listed(served)}
    for number in range(MANY):
        content = f"Lock {number} of the canal is {number + 2} m wide."
        note = agent.call("append", {"content": content, "kind": ("fact", "log")[number % 8 == 0]})
        before[note["id"]] = served.vault / note["path"]
    bytes_before = {file: file.read_bytes() for file in before.values()}
    served.run("forget", kept["id"], "--reason", "wrong month").ok()
    for number, note_id in enumerate(before):
        said = {"target": note_id, "session": "s-9"}
        agent.call("forget", said if number else {**said, "reason": "tidying up"})

    found = listed(served, "--client", "flooder")
    assert len(found) == MANY
    assert {each["session"] for each in found} == {"s-9"}
    assert [each["reason"] for each in found if each["reason"]] == ["tidying up"]
    assert all(each["at"] and each["title"] for each in found)
    assert [each["client"] for each in listed(served) if each["path"] == kept["path"]] == ["cli"]
    assert listed(served, "--client", "flooder", "--since", "2100-01-01") == []
    assert "flooder in s-9" in served.run("list", "--deleted").ok().out
    with pytest.raises(InvalidInput, match="source"):
        agent.call("forget", {"target": kept["id"], "source": "somebody-else"})
    with pytest.raises(Refused):
        agent.call("restore_all", {"targets": [kept["id"]]})
    with pytest.raises(Refused):
        agent.call("forgotten", {})

    since = min(each["at"] for each in found)
    wanted = ("restore", "--client", "flooder", "--since", since)
    assert f"{MANY} notes would come back" in served.run(*wanted, "--dry-run").ok().out
    assert served.run(*wanted, stdin=b"\n").code == 130
    assert served.run(*wanted, "--json").code == 2
    assert len(listed(served, "--client", "flooder")) == MANY, "nobody has said yes"
    done = served.run(*wanted, "--yes", "--json").ok().json
    assert (len(done["restored"]), done["refused"]) == (MANY, [])
    assert {file: file.read_bytes() for file in bytes_before} == bytes_before
    assert listed(served, "--client", "flooder") == []
    assert {each["path"] for each in listed(served)} - earlier == {kept["path"]}, "others' stay forgotten"
    hits = served.run("search", "--json", "-n", "100", "lock canal wide").ok().json["hits"]
    assert sum("of the canal is" in hit["snippet"] for hit in hits) == MANY
    assert served.run(*wanted, "--yes", "--json").ok().json["restored"] == []
    assert served.run("restore").code == 2
    assert served.run("restore", kept["id"], "--client", "cli").code == 2
    served.run("restore", kept["id"]).ok()


@pytest.mark.parametrize("with_daemon", [True, False], ids=["daemon", "alone"])
def test_a_person_forgets_a_file_of_their_own(place: Place, with_daemon: bool):
    """One that this installation did not write; no agent may."""
    place.vault.mkdir()
    own = place.vault / "heron.md"
    own.write_bytes(b"Herons fish below the weir.\r\n")
    with place.started() if with_daemon else nullcontext():
        before = own.read_bytes()
        if with_daemon:
            agent = DaemonConnection(Address.read(place.state.daemon), place.credentials, client="agent")
            with pytest.raises(Refused):
                agent.call("forget", {"target": "heron.md"})
            for more in ({"personal": True}, {"source": "cli"}):
                with pytest.raises(InvalidInput, match="Unknown argument"):
                    agent.call("forget", {"target": "heron.md", **more})
            assert own.read_bytes() == before
        assert "heron.md" in str(place.run("search", "--json", "herons weir").ok().json["hits"])
        place.run("forget", "heron.md").ok()
        assert place.run("search", "--json", "herons weir").ok().json["hits"] == []
        assert [(each["path"], each["client"]) for each in listed(place)] == [("heron.md", "cli")]
        place.run("restore", "heron.md").ok()
        assert own.read_bytes() == before
        assert "heron.md" in str(place.run("search", "--json", "herons weir").ok().json["hits"])


def test_adopting_everything_asks_first(place: Place):
    place.run("append", "Ours.").ok()
    for name in ("one", "two"):
        (place.vault / f"{name}.md").write_text(f"Note {name}.\n")
    assert "2 notes would be" in place.run("adopt", "--dry-run").ok().out
    assert place.run("adopt", stdin=b"\n").code == 130
    nobody = place.run("adopt", stdin=b"")
    assert (nobody.code, "pass --yes" in nobody.err) == (5, True)
    assert place.run("adopt", "--json").code == 2
    assert sorted(place.run("adopt", "--dry-run", "--json").ok().json["adopted"]) == ["one.md", "two.md"]
    assert place.run("adopt", "one.md", "--json").ok().json["adopted"] == ["one.md"]
    assert place.run("adopt", stdin=b"y\n").ok().out.endswith("1 note adopted\n")


@pytest.mark.parametrize("daemon", [True, False])
def test_what_was_adopted_is_taken_back_and_what_agents_wrote_is_not(place: Place, daemon: bool):
    ours = place.run("append", "Ours.", "--json").ok().json["path"]
    for name in ("one", "two"):
        (place.vault / f"{name}.md").write_text(f"---\nid: {name}\n---\nNote {name}.\n")
    ledger = place.state.root / "ledger.jsonl"
    with place.started() if daemon else nullcontext():
        place.run("adopt", "--yes").ok()
        before = ledger.read_bytes()
        assert place.run("adopt", "--undo", ours).ok().out == "0 notes are yours again\n"
        assert "2 notes would be yours again" in place.run("adopt", "--undo", "--dry-run").ok().out
        assert place.run("adopt", "--undo", stdin=b"\n").code == 130
        assert place.run("adopt", "--undo", "--json").code == 2
        assert ledger.read_bytes() == before
        assert place.run("adopt", "--undo", "one.md", "--json").ok().json == {"returned": ["one.md"], "dry_run": False}
        assert place.run("adopt", "--undo", stdin=b"y\n").ok().out.endswith("1 note is yours again\n")
        lines = ledger.read_bytes()
        assert lines.startswith(before) and lines.count(b"\n") == before.count(b"\n") + 2
        assert place.run("adopt", "--undo", "--yes", "--json").ok().json["returned"] == []
        assert place.run("adopt", "--undo", "none.md").code == 4
        assert ledger.read_bytes() == lines
    with place.started():
        agent = DaemonConnection(Address.read(place.state.daemon), place.credentials, client="agent")
        with pytest.raises(Refused, match="only a person"):
            agent.call("adopt", {"revoke": True})
        for path in ("one.md", "two.md"):
            with pytest.raises(Refused, match="personal note"):
                agent.call("forget", {"target": path})
        agent.call("forget", {"target": ours})
