"""What notes name of code is kept up to date beside them, and told with them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from mcp_memory.grounding import grounder
from tests.support.keyword_engine import KeywordEngine
from tests.support.repositories import repository
from tests.support.shop_repository import Shop
from tests.support.world import World

pytestmark = pytest.mark.anyio
QUESTION = "how often do retries retry?"


async def refs(engine: KeywordEngine, **arguments: Any) -> dict[str, list[str]]:
    """The outcomes by note."""
    answer = await engine.perform("refs", {"check": True, **arguments})
    return {note["path"]: [one["outcome"] for one in note["refs"]] for note in answer["notes"]}


async def test_recall_start_and_prompt_say_what_became_of_the_code_and_the_note_keeps_its_bytes(
    world: World, shop: Shop
) -> None:
    async with world.engine() as engine:
        await engine.perform("refs", {"project": "shop", "folder": str(shop.root / "src")})
        note = await engine.append(
            "Retries: `src/sync.py:Sync.retry` tries three times.", kind="decision", project="shop"
        )
        log = await engine.append("Moved the guide: docs/guide.md", kind="log", project="shop")
        other = await engine.append("The guide of `docs/guide.md` is elsewhere", kind="fact", project="other")
        stated = await engine.append("Delays double", kind="fact", project="shop", refs=["src/sync.py:backoff"])
        before = world.read(note.path)
        assert await refs(engine) == {note.path: ["ok"], log.path: ["ok"], stated.path: ["ok"]}
        shop.change("src/sync.py", ("range(times)", "range(9)"), ("delay + 1", "delay"))
        shop.git("mv", "docs/guide.md", "docs/start.md")
        commit = shop.commit()
        assert await refs(engine) == {note.path: ["changed"], log.path: ["moved"], stated.path: ["changed"]}
        assert await refs(engine, target=log.id) == {log.path: ["moved"]}
        changed = f"(code changed since, in {commit})"
        answers = [
            await engine.recall("retries", project="shop"),
            await engine.recall(ids=[note.id]),
            await engine.recall(project="shop"),
            (await engine.brief("c/1", QUESTION, project="shop")).text,
        ]  # fmt: skip
        assert [changed in answer for answer in answers] == [True] * 4, answers
        assert "(moved to docs/start.md)" in await engine.recall("where did the guide move", project="shop")
        assert world.read(note.path) == before
        assert other.path not in await refs(engine, project="*")
        await engine.perform("refs", {"target": note.id, "confirm": True})
        assert changed not in await engine.recall(ids=[note.id])


async def test_an_old_note_is_grounded_in_what_its_day_saw(world: World, shop: Shop) -> None:
    shop.change("src/sync.py", ("range(times)", "range(3)"))
    commit = shop.commit("2026-11-25T09:00:00+00:00")
    world.later(days=5)
    async with world.engine() as engine:
        await engine.perform("refs", {"project": "shop", "folder": str(shop.root)})
        old = await engine.append("`src/sync.py:Sync.retry` is asked", project="shop", created="2026-11-22")
        new = await engine.append("`src/sync.py:Sync.retry` asks", project="shop")
        answer = await engine.perform("refs", {"check": True})
        assert {note["path"]: note["remark"] for note in answer["notes"]} == {
            old.path: f"code changed since, in {commit}", new.path: "",
        }  # fmt: skip


async def test_the_state_outlives_the_engine_and_an_erased_note_leaves_nothing_in_it(world: World, shop: Shop) -> None:
    async with world.engine() as engine:
        await engine.perform("refs", {"project": "shop", "folder": str(shop.root)})
        note = await engine.append("`src/sync.py:backoff` doubles", project="shop")
        await refs(engine)
    shop.change("src/sync.py", ("delay + 1", "delay"))
    shop.commit()
    async with world.engine() as engine:
        run = await engine.run_job("code")
        assert run["error"] is None and run["about"] == "1 changed and 0 gone of 1 reference"
        assert note.path in await refs(engine)
        await engine.perform("erase", {"target": note.id, "sure": True})
        assert await refs(engine) == {} and b"backoff" not in (world.state / "grounding.json").read_bytes()
    (world.state / "grounding.json").write_bytes(b'{"notes": [{}]}')
    async with world.engine() as engine:
        assert await refs(engine) == {}


@pytest.mark.parametrize("state", ["gone", "bare", "another"])
async def test_a_repository_that_cannot_be_read_changes_no_outcome(world: World, shop: Shop, state: str) -> None:
    async with world.engine() as engine:
        await engine.perform("refs", {"project": "shop", "folder": str(shop.root)})
        note = await engine.append("`src/sync.py:backoff` doubles", project="shop")
        await refs(engine)
        kept = shop.root.rename(shop.root.parent / "kept")
        if state == "bare":
            shutil.copytree(kept / ".git", shop.root)
            Shop(shop.root).git("config", "core.bare", "true")
        if state == "another":
            repository(shop.root.parent / "another")
            await engine.perform("refs", {"project": "shop", "folder": str(shop.root.parent / "another")})
        answer = await engine.perform("refs", {"check": True})
        assert [one["outcome"] for one in answer["notes"][0]["refs"]] == ["ok"] and note.path == answer["notes"][0][
            "path"
        ]
        assert list(answer["problems"]) == ["shop"]


async def test_a_repository_that_moved_is_found_in_its_worktree(world: World, shop: Shop) -> None:
    async with world.engine() as engine:
        assert await engine.projects.find(str(shop.root), 10) == "shop"
        await engine.append("`src/sync.py:backoff` doubles", project="shop")
        kept = shop.root.rename(shop.root.parent / "kept")
        Shop(kept).git("worktree", "add", "-q", str(shop.root))
        answer = await engine.perform("refs", {"check": True})
        assert answer["problems"] == {} and answer["counts"]["ok"] == 1


@pytest.mark.parametrize("target", ["secret.py", "link.py", "big.py", ".git/config", "loop.py"])
async def test_nothing_outside_of_the_repository_is_read(world: World, shop: Shop, tmp_path: Path, target: str) -> None:
    (tmp_path / "secret.py").write_text("def canary(): pass\n")
    (shop.root / "link.py").symlink_to(tmp_path / "secret.py")
    (shop.root / "loop.py").symlink_to("loop.py")
    shop.write("big.py", "def canary(): pass\n" + "#" * 2_000_000)
    shop.commit()
    async with world.engine() as engine:
        await engine.perform("refs", {"project": "shop", "folder": str(shop.root)})
        await engine.append(f"`{target}:canary` and {target}:1", project="shop")
        answer = await engine.perform("refs", {"check": True})
        assert all(one["symbol"] == "" for note in answer["notes"] for one in note["refs"])


async def test_a_repository_has_its_time_and_no_more(world: World, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grounder, "REPOSITORY_S", 0.0)
    async with world.engine() as engine:
        await engine.perform("refs", {"project": "shop", "folder": str(shop.root)})
        await engine.append("`src/sync.py:backoff` doubles", kind="fact", project="shop")
        answer = await engine.perform("refs", {"check": True})
        assert answer["notes"] == [] and "shop" in answer["problems"]
