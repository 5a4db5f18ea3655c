"""A recalled note ends with the nearest notes that are linked with it, but for those that nobody asked for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

pytestmark = pytest.mark.anyio


async def linked(engine: KeywordEngine, path: str, **how: Any) -> str | None:
    found = re.findall(r"^Linked: (.*)$", await engine.recall(ids=[path], **how), re.MULTILINE)
    assert len(found) <= 1
    return found[0] if found else None


async def test_typed_links_come_first_then_its_own_then_those_to_it(world: World) -> None:
    for name in ("why", "see", "more", "back", "caused"):
        world.write(f"{name}.md", f"# {name} it is\n" + {"back": "[[a]]", "caused": "caused by: [[a]]"}.get(name, ""))
    world.write("a.md", "[[see]] and [[more]]\n\n- because: [[why]]\n")
    world.write("lonely.md", "Nothing here, [[nowhere]]\n")
    async with world.engine() as engine:
        assert await linked(engine, "a.md") == (
            'because "why it is" (why.md), from caused_by "caused it is" (caused.md), "see it is" (see.md)'
        )
        assert await linked(engine, "lonely.md") is None


@pytest.mark.parametrize(
    "head", ["private: true", "muted: true", "status: deleted", "status: archived", "project: api"]
)
async def test_what_nobody_may_be_told_unasked_is_never_named(world: World, head: str) -> None:
    world.write("secret.md", f"---\n{head}\n---\n# The canary\n\n[[a]]\n")
    world.write("a.md", "---\nproject: web\n---\nSee [[secret]]\n")
    world.write("plain.md", "See [[secret]]\n")
    async with world.engine() as engine:
        for path in ("a.md", "plain.md"):
            for project in (None, "web", "other"):
                assert "canary" not in await engine.recall(ids=[path], project=project)


async def test_a_note_of_the_same_project_is_named_with_its_short_id(world: World) -> None:
    async with world.engine() as engine:
        port = await engine.append("The port is 8080", title="A port", kind="fact", project="web")
        note = await engine.append(f"See [[{Path(port.path).stem}]]", kind="fact", project="web")
        assert await linked(engine, note.id) == f'"A port" ({port.id[-6:]})'
        assert (await linked(engine, port.id, project="web") or "").startswith("from ")


@pytest.mark.parametrize(
    "question",
    [
        "Why do we build wheels with uv?",
        "Warum nehmen wir uv für die wheels?",
        "Pourquoi uv pour les wheels ?",
        "¿Por qué uv para las wheels?",
    ],
)
async def test_a_question_why_also_gets_the_note_that_is_linked_as_the_reason(world: World, question: str) -> None:
    async with world.engine() as engine:
        reason = await engine.append("Resolving took four minutes on the old runner.", kind="fact", project="shop")
        content = f"We build wheels with uv.\n\nbecause: [[{reason.id[-6:]}]]"
        await engine.append(content, kind="decision", project="shop")
        assert "four minutes" in await engine.recall(question, project="shop")
        assert "four minutes" not in await engine.recall("How do we build wheels, uv or pip?", project="shop")
        first, second, *_ = (await engine.search(question, project="shop")).hits
        assert (first.kind, second.id, second.score) == ("decision", reason.id, first.score)
        assert len((await engine.search(question, project="shop", limit=1)).hits) == 1


async def test_a_reason_that_nobody_may_be_told_is_not_shown(world: World) -> None:
    async with world.engine() as engine:
        reason = await engine.append("Petra is ill.", kind="fact", project="shop", tags=["private"])
        await engine.append(f"Jonas deploys.\n\nbecause: [[{reason.id[-6:]}]]", kind="fact", project="shop")
        assert "ill" not in await engine.recall("Why does Jonas deploy?", project="shop")
        assert reason.id not in [hit.id for hit in (await engine.search("Why does Jonas deploy?", project="shop")).hits]
