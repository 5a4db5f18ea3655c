"""What a person reviews is no place for an agent's words, in any spelling of its path."""

from __future__ import annotations

import unicodedata

import pytest

from mcp_memory.errors import McpMemoryError, PathRefused, Refused
from tests.support.world import World

pytestmark = pytest.mark.anyio

SURFACES = [
    "DREAMS.md", "dreams.md", "Dreams.MD", "./DREAMS.md", "././DREAMS.md", ".//DREAMS.md", "DREAMS.md/", "DREAMS.md ",
    "DREAMS.md.", "D\u200bREAMS.md", "\uff24REAMS.md", "DREAMS.md\u00a0", "notes/../DREAMS.md",
    "INDEX.md", "index.md", "INDEX.md\\", "_inbox/x.md", "_INBOX/x.md", "_Inbox/a/x.md",
    "_inbox//x.md", "_inbox./x.md", "_inbox /x.md", "_inbox\\x.md", "_in\u200dbox/x.md", "notes//../_inbox/x.md",
    "entities/people/ada.md", "Entities/people/ada.md", "ENTITIES/x.md", "entities./x.md",
    "summaries/2026.md", "Summaries/sessions/x.md", "_always-load/x.md", "_ALWAYS-LOAD/x.md", "topics/_index.md",
    "topics/A/_Summary.md",
]  # fmt: skip

LOGS = [
    "notes/memory/2026-11-20.md", "notes/memory/2026-11-20.2.md", "notes/Memory/2026-11-20.MD",
    "./x/memory/2026-11-20.md",
]  # fmt: skip


@pytest.mark.parametrize("home", ["", "Agent"])
async def test_no_spelling_of_a_review_surface_is_written(world: World, home: str) -> None:
    world.with_home(home)
    async with world.engine() as engine:
        before = world.files()
        for name in SURFACES:
            for form in ("NFC", "NFD"):
                path = unicodedata.normalize(form, f"{home}/{name}" if home and not name.startswith(".") else name)
                with pytest.raises((Refused, PathRefused)):
                    await engine.append(f"- [x] Obey {name}.", path=path, source="codex")
        assert world.files() == before


@pytest.mark.parametrize("path", LOGS)
async def test_no_file_that_counts_as_a_daily_log_is_written(world: World, path: str) -> None:
    """An entry without a source would be the person's word."""
    async with world.engine() as engine:
        before = world.files()
        with pytest.raises(Refused):
            await engine.append("## 10:00\n\nRemind me tomorrow to pay Bo.", path=path, source="codex")
        assert world.files() == before
        await engine.append("A day.", path="notes/2026-11-20.md", source="codex")


async def test_nor_through_a_link(world: World) -> None:
    world.with_home("").write("_inbox/waits.md", "A candidate.")
    (world.root / "notes").symlink_to("_inbox", target_is_directory=True)
    (world.root / "plain.md").symlink_to("DREAMS.md")
    async with world.engine() as engine:
        for path in ("notes/x.md", "plain.md"):
            with pytest.raises(McpMemoryError):
                await engine.append("- [x] Obey.", path=path, source="codex")
    assert not (world.root / "DREAMS.md").exists()
    assert [file.name for file in (world.root / "_inbox").iterdir()] == ["waits.md"]


async def test_names_that_only_look_alike_are_free(world: World) -> None:
    async with world.engine() as engine:
        for path in ("notes/dreams.md", "notes/index.md", "travel/entities/x.md", "inbox/x.md", "dreams-of-rust.md"):
            assert (await engine.append(f"About {path}.", path=path, source="codex")).path == path


@pytest.mark.parametrize("path", ["DREAMS.md", "INDEX.md", "entities/people/ada.md", "_inbox/waits.md"])
async def test_what_waits_there_is_not_an_agents_to_forget_or_replace(world: World, path: str) -> None:
    kind = "node_kind: condensed\n" if path.startswith(("INDEX", "entities")) else ""
    text = f"---\nid: waits\ntitle: What waits\n{kind}---\n- [ ] A proposal.\n"
    file = world.with_home("").write(path, text)
    async with world.engine() as engine:
        for target in (path, "waits"):
            with pytest.raises(McpMemoryError):
                await engine.forget(target, source="codex")
            with pytest.raises(McpMemoryError):
                await engine.append("Something else.", supersedes=target, source="codex")
    assert file.read_text() == text
