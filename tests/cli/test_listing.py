"""What is stored, without a question: list, recent, today, stats; and a note's file in an editor."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.errors import Refused
from tests.daemon.place import Place

DECISION = "We use SQLite for the orders of the shop in the old harbor, because it is one file and needs no server."


@pytest.fixture
def alone(place: Place) -> Iterator[Place]:
    """A vault where no other test stores what is newer."""
    with place.started():
        yield place


def test_a_person_sees_what_is_stored_and_takes_an_id_from_it(alone: Place):
    note = alone.run("append", "--json", "-k", "decision", "-p", "harbor", DECISION).ok().json
    alone.run("append", "-k", "log", "-p", "harbor", "Moved the shop\nIt took an hour.").ok()
    listed = alone.run("list", "-n", "2").ok().out.splitlines()
    (first,), (entry,) = ([line for line in listed if kind in line.split()[2]] for kind in ("decision", "log"))
    assert first.split()[2:5] == ["decision", "We", "use"]
    assert first.split()[-3:] == ["harbor", "warm", note["id"][-6:]]
    assert "Moved the shop" in entry
    assert DECISION in alone.run("show", first.split()[-1]).ok().out
    assert "It took an hour." in alone.run("show", entry.split()[-1]).ok().out
    for width in (60, 100):
        lines = alone.run("list", COLUMNS=str(width)).ok().out.splitlines()
        assert max(map(len, lines)) <= width
        assert any(line.endswith(note["id"][-6:]) for line in lines)
    told = alone.run("list", "-n", "1").ok().err
    assert told.startswith("there are more: -n ") and "kind · title · project" in told
    assert alone.run("list", "-k", "fix").ok().out == "no note fits\n"
    recent = alone.run("list", "--text", "-n", "1", "-k", "log").ok().out.splitlines()
    assert recent[:2] == ["Moved the shop", "  It took an hour."]
    assert recent[2].endswith(f" · {entry.split()[-1]}")

    alone.run("edit", note["id"], stdin=b"We use Postgres.").ok()
    gone = alone.run("append", "--json", "-k", "decision", "Not for long").ok().json["id"]
    alone.run("forget", gone[-6:], "--reason", "a test").ok()
    happened = alone.run("changes", "--since", "today").ok().out
    assert " edited      We use Postgres." in happened
    assert " forgotten   Not for long" in happened
    assert gone[-6:] not in alone.run("list").ok().out
    assert alone.run("list", "--today").ok().out == alone.run("list", "--since", "today").ok().out
    assert note["id"][-6:] in alone.run("list", "--today").ok().out
    assert "Not for long: a test" in alone.run("list", "--deleted", "-k", "decision").ok().out
    assert alone.run("list", "--deleted", "-k", "fix", "--json").ok().json["forgotten"] == []
    assert alone.run("list", "--deleted", "--until", "yesterday", "--json").ok().json["forgotten"] == []

    assert alone.run("stats", "--json").ok().json["by_project"]["harbor"] == 2
    shown = alone.run("stats").ok().out
    assert "by kind\n" in shown and "besides: " in shown and "\nindex: " in shown
    for command in ("show", "changes", "forget", "restore", "mute"):
        assert alone.run(command, "the", "tall", "lighthouse").code
    assert "no unanswered questions" in alone.run("stats", "--unanswered").ok().out
    assert alone.run("stats", "--unanswered", "--json").ok().json == {"unanswered": []}
    for refused in (["--deleted", "--archived"], ["--deleted", "--text"], ["--today", "--since", "monday"]):
        assert alone.run("list", *refused).code == 2


def test_lists_are_for_the_person_alone(served: Place):
    codex = DaemonConnection(Address.read(served.state.daemon), served.credentials, client="codex")
    for operation in ("list", "stats"):
        with pytest.raises(Refused):
            codex.call(operation, {})


def test_add_is_append(served: Place):
    assert served.run("add", "--json", "The quay is long.").ok().json["outcome"] == "created"
    assert "Usage: mcp-memory append " in served.run("add", "--help").ok().out


def test_recall_explains_how_a_phase_spends_its_budget(alone: Place):
    alone.run("append", "-k", "decision", DECISION).ok()
    lines = alone.run("recall", "--phase", "documenter", "--explain").ok().out.splitlines()
    assert any(line.startswith("budget: ") and line.endswith(" of 3000 tokens") for line in lines)
    (spent,) = (line for line in lines if line.startswith("  decision: "))
    assert int(spent.split()[1]) > 20 and "  lesson: 0 of 3000" in lines
