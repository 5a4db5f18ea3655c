"""Notes taken in: each once, none over an edit of anybody, and what does not fit is said."""

from __future__ import annotations

import base64
import errno
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_memory.errors import InvalidInput
from mcp_memory.runtime.atomic_rename import KernelRenames
from mcp_memory.transfer.item import (
    ImportItem,
    ImportSource,
    digest_of,
    imported_id,
    seal_note,
    source_mark,
)
from mcp_memory.transfer.target_paths import folder_of
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, records

pytestmark = pytest.mark.anyio
NOTES = ImportSource("obsidian", "Notes", Path("/home/ada/Notes"))
FOLDER = "imported/obsidian-notes"


async def take(
    engine: KeywordEngine, texts: Mapping[str, str], source: ImportSource = NOTES, *, dry_run: bool = False
) -> dict[str, tuple[str, str]]:
    """By name what became of it, and where."""
    items = []
    for name, text in texts.items():
        item = ImportItem(name, name, text, digest=digest_of(text.encode()))
        note_id = imported_id(source, name)
        data = seal_note(item, source, note_id, f"{source.kind}:{source.root}/{name}")
        items.append({"path": name, "id": note_id, "data": base64.b64encode(data).decode()})
    arguments = {"items": items, "folder": folder_of(source), "mark": source_mark(source), "dry_run": dry_run}
    said = await engine.perform("import", arguments)
    return {name: (taken["deed"], taken["path"]) for name, taken in zip(texts, said["taken"], strict=True)}


async def put_back(engine: KeywordEngine, files: Mapping[str, bytes], *, dry_run: bool = False) -> list[str]:
    items = [{"path": path, "data": base64.b64encode(data).decode()} for path, data in files.items()]
    return [taken["deed"] for taken in (await engine.perform("import", {"items": items, "dry_run": dry_run}))["taken"]]


async def test_once_is_enough_and_a_change_follows(world: World) -> None:
    async with world.engine() as engine:
        assert await take(engine, {"a.md": "Kyoto"}, dry_run=True) == {"a.md": ("new", f"{FOLDER}/a.md")}
        assert not (world.root / "imported").exists()
        await take(engine, {"a.md": "Kyoto", "b/c.md": "Osaka"})
        before = world.files()
        assert {deed for deed, _ in (await take(engine, {"a.md": "Kyoto", "b/c.md": "Osaka"})).values()} == {
            "unchanged"
        }
        assert world.files() == before
        assert [hit.path for hit in (await engine.search("Osaka", mode="keyword")).hits] == [f"{FOLDER}/b/c.md"]
        assert (await take(engine, {"a.md": "Nara"}))["a.md"][0] == "updated"
        assert world.read(f"{FOLDER}/a.md").endswith(b"---\nNara")
        note_id = next(record.id for record in records(engine) if record.path.endswith("a.md"))
        await engine.forget(note_id)
        assert (await take(engine, {"a.md": "Uji"}))["a.md"][0] == "forgotten"
        assert b"Nara" in world.read(f"{FOLDER}/a.md")


async def test_an_edit_is_never_written_over(world: World) -> None:
    async with world.engine() as engine:
        await take(engine, {"a.md": "Kyoto"})
        mine = world.read(f"{FOLDER}/a.md").replace(b"Kyoto", b"Kyoto, in May")
        world.write(f"{FOLDER}/a.md", mine)
        assert (await take(engine, {"a.md": "Kyoto"}))["a.md"][0] == "unchanged"
        assert (await take(engine, {"a.md": "Nara"}))["a.md"][0] == "edited"
        assert world.read(f"{FOLDER}/a.md") == mine


async def test_a_note_that_was_moved_is_found_there(world: World) -> None:
    async with world.engine() as engine:
        await take(engine, {"a.md": "Kyoto"})
        world.write("trips/kyoto.md", world.read(f"{FOLDER}/a.md"))
        (world.root / FOLDER / "a.md").unlink()
        await engine.sweep()
        assert await take(engine, {"a.md": "Kyoto"}) == {"a.md": ("unchanged", "trips/kyoto.md")}
        assert await take(engine, {"a.md": "Nara"}) == {"a.md": ("updated", "trips/kyoto.md")}
        assert not (world.root / FOLDER / "a.md").exists()


