"""Opening and closing an engine."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.errors import ConfigInvalid, StorageFailed
from mcp_memory.index import IndexConfig
from mcp_memory.models import Outcome
from mcp_memory.vault.config import KindConfig, VaultConfig
from mcp_memory.vault.journals.tombstones import GRACE_DAYS
from tests.support.world import World, found

pytestmark = pytest.mark.anyio


async def test_a_new_vault_and_state_folder_are_made(world: World) -> None:
    async with world.engine() as engine:
        receipt = await engine.append("The kettle boils at ninety degrees", kind="fact")
        await engine.forget(receipt.id)
        assert (await engine.status())["home"] == ""
    assert {"README.txt", "notes/fact/the-kettle-boils-at-ninety-degrees.md"} == set(world.files())
    for private in world.state.rglob("*"):
        assert private.stat().st_mode & 0o077 == 0, private


@pytest.mark.parametrize("home", ["", "Agent/"])
async def test_the_readme_of_a_new_vault_is_no_note(world: World, home: str) -> None:
    if home:
        world.write("somebody-elses.txt", "x")
    async with world.engine() as engine:
        assert b"Every note is a plain Markdown file" in world.read(f"{home}README.txt")
        assert (await engine.perform("status", {}))["notes"] == 0
        assert (await engine.perform("list", {}))["nothing_stored"]
        assert all(one["severity"] == "info" for one in (await engine.perform("doctor", {}))["findings"])


GUIDE = Path(__file__).parents[2] / "mcp_memory/guide/slots.md"


async def test_other_packages_keep_the_files_and_search_them_as_the_guide_shows(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example, project = re.findall(r"```(?:python|toml)\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    packages, points = tmp_path / "packages", tomllib.loads(project)["project"]["entry-points"]
    facts = packages / "memory_mirror-1.dist-info"
    facts.mkdir(parents=True)
    shared = tmp_path / "shm"
    (packages / "memory_mirror.py").write_text(example.replace("/dev/shm", str(shared)))
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: memory-mirror\nVersion: 1\n")
    lines = [line for group, of_group in points.items() for line in (f"[{group}]", *map(" = ".join, of_group.items()))]
    (facts / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(packages)
    monkeypatch.setenv("HOME", str(tmp_path))
    async with world.engine(vault=VaultConfig(storage="mirrored"), index=IndexConfig("in-memory")) as engine:
        receipt = await engine.append("The kettle boils at ninety degrees", kind="fact")
        assert await found(engine, "kettle") == [receipt.path]
        (mirror := tmp_path / "memory-mirror").rename(tmp_path / "moved")
        mirror.write_text("a file is in the way")
        with pytest.raises(StorageFailed, match=r"failed: NotADirectoryError at .*memory_mirror.py:\d+"):
            await engine.append("The kettle is red", kind="fact")
        mirror.unlink()
        assert (await engine.append("The kettle is red", kind="fact")).outcome is Outcome.DUPLICATE
    assert (tmp_path / "moved" / receipt.path).read_bytes() == world.read(receipt.path)
    assert list(shared.rglob("index.db")) and not (world.state / "index").exists()


@pytest.mark.parametrize("sections", [{"vault": VaultConfig(storage="floppy")}, {"index": IndexConfig("floppy")}])
async def test_an_unknown_back_end_is_refused_before_anything_is_made(world: World, sections: dict[str, Any]) -> None:
    before = set(world.root.parent.rglob("*"))
    with pytest.raises(ConfigInvalid, match="'floppy'") as refused:
        async with world.engine(**sections):
            pass
    assert "entry point" in str(refused.value.hint)
    assert set(world.root.parent.rglob("*")) == before


async def test_state_without_a_place_is_a_clear_error(world: World) -> None:
    world.state.parent.mkdir(exist_ok=True)
    world.state.write_text("a file is in the way")
    with pytest.raises(StorageFailed, match="state"):
        async with world.engine():
            pass


@pytest.mark.parametrize("name", ["ledger.jsonl", "vault.toml"])
async def test_a_state_file_that_cannot_be_read_is_a_clear_error_with_a_remedy(world: World, name: str) -> None:
    (world.state / name).mkdir(parents=True)
    with pytest.raises(StorageFailed, match=name) as failed:
        async with world.engine():
            pass
    assert failed.value.hint


async def test_the_very_bytes_come_back_however_late(world: World) -> None:
    """What a restore needs goes only some time after the forgotten note's file has gone."""
    async with world.engine() as engine:
        paths = [(await engine.append(words, kind="fact")).path for words in ("Tea at four", "Tea at five")]
        before = world.files()
        for path in paths:
            await engine.forget(path)
    (world.root / paths[1]).unlink()
    async with world.engine() as engine:
        await engine.append("Tea at six", kind="fact")
        await engine.forget("notes/fact/tea-at-six.md")
        await engine.sweep()
        for kept, days in ((3, GRACE_DAYS), (2, 2)):
            for _ in range(days):
                await engine.sweep()
                world.later(days=1)
            names = [file.name for file in (world.state / "undo").iterdir()]
            assert len(names) == kept + 1, "with the days on which it looked"
        await engine.forget(paths[0], restore=True)
        assert world.read(paths[0]) == before[paths[0]]
        assert await found(engine, "four") == [paths[0]]


