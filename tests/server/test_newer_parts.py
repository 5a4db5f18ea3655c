"""The newer parts of the protocol: skills, how long lists hold, icons, and a question back to the person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StreamableHttpTransport

from tests.daemon.place import Place, Running, eventually
from tests.daemon.wire import SESSIONLESS, Wire

ENDING = "Q7Q7Q7"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def own(tmp_path: Path, model_cache: Path) -> Iterator[Running]:
    """A daemon whose vault is changed by hand."""
    with Place(tmp_path, model_cache).make().started() as running:
        yield running


def test_lists_hold_for_a_while_and_notes_do_not(wire: Wire, daemon: Running):
    with Wire(daemon, era=SESSIONLESS) as newer:
        for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
            result = newer.rpc(method).json["result"]
            assert (result["ttlMs"], result["cacheScope"]) == (600_000, "private")
            assert "ttlMs" not in wire.rpc(method).json["result"]
        assert not newer.rpc("resources/read", {"uri": "memory://status"}).json["result"].get("ttlMs")


def test_people_see_titles_and_an_icon(both: Wire):
    tools = both.rpc("tools/list").json["result"]["tools"]
    for entry in tools:
        assert entry["icons"][0]["src"].startswith("data:image/svg+xml;base64,") and entry["annotations"]["title"]
    assert len(str(tools[0]["icons"])) < 500


@pytest.mark.anyio
async def test_our_skill_is_served(daemon: Running):
    transport = StreamableHttpTransport(daemon.address.url, auth=daemon.token("library"))
    async with Client(transport) as client:
        listed = [str(resource.uri) for resource in await client.list_resources()]
        (uri,) = [uri for uri in listed if uri.endswith("SKILL.md")]
        (content,) = await client.read_resource(uri)
        assert "memory_append" in getattr(content, "text", "")


@pytest.mark.anyio
async def test_which_of_two_notes_is_asked_where_the_client_can_ask(own: Running):
    ids = [f"01KB000000000000000{letter}{ENDING}" for letter in "AB"]
    for note_id, tree in zip(ids, ("alder", "birch"), strict=True):
        note = own.place.vault / "notes" / "fact" / f"{tree}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"---\nid: {note_id}\ntitle: The {tree}\nkind: fact\n---\nAbout the {tree}.\n")
    own.place.run("adopt", "--yes").ok()
    eventually(lambda: all(own.place.run("show", note_id).code == 0 for note_id in ids))
    asked: list[Any] = []

    async def choose(_message: str, _type: Any, params: Any, _context: Any) -> ElicitResult[dict[str, str]]:
        asked.append(params.requested_schema["properties"]["note"]["oneOf"])
        action = "accept" if len(asked) > 1 else "decline"
        return ElicitResult(action=action, content={"note": ids[1]} if action == "accept" else None)

    async def forget(mode: Any = "auto", **options: Any) -> Any:
        transport = StreamableHttpTransport(own.address.url, auth=own.token("library"))
        async with Client(transport, mode=mode, **options) as client:
            return await client.call_tool("memory_forget", {"id": ENDING.lower()}, raise_on_error=False)

    for told in (await forget(), await forget("legacy", elicitation_handler=choose)):
        assert told.is_error and all(note_id in told.content[0].text for note_id in ids), "the error, as ever"
    declined = await forget(elicitation_handler=choose)
    assert declined.is_error and "chose none" in declined.content[0].text
    chosen = await forget(elicitation_handler=choose)
    assert (chosen.structured_content["id"], chosen.structured_content["status"]) == (ids[1], "deleted")
    assert [choice["const"] for choice in asked[0]] == ids and asked[0][0]["title"].startswith("The alder (notes/fact/")