async def test_two_sources_of_one_name(world: World) -> None:
    other = ImportSource("obsidian", "Notes", Path("/mnt/Notes"))
    async with world.engine() as engine:
        await take(engine, {"a.md": "Kyoto", "same.md": "The very same"})
        taken = await take(engine, {"a.md": "Another a", "same.md": "The very same"}, other)
        assert taken["a.md"] == ("new", f"{FOLDER}-{source_mark(other).lower()}/a.md")
        assert taken["same.md"][0] == "duplicate"
        assert world.read(f"{FOLDER}/a.md").endswith(b"Kyoto")
        assert (await take(engine, {"a.md": "Another a"}, other))["a.md"][0] == "unchanged"


async def test_a_taken_name_a_secret_and_what_is_no_item(world: World) -> None:
    world.write(f"{FOLDER}/a.md", "A person's own")
    world.write(f"{FOLDER}/B.md", "Another")
    async with world.engine() as engine:
        secret = "the key is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        taken = await take(engine, {"a.md": "Kyoto", "b.md": "Nara", "s.md": secret})
        assert [deed for deed, _ in taken.values()] == ["new", "new", "refused"]
        assert world.read(f"{FOLDER}/a.md") == b"A person's own"
        assert taken["a.md"][1] != f"{FOLDER}/a.md"
        assert taken["b.md"][1] != f"{FOLDER}/b.md"
        assert [deed for deed, _ in (await take(engine, {"a.md": "Kyoto", "b.md": "Nara"})).values()] == [
            "unchanged"
        ] * 2
        for items in [1], [{}], [{"path": "a.md", "data": "%"}], [{"path": "a.md", "data": 1}]:
            with pytest.raises(InvalidInput):
                await engine.perform("import", {"items": items})


async def test_an_exported_vault_comes_back_and_never_over_what_is_there(world: World) -> None:
    world.write("mine.md", "Mine")
    async with world.engine() as engine:
        files = {"mine.md": b"Theirs", "notes/fact/x.md": b"\xff\x00 any", "a:b.md": b"x", "MINE.md": b"y"}
        assert await put_back(engine, {"notes/fact/x.md": b"z"}, dry_run=True) == ["new"]
        assert await put_back(engine, files) == ["conflict", "new", "new", "new"]
        assert await put_back(engine, files) == ["conflict", "unchanged", "unchanged", "unchanged"]
        assert await put_back(engine, {"../x.md": b"", "/x.md": b"", ".x.md": b"", "x.txt": b""}) == ["refused"] * 4
    assert world.read("mine.md") == b"Mine"
    assert world.read("notes/fact/x.md") == b"\xff\x00 any"


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from(["Kyoto", "Nara", "# Uji"]), min_size=1))
async def test_any_part_of_a_source_in_any_order_gives_the_same_notes(world: World, texts: dict[str, str]) -> None:
    named: dict[str, Any] = {f"{name}.md": text for name, text in texts.items()}
    async with world.engine() as engine:
        for name in reversed(named):
            await take(engine, {name: named[name]})
        assert {deed for deed, _ in (await take(engine, named)).values()} == {"unchanged"}
        found = {path: data for path, data in world.files().items() if path.startswith(FOLDER)}
        assert all(found[f"{FOLDER}/{name}"].endswith(text.encode()) for name, text in named.items())


async def test_a_disk_that_does_not_allow_a_name_gets_another_and_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"What is a kiln?.md": b"Fire", "Kiln.md": b"Big", "kiln.md": b"Small"}

    def refusing(call: Callable[..., None]) -> Callable[..., None]:
        def as_on_vfat(*arguments: Any) -> None:
            if "?" in str(arguments[-1]):
                raise OSError(errno.EINVAL, "Invalid argument")
            call(*arguments)

        return as_on_vfat

    for call in ("link", "rename", "rename_free"):
        monkeypatch.setattr(KernelRenames, call, refusing(getattr(KernelRenames, call)))
    async with world.engine() as engine:
        items = [{"path": path, "data": base64.b64encode(data).decode()} for path, data in files.items()]
        taken = (await engine.perform("import", {"items": items}))["taken"]
        assert [one["deed"] for one in taken] == ["new", "new", "new"]
        assert taken[0]["path"].startswith("What is a kiln-")
        assert taken[0]["why"] == "this disk doesn't allow its name"
        assert world.read(taken[0]["path"]) == b"Fire"
        assert await put_back(engine, files) == ["unchanged", "unchanged", "unchanged"]
