"""OpenClaw, where it is installed beside the pinned clients (`npm install --no-save openclaw@…` into the same folder).

It hides the tools of servers behind a `tool_call` of its own and marks what comes back as foreign.
"""

from __future__ import annotations

import json

import pytest

from tests.clients.agents import openclaw
from tests.clients.machine import Machine
from tests.clients.programs import PINS, Programs, installed_version
from tests.clients.stubs import OpenAIStub, call

MOORING = "Visitors moor at the outer pier of Kyrkbacken."


@pytest.fixture(scope="module", autouse=True)
def installed(programs: Programs) -> None:
    pinned = json.loads(PINS.read_text(encoding="utf-8"))["extras"]["openclaw"]
    if installed_version(programs, "openclaw") != pinned:
        pytest.skip(f"an extra: openclaw {pinned} is not installed")


def test_appends_then_finds(served: Machine, openai: OpenAIStub) -> None:
    talk = openclaw(served, openai).ask(
        call("tool_call", id="memory__memory_append", args={"content": MOORING, "kind": "fact"}),
        call("tool_call", id="memory__memory_search", args={"query": "where do visitors moor"}),
    )
    assert talk.called == ["tool_call", "tool_call"]
    assert '"created' in talk.heard[0] or "created:" in talk.heard[0]
    assert MOORING in talk.heard[1]
    (note,) = [text for path, text in served.notes().items() if "notes" in path.parts]
    assert b"source: openclaw" in note
