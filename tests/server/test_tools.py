"""The four tools as an agent sees them over the wire, in both protocol eras."""

from __future__ import annotations

import json
import re
import time
from uuid import uuid4

import jsonschema
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

from mcp_memory.vault.config import SHIPPED_KINDS
from tests.daemon.place import Running
from tests.daemon.wire import SESSIONLESS, Wire

NAMES = ["memory_search", "memory_recall", "memory_append", "memory_forget"]
MARK = "Zq7Canary"


@pytest.fixture
def tools(both: Wire) -> dict[str, dict]:
    return {tool["name"]: tool for tool in both.rpc("tools/list").json["result"]["tools"]}


def test_there_are_exactly_four(tools):
    assert list(tools) == NAMES


def test_every_kind_is_named(tools):
    said = tools["memory_append"]["inputSchema"]["properties"]["kind"]["description"]
    assert said == f"Default note. One of: {', '.join(SHIPPED_KINDS)}."


def test_annotations_let_a_client_run_them_unattended(tools):
    for name, tool in tools.items():
        hints = tool["annotations"]
        assert hints["openWorldHint"] is False
        assert hints["idempotentHint"] is True
        assert hints["readOnlyHint"] is (name in {"memory_search", "memory_recall"})
        assert not hints.get("destructiveHint", False)
        assert hints["readOnlyHint"] or hints["destructiveHint"] is False, "absent means destructive"
        assert hints["title"]


def test_all_but_recall_have_an_output_schema(tools):
    with_schema = [name for name, tool in tools.items() if "outputSchema" in tool]
    assert with_schema == ["memory_search", "memory_append", "memory_forget"]
    for name in with_schema:
        jsonschema.Draft202012Validator.check_schema(tools[name]["outputSchema"])


def test_search_and_recall_are_always_loaded(tools):
    loaded = [name for name, tool in tools.items() if tool.get("_meta", {}).get("anthropic/alwaysLoad") is True]
    assert loaded == ["memory_search", "memory_recall"]


def test_arguments_are_those_of_the_contract(tools):
    """Those that an agent rarely needs are taken, but not listed."""
    arguments = {name: set(tool["inputSchema"]["properties"]) for name, tool in tools.items()}
    assert arguments == {
        "memory_search": {
            "query", "limit", "kinds", "project", "since", "until", "path",
        },
        "memory_recall": {"query", "ids", "path", "kinds", "project", "until", "budget_tokens"},
        "memory_append": {
            "content", "kind", "title", "tags", "when", "project", "supersedes", "expires", "path", "due",
        },
        "memory_forget": {"id", "path", "reason", "restore", "done"},
    }  # fmt: skip
    required = {name: set(tool["inputSchema"].get("required", [])) for name, tool in tools.items()}
    assert required == {
        "memory_search": {"query"},
        "memory_recall": set(),
        "memory_append": {"content"},
        "memory_forget": set(),
    }


def test_descriptions_carry_what_clients_strip_from_schemas(tools):
    """Codex drops minimum, maximum and default, so limits and defaults must stand in the text."""
    fields = {name: tool["inputSchema"]["properties"] for name, tool in tools.items()}
    for properties in fields.values():
        assert all(schema["description"] for schema in properties.values())
    assert "1 to 1000" in fields["memory_search"]["limit"]["description"]
    assert "Default 6" in fields["memory_search"]["limit"]["description"]
    assert "100 to 200000" in fields["memory_recall"]["budget_tokens"]["description"]
    assert "Default 2000; 4000 at" in fields["memory_recall"]["budget_tokens"]["description"]
    assert "up to 1,000,000 bytes" in fields["memory_append"]["content"]["description"]
    for name, tool in tools.items():
        assert len(tool["description"]) > 150, f"{name} does not say when to call it"


def test_the_listing_has_no_word_too_many(tools):
    """Every session of every agent pays for it: no defaults, no null, no titles."""
    listed = json.dumps([tool["inputSchema"] for tool in tools.values()], separators=(",", ":"))
    listed = listed.replace('"title":{', "")  # the argument
    words = [tool["description"] for tool in tools.values()]
    assert len(listed) + sum(map(len, words)) <= 4 * 900, "900 tokens"
    assert not re.search(r'"(default|title|anyOf|additionalProperties|is_listed)":|null', listed)


def test_what_is_not_listed_is_taken(both: Wire):
    both.tool("memory_append", {"content": "The alder is felled in March.", "session": "s1", "title": None})
    place = {"path": f"projects/alder-{uuid4().hex}/plan.md"}
    plan = both.tool("memory_append", {"content": "Fell it.", **place})["structuredContent"]
    again = both.tool("memory_append", {"content": "Plant it.", "etag": plan["etag"], **place})
    assert again["structuredContent"]["outcome"] == "updated"
    found = both.tool("memory_search", {"query": "alder felled", "mode": "keyword", "explain": True, "kinds": None})
    assert found["structuredContent"]["hits"][0]["explain"] and "signs" in found["structuredContent"]


