"""The watcher on real folders: what changes on disk is searchable soon, and what is not ours is not followed."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from mcp_memory.indexing import watcher
from mcp_memory.indexing.config import WatchConfig
from mcp_memory.models import NotePath
from mcp_memory.text.pluralize import counted
from tests.support.keyword_engine import KeywordEngine
from tests.support.toy import OPENING
from tests.support.world import World, embedded, eventually, found, paths, until

pytestmark = pytest.mark.anyio

HINTS_ALONE = WatchConfig(debounce_s=0.05, longest_wait_s=1.0, active_sweep_s=600, idle_sweep_s=600)
SWEEPS_TOO = WatchConfig(debounce_s=0.05, longest_wait_s=1.0, active_sweep_s=0.3, idle_sweep_s=0.3)
SWEEPS_ALONE = WatchConfig(hints=False, debounce_s=0.05, longest_wait_s=0.5, active_sweep_s=0.1, idle_sweep_s=0.1)


@pytest.fixture(params=[HINTS_ALONE, SWEEPS_ALONE], ids=["hints", "sweeps"])
async def watched(world: World, request: pytest.FixtureRequest) -> AsyncGenerator[tuple[World, KeywordEngine]]:
    """A vault with a few folders, watched in one of the two ways alone."""
    world.with_home("")
    for path in ("top.md", "a/one.md", "a/b/two.md"):
        world.write(path, f"original words of {path}")
    async with world.engine(watching=True, watch=request.param) as engine:
        yield world, engine


async def ready(engine: KeywordEngine) -> None:
    """Events reach us from every folder of the vault, but for links."""

    def watches(status: dict[str, Any]) -> bool:
        inside = [folder for folder, _, _ in os.walk(status["vault"]) if "/." not in folder]
        return status["watching"].startswith(("off", f"events from {counted(len(inside), 'folder')};"))

    await until(engine, watches)


async def watching(engine: KeywordEngine) -> str:
    """How changes are noticed."""
    return (await engine.status())["watching"]


async def appears(engine: KeywordEngine, word: str, *where: str) -> None:
    async def there() -> bool:
        return set(await found(engine, word, mode="keyword")) == set(where)

    await eventually(there)


async def test_edits_are_searchable(watched: tuple[World, KeywordEngine]) -> None:
    world, engine = watched
    await ready(engine)
    world.write("a/one.md", "violet in place")
    await appears(engine, "violet", "a/one.md")
    draft = world.write("a/b/.two.md.swp", "crimson by rename")
    draft.replace(world.root / "a/b/two.md")
    await appears(engine, "crimson", "a/b/two.md")
    world.write("a/b/new.md", "turquoise is new")
    await appears(engine, "turquoise", "a/b/new.md")
    with (world.root / "top.md").open("a") as out:
        out.write("\nmagenta at the end")
    await appears(engine, "magenta", "top.md")


async def test_names_come_and_go(watched: tuple[World, KeywordEngine]) -> None:
    world, engine = watched
    await ready(engine)
    (world.root / "a/one.md").rename(world.root / "renamed.md")
    await appears(engine, "original one", "renamed.md", "a/b/two.md", "top.md")
    (world.root / "a").rename(world.root / "moved.v2")
    await appears(engine, "original two", "moved.v2/b/two.md", "renamed.md", "top.md")
    (world.root / "renamed.md").unlink()
    shutil.rmtree(world.root / "moved.v2")
    await appears(engine, "original", "top.md")


async def test_a_folder_moved_in_is_watched_from_then_on(watched: tuple[World, KeywordEngine]) -> None:
    world, engine = watched
    await ready(engine)
    outside = world.root.parent / "incoming"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "x.md").write_text("violet arrives")
    outside.rename(world.root / "incoming")
    await appears(engine, "violet", "incoming/deep/x.md")
    await ready(engine)
    world.write("incoming/deep/x.md", "crimson replaces it")
    await appears(engine, "crimson", "incoming/deep/x.md")


async def test_links_are_not_followed(world: World) -> None:
    outside = world.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("violet outside")
    world.write("a.md", "inside")
    (world.root / "link").symlink_to(outside)
    async with world.engine(watching=True, watch=HINTS_ALONE) as engine:
        await ready(engine)
        (outside / "secret.md").write_text("violet outside, changed")
        (outside / "more.md").write_text("violet more")
        world.write("b.md", "a sign that events got through")
        await appears(engine, "sign events", "b.md")
        await engine.sweep()
        assert await found(engine, "violet") == []
        await ready(engine)  # as many folders as there are without the link's


async def test_only_what_changed_is_embedded(toy_world: World) -> None:
    toy_world.write("a.md", "\n\n".join(f"paragraph {n} " + "x" * 300 for n in range(9)))
    async with toy_world.engine(watching=True, watch=HINTS_ALONE) as engine:
        await ready(engine)
        spoken = OPENING.toy.texts
        del spoken[:]
        text = toy_world.read("a.md").decode().replace("paragraph 4", "violet 4")
        toy_world.write("a.md", text)
        await appears(engine, "violet", "a.md")
        await embedded(engine)
        assert len(spoken) == 1
        assert "violet 4" in spoken[0]


async def test_own_writes_are_embedded_once(toy_world: World) -> None:
    async with toy_world.engine(watching=True, watch=HINTS_ALONE) as engine:
        await ready(engine)
        spoken = OPENING.toy.texts
        for number in range(3):
            await engine.append(f"violet number {number}", kind="fact")
        await engine.append("violet in the log", kind="log")
        await embedded(engine)
        before = len(spoken)
        for _ in range(2):
            await engine.sweep()
        assert len(spoken) == before


async def test_a_storm_of_changes_and_searches_does_not_put_the_sweep_off(world: World) -> None:
    world.write("known.md", "The kiln fires at cone six")
    never_quiet = WatchConfig(debounce_s=60, longest_wait_s=0.5, active_sweep_s=600, idle_sweep_s=600)
    async with world.engine(watching=True, watch=never_quiet) as engine:
        await ready(engine)
        world.write("new.md", "The kiln fires at cone nine")

        async def is_known() -> bool:
            world.write("known.md", f"The kiln fires at cone six, {monotonic()}")
            await engine.search("kiln cone")
            return "new.md" in paths(engine)

        await eventually(is_known, within_s=10)


@pytest.mark.parametrize("what", ["edit", "new after a deletion", "rename", "deletion", "folder renamed", "replaced"])
async def test_whoever_asks_again_and_again_puts_no_sweep_off(world: World, what: str) -> None:
    world.with_home("").write("a/kiln.md", "The kiln fires at cone six")
    world.write("a/other.md", "The kiln stays here")
    quiet = WatchConfig(debounce_s=0.3, longest_wait_s=30, active_sweep_s=600, idle_sweep_s=600)
    async with world.engine(watching=True, watch=quiet) as engine:
        await ready(engine)
        kiln = world.root / "a" / "kiln.md"
        if what in {"new after a deletion", "deletion", "replaced"}:
            kiln.unlink()
        if what in {"new after a deletion", "edit", "replaced"}:
            name = "kiln" if what != "new after a deletion" else "new"
            world.write(f"a/{name}.md", "The kiln fires at cone nine")
        if what == "rename":
            kiln.rename(kiln.with_name("new.md"))
        if what == "folder renamed":
            (world.root / "a").rename(world.root / "b")
        wanted = {file for file in world.files() if file.endswith(".md")}

        async def is_known() -> bool:
            await engine.search("kiln cone")
            return {*paths(engine)} == wanted

        await eventually(is_known, within_s=10)


async def test_a_file_that_only_grows_beside_the_notes_is_no_reason_to_sweep(world: World) -> None:
    world.write("data.csv", "1\n")
    async with world.engine(watching=True, watch=HINTS_ALONE) as engine:
        await ready(engine)
        for _ in range(20):
            with (world.root / "data.csv").open("a") as out:
                out.write("2\n")
        world.write("note.md", "violet sign")
        await appears(engine, "violet", "note.md")
        assert NotePath("data.csv") not in paths(engine)


# -- when events fail --------------------------------------------------------------------------------------------------


async def test_a_folder_made_anew_under_its_old_inode_is_watched_again(world: World) -> None:
    world.write("a/one.md", "original")
    async with world.engine(watching=True, watch=HINTS_ALONE) as engine:
        await ready(engine)
        for word in ("violet", "crimson"):
            shutil.rmtree(world.root / "a")
            world.write(f"a/{word}.md", word)
            await appears(engine, word, f"a/{word}.md")
            world.write(f"a/{word}.md", f"{word} edited later")
            await appears(engine, "edited", f"a/{word}.md")


async def test_a_root_that_is_replaced_at_once_is_watched_again(world: World) -> None:
    world.with_home("")
    world.write("one.md", "original")
    async with world.engine(watching=True, watch=HINTS_ALONE) as engine:
        await ready(engine)
        copy = world.root.with_name("copy")
        shutil.copytree(world.root, copy)
        shutil.rmtree(world.root)
        copy.rename(world.root)
        world.write("two.md", "violet")
        await appears(engine, "violet", "two.md")
        world.write("two.md", "crimson")
        await appears(engine, "crimson", "two.md")


async def test_a_name_that_ends_the_watch_ends_nothing_else(world: World) -> None:
    world.write("a.md", "original")
    async with world.engine(watching=True, watch=HINTS_ALONE) as engine:
        await ready(engine)
        world.write("b.md", "violet")
        Path(os.fsdecode(os.fsencode(world.root) + b"/caf\xe9.md")).write_text("in latin-1")
        await appears(engine, "violet", "b.md")
        await until(engine, lambda status: status["watching"].startswith("no events"))
        assert "decode" in await watching(engine)
        assert any("no file-system events" in finding.what for finding in await engine.doctor())
        world.write("c/d.md", "crimson")  # a new folder is a reason to try again
        world.write("b.md", "violet, and more")
        await found(engine, "violet")  # whoever asks finds a change, and a sweep comes
        await appears(engine, "crimson", "c/d.md")
        await ready(engine)


async def test_the_slow_pace_is_for_those_who_hear(world: World) -> None:
    pace = WatchConfig(debounce_s=0.05, active_sweep_s=15, idle_sweep_s=30, idle_after_s=-1)
    async with world.engine(watching=True, watch=pace) as engine:
        assert (await watching(engine)).endswith("a sweep every 15 s")
        await ready(engine)
        assert (await watching(engine)).endswith("a sweep every 30 s")
    async with world.engine(watching=True, watch=replace(pace, hints=False)) as engine:
        assert await watching(engine) == "off; a sweep every 15 s"


async def test_a_panic_in_the_library_ends_nothing_else(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        """As pyo3 raises it."""

    def panics(*folders: str, **options: object) -> None:
        raise PanicException("called `unwrap()` on a poisoned lock")

    monkeypatch.setattr(watcher, "watch", panics)
    async with world.engine(watching=True, watch=SWEEPS_TOO) as engine:
        await until(engine, lambda status: "PanicException" in status["watching"])
        world.write("b.md", "violet")
        await appears(engine, "violet", "b.md")


async def test_a_dead_watcher_is_made_up_for_noticed_and_replaced(world: World) -> None:
    world.with_home("")
    world.write("deep/b.md", "original")
    async with world.engine(watching=True, watch=SWEEPS_TOO) as engine:
        await ready(engine)
        for descriptor in inotify_descriptors():
            os.dup2(os.open("/dev/null", os.O_RDWR), descriptor)
        number = 0
        while not (await watching(engine)).startswith("no events") and number < 50:
            number += 1
            world.write("deep/b.md", f"violet{number}")
            await appears(engine, f"violet{number}", "deep/b.md")
        assert "none told of what 2 sweeps found changed" in await watching(engine)
        assert any("no file-system events" in finding.what for finding in await engine.doctor())
        events = "events from 2 folders;"
        await until(
            engine, lambda status: world.write("deep/b.md", "turquoise") and status["watching"].startswith(events)
        )


def inotify_descriptors() -> list[int]:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("no /proc/self/fd")
    links = [entry for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    found = [int(entry.name) for entry in links if str(entry.readlink()) == "anon_inode:inotify"]
    assert found
    return found
