"""A group chat sees its own notes alone, and nothing else is told of them unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_memory.errors import NotFound, Refused
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

pytestmark = pytest.mark.anyio

GROUP, OTHER = "channel:telegram:group:-1001", "channel:telegram:group:-1002"
DENTIST, REGATTA, MOORING = (
    "Ada's dentist for the regatta week is in Lund.",
    "The crew of the regatta meets at seven.",
    "The regatta moors at the outer pier.",
)
QUESTION = "What do we know about the regatta?"


async def told(engine: KeywordEngine, project: str | None) -> str:
    """What a session of that project gets unasked, at its start and with a prompt."""
    session = {"session": f"openclaw/{project}", "project": project}
    start = await engine.perform("brief", session)
    prompt = await engine.perform("brief", {**session, "prompt": QUESTION})
    return start["text"] + prompt["text"]


async def test_each_conversation_has_its_own_memory(tmp_path: Path) -> None:
    world = World(tmp_path / "vault", tmp_path / "state", tmp_path / "models").with_home("")
    world.write("MEMORY.md", "# Memory\n\nAda sails with her sister.\n")
    world.write("_always-load/order.md", "Never tell anyone of the surprise.\n")
    async with world.engine() as engine:
        private = await engine.append(DENTIST, kind="fact")
        crew = await engine.append(REGATTA, kind="fact", project=GROUP)
        other = await engine.append(MOORING, kind="fact", project=OTHER)
        await engine.append("## The regatta is in June.", kind="log")

        assert REGATTA in (inside := await told(engine, GROUP))
        assert not any(words in inside for words in ("dentist", "moors", "sister", "surprise", "June"))
        for project in (None, "my-app"):
            outside = await told(engine, project)
            assert "sister" in outside and "surprise" in outside and DENTIST in outside
            assert REGATTA not in outside and MOORING not in outside

        async def found(project: str | None) -> set[str]:
            return {hit.snippet.strip() for hit in (await engine.search("regatta", project=project)).hits}

        assert await found(GROUP) == {REGATTA} and await found(OTHER) == {MOORING}
        assert {DENTIST, REGATTA, MOORING} <= await found(None), "who asks for it finds it"
        assert await engine.recall(QUESTION, project=GROUP) != "" and DENTIST not in await engine.recall(project=GROUP)

        for target in (private, other):
            for named in ({"ids": [target.id]}, {"path": target.path}):
                with pytest.raises(NotFound):
                    await engine.recall(**named, project=GROUP)
            with pytest.raises(NotFound):
                await engine.append("The dentist moved.", project=GROUP, supersedes=target.id)
        with pytest.raises(NotFound):
            await engine.recall(path="MEMORY.md", project=GROUP)
        assert REGATTA in await engine.recall(ids=[crew.id], project=GROUP)
        for where in ({"path": "MEMORY.md"}, {"path": "notes/fact/x.md"}, {"kind": "log"}):
            with pytest.raises(Refused, match="a shared conversation"):
                await engine.append("For everyone.", project=GROUP, **where)

        receipt = await engine.append("The crew of the regatta meets at eight.", kind="fact", project=OTHER)
        assert {similar.id for similar in receipt.similar} <= {other.id} and not receipt.contradicts
        later = await engine.append(
            "The crew of the regatta meets at nine.", kind="fact", project=GROUP, supersedes=crew.id
        )
        assert later.superseded is not None and later.superseded["id"] == crew.id
