"""A project's plan, progress and roadmap: written and changed by agents, shown at a start in that project."""

from __future__ import annotations

import re

import pytest

from mcp_memory.errors import AlreadyExists, InvalidInput, PreconditionFailed, Refused
from mcp_memory.models import Outcome
from tests.support.briefings import begun
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

pytestmark = pytest.mark.anyio

PLAN, PROGRESS = "projects/kite/plan.md", "projects/kite/progress.md"


async def etag_of(engine: KeywordEngine, path: str) -> str:
    """The etag that recall shows."""
    return re.findall(rf"memory_append path={path} etag=(\w+)", await engine.recall(path=path))[0]


async def test_an_agent_replaces_a_plan_that_it_has_read(world: World) -> None:
    async with world.engine() as engine:
        made = await engine.append("Sew the sail first.", path=PLAN, kind="workflow", project="kite", source="codex")
        with pytest.raises(AlreadyExists, match="etag"):
            await engine.append("Buy the rope first.", path=PLAN, project="kite")
        read = await etag_of(engine, PLAN)
        assert made.etag.startswith(read)
        new = "---\nalways_load: true\n---\nBuy the rope first."
        changed = await engine.append(new, path=PLAN, project="kite", etag=read, source="claude-code")
        assert (changed.outcome, changed.id) == (Outcome.UPDATED, made.id) and changed.etag != made.etag
        head, _, text = world.read(PLAN).partition(b"---\n\n")
        assert text == f"{new}\n".encode() and b"kind: workflow" in head and b"source: codex" in head
        assert "always_load" not in await begun(engine, project="raft"), "it is text, not a head"
        assert "Buy the rope" in await engine.recall(path=PLAN) and "Sew" not in await engine.recall("sail rope first")
        before = world.files()
        with pytest.raises(PreconditionFailed):
            await engine.append("Too late.", path=PLAN, project="kite", etag=read)
        with pytest.raises(InvalidInput):
            await engine.append("With a title.", path=PLAN, title="Mine", etag=changed.etag)
        with pytest.raises(InvalidInput):
            await engine.append("Without a path.", etag=changed.etag)
        assert world.files() == before


async def test_an_etag_gives_no_right_to_a_persons_note_or_a_log(world: World) -> None:
    world.with_home("").write("plan.md", "My own plan.")
    world.write("projects/kite/roadmap.md", "My own roadmap.")
    async with world.engine() as engine:
        log = await engine.append("Flew the kite.", kind="log")
        before = world.files()
        for path in ("plan.md", "projects/kite/roadmap.md", log.path):
            etag = engine.vault().read(path).record.etag if engine.vault else ""
            with pytest.raises((Refused, InvalidInput)):
                await engine.append("Taken over.", path=path, etag=etag)
        assert world.files() == before


async def test_a_project_is_named_without_the_managed_folder(world: World) -> None:
    world.with_home("Agent").write("projects/kite/diary.md", "A diary of my own.")
    async with world.engine() as engine:
        made = await engine.append("Sew the sail first.", path=PLAN, project="kite")
        assert made.path == f"Agent/{PLAN}" and "Sew" in await engine.recall(path=PLAN)
        await engine.append("Buy the rope first.", path=PLAN, project="kite", etag=made.etag)
        assert "Buy the rope" in await begun(engine, project="kite")
        assert "my own" in await engine.recall(path="projects/kite/diary.md")


async def test_plans_of_two_projects_may_begin_alike(world: World) -> None:
    async with world.engine() as engine:
        for project in ("kite", "raft"):
            path = f"projects/{project}/plan.md"
            assert (await engine.append("# Plan\n\n1. Buy rope", path=path)).path == path
            assert (await engine.append("# Plan\n\n1. Buy rope", path=path)).outcome is Outcome.DUPLICATE


async def test_progress_grows_by_dated_entries_whoever_made_the_file(world: World) -> None:
    world.with_home("").write("projects/raft/progress.md", "# Raft\n\nStarted.\n")
    async with world.engine() as engine:
        await engine.append("Cut the spars.", path=PROGRESS, project="kite")
        world.later(days=1)
        added = await engine.append("Glued the spars.", path=PROGRESS, project="kite")
        again = await engine.append("Glued the spars.", path=PROGRESS, project="kite")
        assert (added.outcome, again.outcome) == (Outcome.UPDATED, Outcome.UNCHANGED)
        assert world.read(PROGRESS).endswith(b"Cut the spars.\n\n## 2026-11-22 12:00\n\nGlued the spars.\n")
        await engine.append("Tied the logs.", path="projects/raft/progress.md")
        assert world.read("projects/raft/progress.md").startswith(b"# Raft\n\nStarted.\n\n## 2026-11-22")


async def test_a_start_shows_where_the_plan_stands_in_that_project_only(world: World) -> None:
    world.with_home("").write(PLAN, "# Plan\n\n- [ ] Fly it over the harbor\n")
    world.write(PROGRESS, "## 2026-11-02 09:00\n\nCut.\n\n## 2026-11-03 10:00\n\n- Glued the spars\n- Dried them\n")
    async with world.engine() as engine:
        told = (await begun(engine, project="kite")).splitlines()
        assert f"{PLAN} (plan): [ ] Fly it over the harbor" in told
        assert f"{PROGRESS} (progress): 2026-11-03 10:00 Glued the spars Dried them" in told
        assert "harbor" in await engine.recall(project="kite")
        assert "harbor" not in await begun(engine, "other", project="raft") + await begun(engine, "none")
