"""Who wrote, for which project and session: told by token, header and argument, never by a session's state."""

from __future__ import annotations

import frontmatter

from tests.daemon.place import Running
from tests.daemon.wire import Wire


def head(daemon: Running, receipt: dict) -> dict:
    return frontmatter.load(str(daemon.place.vault / receipt["path"])).metadata


def store(wire: Wire, content: str, headers: dict[str, str] | None = None, **arguments) -> dict:
    result = wire.tool("memory_append", {"content": content, **arguments}, **(headers or {}))
    assert not result["isError"], result
    return result["structuredContent"]


def test_a_token_tells_who_wrote(daemon: Running, both: Wire):
    era = both.era
    for client in ("claude-code", "codex"):
        with Wire(daemon, client=client, era=era) as wire:
            receipt = store(wire, f"written by {client} in {era}")
        assert head(daemon, receipt)["source"] == client


def test_the_session_is_what_the_argument_says(daemon: Running, both: Wire):
    receipt = store(both, f"in a session of {both.era}", session="s-81")
    assert head(daemon, receipt)["session"] == "s-81"
    assert "session" not in head(daemon, store(both, f"in no session of {both.era}"))


def test_the_header_names_the_project_and_the_argument_wins(daemon: Running, both: Wire):
    era, mine = both.era, {"Mcp_Memory_Project": "kiln"}
    own = store(both, f"The kiln fires at 1200 degrees, {era}.", mine)
    other = store(both, f"The loom has 1200 threads, {era}.", mine, project="loom")
    everyone = store(both, f"There are 1200 of us, {era}.", mine, project="*")
    assert head(daemon, own)["project"] == "kiln"
    assert head(daemon, other)["project"] == "loom"
    assert "project" not in head(daemon, everyone)

    def seen(headers: dict[str, str], **arguments) -> set[str]:
        found = both.tool("memory_search", {"query": "1200", "limit": 50, **arguments}, **headers)
        return {hit["id"] for hit in found["structuredContent"]["hits"]} & {n["id"] for n in (own, other, everyone)}

    assert seen(mine) == {own["id"], everyone["id"]}
    assert seen(mine, project="loom") == {other["id"], everyone["id"]}
    assert seen(mine, project="*") == seen({}) == {own["id"], other["id"], everyone["id"]}
    assert other["id"][-6:] not in both.text("memory_recall", {"query": "how many threads"}, **mine)
    assert f" loom {other['id'][-6:]}: " in both.text("memory_recall", {"query": "how many threads"})
