"""Resources and prompts: listed, readable, and as careful with ids as the tools."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from tests.daemon.place import Running
from tests.daemon.wire import Wire


def read(wire: Wire, uri: str) -> str:
    (content,) = wire.rpc("resources/read", {"uri": uri}).json["result"]["contents"]
    return content["text"]


def test_lists(both: Wire):
    resources = both.rpc("resources/list").json["result"]["resources"]
    resources = [resource for resource in resources if not resource["uri"].startswith("skill://")]
    assert {resource["uri"] for resource in resources} == {"memory://tree", "memory://status"}
    templates = both.rpc("resources/templates/list").json["result"]["resourceTemplates"]
    templates = [one for one in templates if not one["uriTemplate"].startswith("skill://")]
    starts = sorted(one["uriTemplate"].partition("{")[0] for one in templates)
    assert starts == ["memory://note/", "memory://tree/"]
    prompts = both.rpc("prompts/list").json["result"]["prompts"]
    assert {prompt["name"] for prompt in prompts} == {"flush", "reflect"}
    assert all(entry["title"] for entry in [*resources, *templates, *prompts])


def test_a_note_by_id_by_path_and_a_log_entry(both: Wire):
    era = both.era
    note = both.tool("memory_append", {"content": f"A wren nests in the ivy, {era}."})["structuredContent"]
    entry = both.tool("memory_append", {"content": f"Saw the wren, {era}.", "kind": "log"})["structuredContent"]
    assert "/" in note["path"] and "#" in entry["id"]
    assert "A wren nests" in read(both, f"memory://note/{note['id']}")
    assert "A wren nests" in read(both, f"memory://note/{note['path']}")
    assert "A wren nests" in read(both, f"memory://note/{quote(note['path'], safe='')}")
    assert f"Saw the wren, {era}" in read(both, f"memory://note/{quote(entry['id'], safe='/')}")


def test_a_note_that_is_not_there_or_not_ours_to_read(both: Wire):
    for target in ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "notes/none.md", "../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd"):
        answer = both.rpc("resources/read", {"uri": f"memory://note/{target}"})
        assert answer.status < 500
        assert "error" in answer.json, target
        assert "root:" not in answer.text


def test_tree_and_status(daemon: Running, both: Wire):
    note = both.tool("memory_append", {"content": "Trees list what is stored."})["structuredContent"]
    both.tool("memory_append", {"content": "My knee hurts.", "tags": ["Private"]})
    tree = read(both, "memory://tree")
    assert f"](<{note['path']}>)" in tree
    assert "knee" not in tree and "1 private note not listed; the tools find them when asked." in tree
    status = json.loads(read(both, "memory://status"))
    assert status["vault"] == str(daemon.place.vault)
    assert status["notes"] >= 1
    assert status["ready"] is True


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("flush", {}, "memory_append"),
        ("reflect", {}, "memory_search"),
        ("reflect", {"topic": "the {kiln}"}, "about the {kiln}"),
    ],
)
def test_prompts(both: Wire, name, arguments, wanted):
    result = both.rpc("prompts/get", {"name": name, "arguments": arguments}).json["result"]
    assert wanted in result["messages"][0]["content"]["text"]
