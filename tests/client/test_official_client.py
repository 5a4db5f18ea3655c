"""The protocol's own client over stdio, in both eras: what it gets is what it gets over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import frontmatter
import pytest
from mcp.client.client import Client

from mcp_memory.client.connection import Address
from tests.daemon.place import Place, eventually
from tests.support.official_client import over_http, over_stdio

ERAS = pytest.mark.parametrize(("mode", "revision"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])


async def tour(client: Client, revision: str) -> list[Any]:
    """All that a server has to offer, as plain values."""
    async with client:
        assert client.session.protocol_version == revision
        seen: list[Any] = [await client.list_tools(), await client.list_resources(), await client.list_prompts()]
        seen.append(await client.list_resource_templates())
        seen.append(await client.call_tool("memory_append", {"content": "The mill grinds on Tuesdays. é 茶\n\nTwice."}))
        seen.append(await client.call_tool("memory_search", {"query": "when does the mill grind", "limit": 1}))
        seen.append(await client.call_tool("memory_recall", {"ids": [seen[-1].structured_content["hits"][0]["id"]]}))
        seen.append(await client.call_tool("memory_search", {"limit": 1}))
        seen.append(await client.read_resource(f"memory://note/{seen[4].structured_content['path']}"))
        seen.append(await client.get_prompt("reflect", {"topic": "the mill"}))
        return [each.model_dump(mode="json") for each in seen]


@ERAS
def test_the_same_as_over_http(served: Place, mode: str, revision: str):
    first = anyio.run(tour, over_stdio(served, "old", mode), revision)
    ours, theirs = (anyio.run(tour, over(served, "old", mode), revision) for over in (over_stdio, over_http))
    for each in (*ours, *theirs):
        (each.get("structured_content") or {}).pop("as_of", None)
        if (each.get("structured_content") or {}).pop("indexed", None):
            each["content"][0]["text"] = each["content"][0]["text"].partition(" · found after ")[0]
    assert ours == theirs
    receipt = first[4]["structured_content"]
    note = frontmatter.load(str(served.vault / receipt["path"]))
    assert (note["source"], note["project"]) == ("old", "mill"), "who wrote is told by the token"


def test_with_the_command_that_install_shows(served: Place):
    shown = served.run("install", "generic", "--json").ok().json["snippets"]
    (entry,) = [json.loads(text) for place, text in shown.items() if "stdio" in place]

    async def listed() -> int:
        async with over_stdio(served, "", command=[entry["command"], *entry["args"]]) as client:
            return len((await client.list_tools()).tools)

    assert anyio.run(listed) == 4


def test_many_calls_at_once(served: Place):
    async def crowd() -> list[str]:
        found: list[str] = []

        async def one(number: int) -> None:
            content = f"Crate {number} holds {number} bolts."
            receipt = (await client.call_tool("memory_append", {"content": content})).structured_content
            text = (await client.call_tool("memory_recall", {"ids": [receipt["id"]]})).content[0].text
            found.append(content if content in text else text)

        async with over_stdio(served, "crowd") as client, anyio.create_task_group() as tasks:
            for number in range(40):
                tasks.start_soon(one, number)
        return found

    assert sorted(anyio.run(crowd)) == sorted(f"Crate {number} holds {number} bolts." for number in range(40))


def test_a_daemon_that_is_killed_or_replaced_meanwhile(place: Place):
    """Clients see slow calls, and nothing else."""
    place.vault.mkdir()
    content = "Written before the daemon was killed."

    async def store(client: Client) -> str:
        return (await client.call_tool("memory_append", {"content": content})).structured_content["outcome"]

    async def sessions(kill: Callable[[], None]) -> None:
        async with over_stdio(place, "older", "legacy") as older, over_stdio(place, "newer") as newer:
            assert await store(older) == "created" and await store(newer) == "duplicate"
            await anyio.to_thread.run_sync(kill)
            assert await store(newer) == await store(older) == "duplicate"
            second = Address.read(place.state.daemon)
            Address(**{**vars(second), "version": "0.0.1"}).write(place.state.daemon)
            async with over_stdio(place, "third") as third:
                assert await store(third) == "duplicate"
            assert Address.read(place.state.daemon).pid != second.pid
            assert await store(older) == await store(newer) == "duplicate"

    with place.serving() as served:

        def kill() -> None:
            served.process.kill()
            eventually(lambda: served.process.poll() is not None)

        anyio.run(sessions, kill)
