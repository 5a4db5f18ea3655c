"""Codex: its model is offered the tools, calls them on a running daemon and hears the results."""

from __future__ import annotations

from pathlib import Path

from tests.clients.agents import codex
from tests.clients.machine import Machine
from tests.clients.programs import Programs
from tests.clients.stubs import OpenAIStub, call

HARBOUR = "The harbour master of Ven answers on channel 12."


def test_appends_then_finds(served: Machine, openai: OpenAIStub) -> None:
    talk = codex(served, openai).ask(
        call("memory_append", content=HARBOUR, kind="fact", title="Radio channel of the harbour of Ven"),
        call("memory_search", query="radio channel harbour"),
        call("memory_recall", query="radio channel harbour"),
    )
    assert {"memory_search", "memory_recall", "memory_append", "memory_forget"} <= set(talk.listed)
    assert talk.called == ["memory_append", "memory_search", "memory_recall"]
    stored = talk.receipt(0)
    assert stored["outcome"] == "created"
    assert talk.receipt(1)["hits"][0]["id"] == stored["id"]
    assert HARBOUR in talk.heard[2]
    note = (served.vault / stored["path"]).read_text(encoding="utf-8")
    assert HARBOUR in note
    assert "source: codex" in note


def test_forgets_and_restores(served: Machine, openai: OpenAIStub) -> None:
    agent = codex(served, openai)
    search = call("memory_search", query="radio channel harbour")
    stored = agent.ask(call("memory_append", content="The radio of the harbour is broken.", kind="fact")).receipt(0)
    before = served.notes()

    forgetting = agent.ask(call("memory_forget", id=stored["id"], reason="no longer true"), search)
    assert stored["id"] not in [hit["id"] for hit in forgetting.receipt(1)["hits"]]
    assert (served.vault / stored["path"]).exists()
    assert served.notes() != before

    restoring = agent.ask(call("memory_forget", id=stored["id"], restore=True), search)
    assert stored["id"] in [hit["id"] for hit in restoring.receipt(1)["hits"]]
    assert served.notes() == before


def test_a_daemon_that_is_down_does_not_stop_codex(programs: Programs, openai: OpenAIStub, tmp_path: Path) -> None:
    machine = Machine.make(tmp_path / "home", programs)
    talk = codex(machine, openai).ask("Say that you are done.")
    assert not [name for name in talk.listed if name.startswith("memory_")]
