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

NOT_BY_OPENCLAW = ["called Petrel", "Oiled", "Painted"]
"""OpenClaw 2026.9.6 reads neither TOOLS.md nor the logs: seen in its requests to a model."""


@pytest.fixture
def workspace(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    for path, text in FILES.items():
        world.write(path, text)
    config = tmp_path / "openclaw.json"
    config.write_text(json.dumps({"agents": {"defaults": {"workspace": str(world.root)}}}))
    monkeypatch.setenv("OPENCLAW_CONFIG_PATH", str(config))
    return world


async def test_other_clients_start_with_the_workspace_and_openclaw_with_what_it_does_not_read(workspace: World) -> None:
    async with workspace.engine() as engine:
        said = await begun(engine, "codex/s")
        assert [word in said for word in WORDS] == [True] * len(WORDS) and "Sank" not in said
        assert count_tokens(said) <= 4000 and said.count("harbor master") < 100, "each within its share"
        own = await begun(engine, "openclaw/s")
        assert [word for word in WORDS if word in own] == NOT_BY_OPENCLAW
        question = "where does Maren live"
        assert "Bohus" in await told(engine, "codex/unbegun", question)
        assert "Bohus" not in await told(engine, "openclaw/s", question), "OpenClaw knows it already"
        assert "Petrel" in await told(engine, "openclaw/unbegun", "what is the camera called")


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
    assert shown["openclaw"] == [word in NOT_BY_OPENCLAW for word in WORDS] and all(shown["claude-code"])
    assert shown["codex"] == [word != "harbor master" for word in WORDS], "all but AGENTS.md"


async def test_a_vault_that_is_no_workspace_shows_neither_its_files_nor_its_logs(workspace: World) -> None:
    (workspace.root / "SOUL.md").unlink()
    async with workspace.engine() as engine:
        said = await begun(engine, "codex/s")
        assert "drinks tea" in said and not any(word in said for word in WORDS[1:])


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("CLAUDE.md", "@AGENTS.md"), (".claude/CLAUDE.md", "Read this: @../more.md.\n"), ("CLAUDE.md", None),
        ("CLAUDE.md", "Not `@AGENTS.md`.\n```\n@AGENTS.md\n```\n@/etc/passwd @nowhere.md @\0"),
    ],
)  # fmt: skip
async def test_claude_code_gets_no_file_that_its_own_file_imports(
    workspace: World, place: str, text: str | None
) -> None:
    workspace.write("more.md", "@AGENTS.md @more.md")
    workspace.write("sub/x.md", "")
    if text is None:
        (workspace.root / place).symlink_to("AGENTS.md")
    else:
        workspace.write(place, text)
    async with workspace.engine() as engine:
        for folder in (workspace.root, workspace.root / "sub"):
            said = (await engine.brief("claude-code/s", folder=str(folder))).text
            is_held_back = text is None or "Not" not in text
            assert ("harbor master" in said) is not is_held_back and "as a heron" in said
        elsewhere = await engine.brief("claude-code/t", folder=str(workspace.root.parent))
        assert "harbor master" in elsewhere.text