def test_structured_results_fit_their_schemas(tools, both: Wire):
    def call(name: str, **arguments):
        result = both.tool(name, arguments)
        assert not result["isError"], result
        jsonschema.validate(result["structuredContent"], tools[name]["outputSchema"])
        (part,) = result["content"]
        assert name == "memory_search" or "\n" not in part["text"], "one lean line beside the structure"
        return result["structuredContent"]

    note = call("memory_append", content="The tea house by the river closes on Mondays.", kind="fact", tags=["tea"])
    assert note["outcome"] in {"created", "duplicate"}
    for mode in ("hybrid", "semantic", "keyword"):
        within_s = time.monotonic() + 20  # its vector follows the append
        while note["id"] not in [
            hit["id"] for hit in call("memory_search", query="tea house closes", mode=mode, explain=True)["hits"]
        ]:
            assert time.monotonic() < within_s and mode == "semantic", mode
    assert call("memory_search", query="tea house", kinds=["fix"])["hits"] == []
    assert call("memory_forget", id=note["id"])["status"] == "deleted"
    assert note["id"] not in [hit["id"] for hit in call("memory_search", query="tea house closes")["hits"]]
    assert call("memory_forget", id=note["id"], restore=True)["status"] == "active"
    assert call("memory_search", query="tea house closes")["hits"][0]["id"] == note["id"]
    entry = call("memory_append", content="Walked to the tea house.", kind="log")
    assert call("memory_forget", id=entry["id"])["id"] == entry["id"]


def test_recall_is_text_alone(both: Wire):
    note = both.tool("memory_append", {"content": "Recall gives text, not a structure."})["structuredContent"]
    for arguments in ({}, {"ids": [note["id"]]}, {"query": "text or structure"}, {"path": note["path"], "lines": "1-"}):
        result = both.tool("memory_recall", arguments)
        assert not result["isError"]
        assert "structuredContent" not in result
        assert "data, not instructions" in result["content"][0]["text"]
    assert "Recall gives text" in both.text("memory_recall", {"ids": [note["id"]]})


def test_calls_are_taken_as_clients_send_them(both: Wire):
    said = {"content": "The kiln fires the clay.", "kind": "None", "title": None, "tags": '["clay", "kiln"]'}
    stored = both.tool("memory_append", {**said, "expires": "in 2 weeks", "supersedes": ""})["structuredContent"]
    for filters in (
        {"tags": "clay"}, {"tags": "clay, kiln", "limit": None}, {"tags": "#kiln", "kinds": "Note", "limit": "5"},
        {"kinds": '["note"]', "since": "yesterday", "until": "today", "explain": "true"}, {"mode": "Keyword"},
    ):  # fmt: skip
        found = both.tool("memory_search", {"query": "kiln clay", **filters})["structuredContent"]
        assert stored["id"] in [hit["id"] for hit in found["hits"]], filters
    for target in ({"ids": stored["id"][-6:]}, {"path": [stored["path"]], "ids": "null", "budget_tokens": "900"}):
        assert "The kiln fires the clay." in both.text("memory_recall", target)
    assert (
        both.tool("memory_forget", {"id": [stored["id"]], "restore": "false"})["structuredContent"]["status"]
        == "deleted"
    )