async def test_an_error_in_the_body_comes_out_as_it_is(world: World) -> None:
    with pytest.raises(KeyError):
        async with world.engine():
            raise KeyError("mine")


async def test_an_unknown_provider_is_said_and_searches_go_on_with_keywords(world: World) -> None:
    world.write("a.md", "violet teapot")
    async with world.engine(embedder=EmbedderConfig(provider="magic")) as engine:
        assert "magic" in (await engine.status())["model_state"]
        assert await found(engine, "teapot") == ["a.md"]


async def test_a_kind_with_an_impossible_name_is_refused(world: World) -> None:
    with pytest.raises(ConfigInvalid, match="plain word"):
        async with world.engine(kinds={"../x": KindConfig()}):
            pass


async def test_a_source_is_searched_and_never_written(world: World) -> None:
    team = world.root.parent / "team"
    (team / "docs").mkdir(parents=True)
    (team / "docs" / "deploy.md").write_text("Deploys go out on Thursday")
    async with world.engine(vault=VaultConfig(sources={"team": str(team)})) as engine:
        assert await found(engine, "deploys Thursday") == ["@team/docs/deploy.md"]
        assert "Thursday" in await engine.recall(path="@team/docs/deploy.md")
    assert [p.name for p in team.rglob("*")] == ["docs", "deploy.md"]


async def test_a_folder_called_like_a_source_is_reported(world: World) -> None:
    world.write("@team/note.md", "orphaned words")
    world.write("@alone.md", "orphaned words")
    async with world.engine() as engine:
        assert set(await engine.problems()) == {"@team/note.md", "@alone.md"}
        assert await found(engine, "orphaned") == []


async def test_no_damaged_file_of_the_state_folder_keeps_the_engine_from_starting(world: World) -> None:
    async with world.engine() as engine:
        one = await engine.append("The kettle boils at ninety degrees", kind="fact")
        await engine.append("Tea at six", kind="fact", session="s")
        entry = await engine.append("A cup broke", kind="log")
        await engine.forget(one.id)
        await engine.forget(entry.id)
        await engine.sweep()
    files = {file: file.read_bytes() for file in world.state.rglob("*") if file.is_file()}
    entries = {file for file in files if file.suffix == ".entry"}
    assert len(entries) == 1
    assert {"ledger.jsonl", "vault.toml", "checks.json", "index.db"} <= {file.name for file in files}
    for file, data in files.items():
        for damage in (b"", b"\xff\xfe{\x00", b'{"a": [1'):
            file.write_bytes(damage)
            async with world.engine() as engine:
                assert await found(engine, "tea") == ["notes/fact/tea-at-six.md"], file
                assert await found(engine, "kettle") == [], file
                await engine.sweep()
                told = [each.what for each in await engine.doctor() if str(file) in each.what]
                assert bool(told) is (file in entries and damage[:1] == b"\xff"), file
            file.write_bytes(data)
