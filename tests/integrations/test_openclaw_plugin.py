"""The plugin in OpenClaw's configuration: put in beside what others have there, and out again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_memory.errors import Refused
from mcp_memory.integrations import jsonc
from mcp_memory.integrations.clients.openclaw import OpenClawPlugin
from tests.integrations.machine import install, tree, uninstall

LINE = "/opt/mcp-memory hook EVENT --client openclaw"
OURS = OpenClawPlugin("/opt/plugin", LINE, None)

STATES = {
    "another plugin": "{plugins: {entries: {other: {enabled: true}}, // mine\n}}",
    "a list of those that are allowed": '{"plugins": {"allow": ["other"], "load": {"paths": ["/x"]}}}',
    "empty": '{"plugins": {"allow": [], "load": {"paths": []}, "slots": {}, "entries": {}}}',
    "its own memory is on": '{"plugins": {"entries": {"memory-core": {"enabled": true, "config": {"x": 1}}}}}',
    "its own memory is off": '{"plugins": {"entries": {"memory-core": {"enabled": false}}}}',
    "its own memory by name": '{"plugins": {"slots": {"memory": "memory-core"}}}',
    "tools that are denied": '{"tools": {"deny": ["memory_get", "exec"]}}',
    "from a shop": '{"plugins": {"entries": {"mcp-memory": {"enabled": false}}, "load": {"paths": ["/opt/plugin"]}}}',
}


@pytest.mark.parametrize("state", STATES)
def test_every_byte_comes_back(tmp_path: Path, state: str) -> None:
    config = tmp_path / ".openclaw" / "openclaw.json"
    config.parent.mkdir()
    config.write_text(STATES[state])
    before = tree(tmp_path)
    install(tmp_path, "openclaw")
    text = config.read_text()
    assert OURS.is_in(text) and OURS.is_on(text) and OURS.may_see(text)
    assert OURS.is_shadowed(text) is ("denied" in state), "what you denied stays denied, and the doctor says so"
    assert install(tmp_path, "openclaw") == []
    uninstall(tmp_path, "openclaw")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("state", STATES)
def test_out_of_a_file_that_its_program_has_written_anew(state: str) -> None:
    """It sorts nothing, but it indents, and drops comments."""
    before = STATES[state]
    with_it = OURS.insert(before)
    assert OURS.insert(with_it) == with_it
    assert _plain(OURS.remove(with_it, before)) == _plain(before)
    rewritten = json.dumps({**json.loads(_plain(with_it)), "meta": 1}, indent=1)
    gone = json.loads(OURS.remove(rewritten, before))
    assert gone == {**json.loads(_plain(before)), "meta": 1}


def test_it_is_allowed_where_others_are_and_nowhere_else() -> None:
    allowed = json.loads(OURS.insert(STATES["a list of those that are allowed"]))["plugins"]
    assert allowed["allow"] == ["other", "mcp-memory"] and allowed["load"]["paths"] == ["/x", "/opt/plugin"]
    assert "allow" not in json.loads(OURS.insert(""))["plugins"], "a list would shut out all others"


@pytest.mark.parametrize(
    "plugins",
    [
        {"slots": {"memory": "memory-lancedb"}},
        {"slots": {"memory": "none"}},
        {"deny": ["mcp-memory"]},
        {"enabled": False},
        {"entries": {"mcp-memory": {"config": {"command": f"{LINE} --vault /other"}}}},
        {"entries": {"mcp-memory": {"config": {"command": "somebody elses"}}}},
    ],
)
def test_what_a_person_chose_is_not_overruled(plugins: dict) -> None:
    text = json.dumps({"plugins": plugins})
    with pytest.raises(Refused) as refused:
        OURS.insert(text)
    assert refused.value.hint
    assert OURS.remove(text, None) == text


def test_a_plugin_of_another_vault_is_left_alone() -> None:
    other = OpenClawPlugin("/opt/plugin", f"{LINE} --vault /other", "/other")
    text = other.insert("")
    assert not OURS.is_in(text) and OURS.remove(text, None) == text
    assert other.remove(text, "") == "{}\n"


def test_what_it_may_not_do_is_seen() -> None:
    config = json.loads(OURS.insert(""))
    config["plugins"]["entries"]["mcp-memory"]["hooks"] = {}
    assert not OURS.may_see(json.dumps(config))
    config["plugins"]["slots"]["memory"] = "memory-core"
    assert not OURS.is_on(json.dumps(config))


def _plain(text: str) -> str:
    return json.dumps(jsonc.value_of(text))
