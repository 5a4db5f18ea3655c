"""What sessions in different repositories are told, and where what they store goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_memory.errors import InvalidInput
from tests.extraction.talks import ingest, person
from tests.support.keyword_engine import KeywordEngine
from tests.support.repositories import git, repository
from tests.support.world import World

pytestmark = pytest.mark.anyio

SECRET = "The customer Umbra pays 900 euros a day for the rewrite."
QUESTION = "what does the customer Umbra pay a day for the rewrite?"
SHOP = "git@github.com:umbra/shop.git"


async def told(engine: KeywordEngine, folder: Path, **more: Any) -> str:
    """What a session in a folder is told at its start, and with its first prompt."""
    project = await engine.projects.find(str(folder), 10)
    texts: list[str] = []
    for prompt in (None, QUESTION):
        session = {"session": f"{folder}/{len(await engine.notes())}", "project": project}
        texts.append((await engine.perform("brief", {**session, "prompt": prompt, **more}))["text"] or "")
    return "\n".join(texts)


async def stored(engine: KeywordEngine, folder: Path, text: str) -> str | None:
    """The project in the head of a note that a session in this folder stores."""
    receipt = await engine.append(text, kind="fact", project=await engine.projects.find(str(folder), 10))
    return next(note.project for note in await engine.notes() if note.id == receipt.id)


async def test_two_repositories_of_one_name_keep_their_secrets(toy_world: World, tmp_path: Path) -> None:
    work, own = repository(tmp_path / "work" / "my-app"), repository(tmp_path / "personal" / "my-app")
    async with toy_world.engine() as engine:
        assert await stored(engine, work, SECRET) == "my-app"
        assert "900 euros" in await told(engine, work)
        assert "900 euros" not in await told(engine, own)
        assert await stored(engine, own, "Bread is baked on Sundays.") == "my-app (personal)"
        hits = (await engine.search(QUESTION, project="my-app (personal)")).hits
        assert not any("900" in hit.snippet for hit in hits)


async def test_a_moved_repository_and_a_second_clone_have_its_notes(toy_world: World, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop", SHOP)
    async with toy_world.engine() as engine:
        await stored(engine, shop, SECRET)
        shop.rename(tmp_path / "storefront")
        assert "900 euros" in await told(engine, tmp_path / "storefront")
        assert "900 euros" in await told(engine, repository(tmp_path / "shop-review", SHOP) / "src")


async def test_a_home_folder_that_is_a_repository_gets_what_is_for_all(
    toy_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = repository(tmp_path / "ada", "git@github.com:ada/dotfiles")
    monkeypatch.setenv("HOME", str(home))
    async with toy_world.engine() as engine:
        assert await stored(engine, home / "Documents", SECRET) is None
        assert "900 euros" in await told(engine, repository(home / "code" / "shop"))


async def test_a_vault_of_before_needs_no_rewriting(toy_world: World, tmp_path: Path) -> None:
    file = toy_world.write("notes/fact/umbra.md", f"---\nid: X1\nkind: fact\nproject: shop\n---\n{SECRET}\n")
    log = toy_world.write("memory/2026-11-20.md", f"# 2026-11-20\n\n## 10:00 Umbra (project: shop)\n\n{SECRET}\n")
    before = file.read_bytes(), log.read_bytes()
    async with toy_world.engine() as engine:
        assert "900 euros" in await told(engine, repository(tmp_path / "review", SHOP))
        assert "900 euros" not in await told(engine, repository(tmp_path / "shop"))
    assert (file.read_bytes(), log.read_bytes()) == before


async def test_merged_projects_have_each_others_notes(toy_world: World, tmp_path: Path) -> None:
    shop, fork = repository(tmp_path / "shop", SHOP), repository(tmp_path / "ada" / "shop", "h:ada/shop", upstream=SHOP)
    async with toy_world.engine() as engine:
        assert await stored(engine, shop, SECRET) == "shop"
        await engine.append(SECRET, kind="log", project="shop")
        assert "900 euros" not in await told(engine, fork)
        listed = await engine.perform("projects", {})
        assert [(one["label"], one["notes"]) for one in listed["projects"]] == [("shop", 1), ("shop (ada)", 0)]
        assert listed["near"] == [{"label": "shop (ada)", "other": "shop", "why": "is a fork of"}]
        findings = (await engine.perform("doctor", {}))["findings"]
        assert any("merge 'shop (ada)' shop" in one["remedy"] for one in findings)
        await engine.perform("projects", {"verb": "merge", "name": "shop", "other": "shop (ada)"})
        assert "900 euros" in await told(engine, fork)
        assert (await engine.search(QUESTION, project="shop (ada)")).hits
        found = await engine.search(QUESTION, project="shop", explain=True)
        assert found.hits and not any("project" in one.filters for one in found.left_out), "its old name is an alias"
        assert await stored(engine, shop, "The oven is hot.") == "shop (ada)"
        assert (await engine.append("The oven is cold.", kind="fact", project="shop")).path
        listed = await engine.perform("projects", {})
        assert [(one["label"], one["aliases"], one["notes"]) for one in listed["projects"]] == [
            ("shop (ada)", ("shop",), 3)
        ]
        for wrong in ({"verb": "merge"}, {"verb": "split", "name": "shop"}, {"verb": "x", "name": "a", "other": "b"}):
            with pytest.raises(InvalidInput):
                await engine.perform("projects", wrong)
        split = await engine.perform("projects", {"verb": "split", "name": "shop", "other": str(fork)})
        assert split["project"]["label"] == "shop (ada) (ada)" or split["project"]["label"]


async def test_what_waits_has_the_label_of_its_project_in_place_of_an_earlier_name(
    world: World, tmp_path: Path
) -> None:
    shop = repository(tmp_path / "shop", SHOP)
    fork = repository(tmp_path / "ada" / "shop", "h:ada/shop")
    async with world.engine() as engine:
        for folder in (shop, fork):
            await engine.projects.find(str(folder), 10)
        await ingest(engine, "talk.jsonl", "codex", "s", [person("I think we should go with DuckDB.")], "shop")
        await engine.perform("projects", {"verb": "merge", "name": "shop", "other": "shop (ada)"})
        for name in ("shop", "shop (ada)"):
            (item,) = (await engine.perform("waiting", {"project": name}))["waiting"]
            assert item["project"] == "shop (ada)"
        assert (await engine.perform("waiting", {"project": "till"}))["waiting"] == []


async def test_a_file_of_projects_that_cannot_be_used_is_a_finding(toy_world: World, tmp_path: Path) -> None:
    toy_world.write(".mcp-memory/projects.toml", "[shop]\n")
    async with toy_world.engine() as engine:
        assert await engine.projects.find(str(repository(tmp_path / "till")), 10) == "till"
        toy_world.write(".mcp-memory/projects.toml", "[shop\n")
        await engine.search("tea", project="shop")
        (finding,) = [one for one in await engine.doctor() if "projects.toml" in one.what]
        assert finding.severity == "error" and "line 1" in finding.what


async def test_a_preference_that_names_a_projects_file_is_its(toy_world: World, tmp_path: Path) -> None:
    hub = repository(tmp_path / "parcelhub")
    git("remote", "add", "origin", "h:ada/parcelhub", cwd=hub)
    async with toy_world.engine() as engine:
        assert await engine.projects.find_named("prefer small diffs in parcelhub/config.py") is None
        await engine.projects.find(str(hub), 10)
        assert await engine.projects.find_named("prefer small diffs in parcelhub/config.py") == "parcelhub"
        assert await engine.projects.find_named("prefer small diffs in other/config.py") is None
