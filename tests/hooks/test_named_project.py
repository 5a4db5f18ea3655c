"""A prompt that names another project gets that project's notes as well."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.daemon.place import Place
from tests.hooks.client import Session

POLLER = "The gauge poller runs every 45 seconds."


@pytest.fixture
def served(place: Place) -> Iterator[Place]:
    """One of its own: tests that share a daemon ask it outside of any project, and would get these notes."""
    with place.started():
        yield place


def test_a_prompt_that_names_a_project_gets_its_notes(served: Place) -> None:
    for project, text in (("tidewatch", POLLER), ("saltmarsh", "Eels are counted at the weir.")):
        served.run("append", "-k", "fact", "--project", project, text).ok()
        (served.root / "work" / project / ".git").mkdir(parents=True)
    session = Session(served, "named", cwd=str(served.root / "work" / "saltmarsh"))
    assert POLLER not in session.prompt("how often does the gauge poller run?")
    assert POLLER in session.prompt("how often does the gauge poller in tidewatch run?")
    call = {"query": "tidewatch gauge poller"}
    answer = json.loads(session.run("before-tool", json.dumps({
        **session.said("before-tool"), "tool_name": "mcp__memory__memory_search", "tool_input": call,
    }).encode()))  # fmt: skip
    given = answer["hookSpecificOutput"].get("updatedInput", call)
    assert served.run("search", "-p", given["project"], given["query"], "--json").ok().json["hits"]
