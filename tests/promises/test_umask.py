"""Whatever the umask, what we make is the user's alone: the vault with its notes, and the state."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_memory.client.credentials import Credentials
from mcp_memory.hooks.hook_log import HookLogLine
from mcp_memory.settings.state import StateFolder
from tests.support.world import World

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    made = [folder, *(path for path in folder.rglob("*") if ".mcp-memory" not in path.parts)]
    return [f"{path.stat().st_mode & 0o777:o} {path}" for path in made if path.stat().st_mode & 0o077]


async def test_a_vault_and_its_state(tmp_path: Path) -> None:
    world = World(tmp_path / "deep" / "vault", tmp_path / "far" / "state", tmp_path / "models")
    async with world.engine() as engine:
        note = await engine.append("The kettle is red.", kind="fact", source="codex")
        await engine.append("Bought a kettle.", kind="log", source="codex")
        await engine.append("Kettles are red.", path="MEMORY.md", section="Kitchen")
        await engine.perform("update", {"target": note.id, "text": "The kettle is blue."})
        await engine.forget(note.id)
        await engine.perform("brief", {"session": "c/s", "prompt": "Which color has the kettle?"})
        for operation in ("compact", "dream", "organize", "digest"):
            await engine.perform(operation, {"save": True} if operation == "digest" else {})
    marker = world.root / ".mcp-memory" / "vault.toml"
    modes = [path.stat().st_mode & 0o777 for path in (marker.parent, marker)]
    assert modes == [0o755, 0o644], "others may read which vault it is"
    assert [*open_to_others(tmp_path / "deep"), *open_to_others(tmp_path / "far")] == []


def test_the_state_folder_tokens_and_hooks(tmp_path: Path) -> None:
    state = StateFolder.for_vault(tmp_path, {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "a" / "b")})
    state.make()
    Credentials(state.tokens).token("codex")
    HookLogLine().write(str(tmp_path / "c" / "d" / "hooks.jsonl"))
    assert [*open_to_others(tmp_path / "a"), *open_to_others(tmp_path / "c")] == []