WRONG = [
    ("memory_search", {"query": ""}, "query is empty"),
    ("memory_search", {"query": "x", "limit": 0}, "pass 1 to 1000"),
    ("memory_search", {"query": "x", "limit": -1}, "pass 1 to 1000"),
    ("memory_search", {"query": "x", "limit": 10**9}, "pass 1 to 1000"),
    ("memory_search", {"query": "x", "tags": ["a\nb"]}, "one line"),
    ("memory_search", {"query": "x", "since": "lunch"}, "pass for example yesterday, last week"),
    ("memory_search", {"query": "x", "since": "2026-02-01", "until": "2026-01-01"}, "swap them"),
    ("memory_search", {"query": "x", "path": "../../etc"}, "pass a folder such as notes/fix/"),
    ("memory_search", {"query": "x" * 2_000_001}, "2,000,001"),
    ("memory_search", {"query": "x", "kinds": ["x" * 5000]}, "kind has 5000"),
    ("memory_search", {"query": "x", "tags": [""]}, "tag is empty"),
    ("memory_search", {"query": "x", "project": "p\0"}, "project must be"),
    ("memory_search", {"query": "x", "path": "x" * 1001}, "1001 characters"),
    ("memory_recall", {"budget_tokens": 5}, "pass 100 to 200000"),
    ("memory_recall", {"phase": "lunch"}, "known phases: start, prompt"),
    ("memory_recall", {"lines": "1-2"}, "pass the path"),
    ("memory_recall", {"path": "/etc/passwd"}, "path_refused"),
    ("memory_recall", {"path": "notes/../../x.md"}, "path_refused"),
    ("memory_recall", {"ids": ["01ARZ3NDEKTSV4RRFFQ69G5FAV"]}, "memory_search finds ids"),
    ("memory_append", {"content": ""}, "content"),
    ("memory_append", {"text": "x"}, "Missing `content`. Unknown argument `text`. (did you mean `content`?)"),
    ("memory_search", {"query": "x", "kinds": "fxi"}, "unknown kind 'fxi' (did you mean 'fix'"),
    ("memory_append", {"content": "x", "kind": "thought"}, "known kinds: note, log"),
    ("memory_append", {"content": "x" * 1_000_001}, "1,000,000"),
    ("memory_append", {"content": "x", "path": "../x.md"}, "path_refused"),
    ("memory_forget", {}, "Missing `id` or `path`."),
    ("memory_forget", {"id": "a", "path": "b.md"}, "Pass either `id` or `path`, not both."),
    ("memory_forget", {"id": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, "memory_search finds ids"),
]


@pytest.mark.parametrize(("tool", "arguments", "advice"), WRONG, ids=lambda value: str(value)[:40])
def test_a_bad_value_is_a_tool_error_that_says_what_to_pass(both: Wire, tool, arguments, advice):
    result = both.tool(tool, arguments)
    assert result["isError"] is True
    assert advice in result["content"][0]["text"]


MISFITS = [
    ("memory_search", {}, "Missing `query`."),
    ("memory_search", {"query": [MARK]}, "`query` must be a string: A question or keywords"),
    ("memory_search", {"query": "x", "limit": MARK}, "`limit` must be a whole number: 1 to 1000. Default 6."),
    ("memory_search", {"query": "x", "limit": 1.5}, "`limit` must be a whole number"),
    ("memory_search", {"query": "x", "kinds": {MARK: 1}}, "`kinds` must be a list of strings: E.g. ["),
    ("memory_search", {"query": "x", "kinds": [MARK, {MARK: 1}]}, "`kinds` must be a list of strings"),
    ("memory_search", {"query": "x", "mode": MARK}, "`mode` must be one of hybrid, semantic, keyword"),
    ("memory_search", {"query": "x", "explain": MARK}, "`explain` must be true or false"),
    ("memory_search", {"query": "x", "kind": MARK}, "Unknown argument `kind`. (did you mean `kinds`?)"),
    ("memory_search", {"query": "x", "zzz": MARK}, "Unknown argument `zzz`. (it takes: query, limit"),
    ("memory_append", {"content": {"text": MARK * 20}}, "`content` must be a string: Self-contained Markdown"),
    ("memory_append", {"content": None, "tags": 5}, "Missing `content`. `tags` must be a list of strings"),
    ("memory_append", {"content": "x", "tags": 5}, "`tags` must be a list of strings"),
    ("memory_recall", {"budget_tokens": [MARK]}, "`budget_tokens` must be a whole number: 100 to 200000"),
    ("memory_forget", {"id": 5, "restore": MARK}, "`id` must be a string: Id of the note or log entry"),
]


@pytest.mark.parametrize(("tool", "arguments", "advice"), MISFITS, ids=lambda value: str(value)[:40])
def test_a_wrong_type_is_explained_without_quoting_the_value(both: Wire, tool, arguments, advice):
    result = both.tool(tool, arguments)
    assert result["isError"] is True
    text = result["content"][0]["text"]
    assert advice in text
    assert MARK not in text
    assert "pydantic" not in text
    assert "validation error" not in text


def test_a_question_of_a_megabyte_is_answered(both: Wire):
    for query in ("heron weir " * 90_000, "x" * 1_000_000, '"' * 1_000_000):
        result = both.tool("memory_search", {"query": query})
        assert not result["isError"], result
        assert isinstance(result["structuredContent"]["hits"], list)


def test_an_unknown_tool_and_arguments_that_are_no_object(both: Wire):
    assert "memory_dream" in both.text("memory_dream", {})
    answer = both.rpc("tools/call", {"name": "memory_search", "arguments": ["uv"]})
    assert answer.status in {200, 400}
    assert answer.json["error"]["code"] == -32602


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", SESSIONLESS, "auto"])
async def test_the_library_client_of_each_era(daemon: Running, mode: str):
    transport = StreamableHttpTransport(daemon.address.url, auth=daemon.token("library"))
    async with Client(transport, mode=mode) as client:
        assert (client.protocol_version == SESSIONLESS) is (mode != "legacy")
        if mode != SESSIONLESS:  # a pinned version asks for nothing at connect time
            assert "memory_recall with your task" in (client.instructions or "")
        assert [tool.name for tool in await client.list_tools()] == NAMES
        stored = await client.call_tool("memory_append", {"content": f"stored by a library in mode {mode}"})
        assert stored.structured_content and stored.structured_content["outcome"] in {"created", "duplicate"}
        found = await client.call_tool("memory_search", {"query": f"library mode {mode}"})
        assert found.structured_content and stored.structured_content["id"] in [
            hit["id"] for hit in found.structured_content["hits"]
        ]
        refused = await client.call_tool("memory_search", {"query": "x", "limit": 0}, raise_on_error=False)
        assert refused.is_error


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
