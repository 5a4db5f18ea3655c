"""The files of OpenClaw's workspace, if it is the vault: shown to every client but OpenClaw itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_memory.text.tokens import count_tokens
from tests.support.briefings import begun, told
from tests.support.world import World

pytestmark = pytest.mark.anyio

FILES = {
    "MEMORY.md": "Maren drinks tea.",
    "AGENTS.md": "Greet the harbor master.\n" * 300,
    "SOUL.md": "Be as calm as a heron.",
    "TOOLS.md": "The camera is called Petrel.",
    "USER.md": "Maren lives at Bohus.",
    "memory/2026-11-21.md": "# 2026-11-21\n\n## 09:00 Sluice\n\nOiled the sluice.\n",
    "memory/2026-11-20.md": "# 2026-11-20\n\n## 09:00 Weir\n\nPainted the weir.\n",
    "memory/2026-11-19.md": "# 2026-11-19\n\n## 09:00 Barge\n\nSank the barge.\n",
}
WORDS = ("drinks tea", "harbor master", "as a heron", "called Petrel", "lives at Bohus", "Oiled", "Painted")


@pytest.fixture
def workspace(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    for path, text in FILES.items():
        world.write(path, text)
    config = tmp_path / "openclaw.json"
    config.write_text(json.dumps({"agents": {"defaults": {"workspace": str(world.root)}}}))
    monkeypatch.setenv("OPENCLAW_CONFIG_PATH", str(config))
    return world


async def test_other_clients_start_with_the_workspace_and_openclaw_without(workspace: World) -> None:
    async with workspace.engine() as engine:
        said = await begun(engine, "codex/s")
        assert [word in said for word in WORDS] == [True] * len(WORDS) and "Sank" not in said
        assert count_tokens(said) <= 4000 and said.count("harbor master") < 100, "each within its share"
        own = await begun(engine, "openclaw/s")
        assert not any(word in own for word in WORDS)
        question = "what is the camera called"
        assert "Petrel" in await told(engine, "codex/unbegun", question)
        assert "Petrel" not in await told(engine, "openclaw/s", question), "OpenClaw knows it already"


async def test_openclaw_with_another_workspace_gets_memory_as_any_client(
    workspace: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCLAW_CONFIG_PATH", "/nowhere/openclaw.json")
    async with workspace.engine() as engine:
        assert "drinks tea" in await begun(engine, "openclaw/s")


async def test_a_session_in_the_workspace_gets_nothing_that_its_client_reads_there(
    workspace: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCLAW_CONFIG_PATH", "/nowhere/openclaw.json")
    async with workspace.engine() as engine:
        shown = {
            client: [word in (await engine.brief(f"{client}/s", folder=str(workspace.root))).text for word in WORDS]
            for client in ("openclaw", "codex", "claude-code")
        }
        assert "drinks tea" in (await engine.brief("codex/t", folder="/\0\ud800")).text
    assert not any(shown["openclaw"]) and all(shown["claude-code"])
    assert shown["codex"] == [word != "harbor master" for word in WORDS], "all but AGENTS.md"


async def test_a_vault_that_is_no_workspace_shows_neither_its_files_nor_its_logs(workspace: World) -> None:
    (workspace.root / "SOUL.md").unlink()
    async with workspace.engine() as engine:
        said = await begun(engine, "codex/s")
        assert "drinks tea" in said and not any(word in said for word in WORDS[1:])
