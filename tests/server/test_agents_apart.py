"""Agents find their own notes, another's or all, and see who wrote a note; clients can be kept apart."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.daemon.place import Place, Running
from tests.daemon.wire import Wire
from tests.hooks.client import Session

HERON, QUESTION = "The heron feeder is refilled by {}.", "who refills the heron feeder"
WRITERS = ("alice", "bob", "ada")


@pytest.fixture(scope="module", params=[(), ("alice",), ("*",)], ids=["together", "alice-apart", "all-apart"])
def kept(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Running, set[str]]]:
    folder = tmp_path_factory.mktemp("apart")
    settings = {"MCP_MEMORY_EMBEDDER_PROVIDER": "none", "MCP_MEMORY_RECALL_APART": ",".join(request.param)}
    with Place(folder, folder / "models", settings).make().started() as running:
        for name in ("alice", "bob"):
            with Wire(running, client=name) as agent:
                agent.api("append", {"content": HERON.format(name), "kind": "fact"})
                agent.api("append", {"content": f"The pike pond was filled by {name}.", "kind": "log"})
        running.place.run("append", "-k", "fact", HERON.format("ada")).ok()
        yield running, {*request.param}


def _writers(text: str) -> set[str]:
    return {name for name in WRITERS if f"by {name}." in text}


@pytest.mark.parametrize(
    ("agent", "found"),
    [("own", {"alice", "ada"}), ("bob", {"bob"}), ("you", {"ada"}), ("all", {*WRITERS}), (None, {*WRITERS})],
)
def test_a_question_is_answered_by_its_authors(
    kept: tuple[Running, set[str]], agent: str | None, found: set[str]
) -> None:
    running, apart = kept
    expected = {"alice", "ada"} if agent is None and apart else found
    with Wire(running, client="alice") as alice:
        for tool in ("memory_search", "memory_recall"):
            assert _writers(alice.text(tool, {"query": QUESTION, "agent": agent})) == expected
            entries = alice.text(tool, {"query": "who filled the pike pond", "agent": agent})
            assert _writers(entries) == expected - {"ada"}


def test_an_agent_without_notes_is_named_as_such(kept: tuple[Running, set[str]]) -> None:
    with Wire(kept[0], client="alice") as alice:
        for tool in ("memory_search", "memory_recall"):
            answer = alice.text(tool, {"query": QUESTION, "agent": "nobody"})
            assert "no note is by that agent; agents with notes: alice, bob" in answer


def test_hooks_and_the_start_keep_agents_apart(kept: tuple[Running, set[str]]) -> None:
    running, apart = kept
    told = _writers(Session(running.place, "1", "alice").prompt(QUESTION))
    assert ("bob" in told, "ada" in told) == (not apart, True)
    told = _writers(Session(running.place, "1", "bob").prompt(QUESTION))
    assert "alice" in told if apart != {"*"} else "alice" not in told
    with Wire(running, client="alice") as alice:
        assert ("bob" in _writers(alice.text("memory_recall"))) is not apart


def test_a_hit_names_another_agent_but_neither_the_asking_one_nor_the_person(kept: tuple[Running, set[str]]) -> None:
    running, _ = kept
    with Wire(running, client="alice") as alice:
        found = alice.tool("memory_search", {"query": QUESTION, "agent": "all"})
        hits = found["structuredContent"]["hits"]
        assert {next(iter(_writers(hit["snippet"]))): hit.get("client") for hit in hits} == {
            "alice": None, "bob": "bob", "ada": None,
        }  # fmt: skip
        text = found["content"][0]["text"] + alice.text("memory_recall", {"query": QUESTION, "agent": "all"})
        assert text.count("by bob") == 2 * 2 and text.count("by alice") == 2, "each note says it once itself"
        log = alice.text("memory_recall", {"query": "who filled the pike pond", "agent": "bob"})
        assert "log by bob" in log
    found = running.place.run("search", QUESTION, "--json").ok().json["hits"]
    assert {hit.get("client") for hit in found if "heron" in hit["snippet"]} == {"alice", "bob", None}
    said = running.place.run("search", QUESTION, "--agent", "bob").ok().out
    assert _writers(said) == {"bob"} and "· by bob" in said
    assert _writers(running.place.run("recall", QUESTION, "--agent", "alice").ok().out) == {"alice"}


def test_what_an_orchestrator_shares_reaches_every_agent_in_every_project(kept: tuple[Running, set[str]]) -> None:
    running, _ = kept
    plan = {"content": "The otter ledge is built first.", "path": "shared/plan.md", "project": "tidewatch"}
    with Wire(running, client="bob") as bob, Wire(running, client="alice") as alice:
        assert not bob.tool("memory_append", plan).get("isError")
        asked = {"query": "which ledge is built first", "project": "saltmarsh", "agent": "own"}
        assert "otter ledge" in alice.text("memory_recall", asked)
        hit = alice.tool("memory_search", asked)["structuredContent"]["hits"][0]
        assert (hit["path"], hit.get("project"), hit["client"]) == ("shared/plan.md", None, "bob")
