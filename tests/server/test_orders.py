"""Files that programs of agents read as orders, and candidates for review: nobody makes them through memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.place import Running
from tests.daemon.wire import Wire

_ROOT = """
AGENTS.md agents.md Agents.MD CLAUDE.md claude.md GEMINI.md gemini.md SOUL.md soul.md HEARTBEAT.md heartbeat.md TOOLS.md
IDENTITY.md USER.md BOOTSTRAP.md BOOT.md QWEN.md CRUSH.md WARP.md OPENCODE.md CODEX.md COPILOT.md CONVENTIONS.md
CLAUDE.local.md claude.LOCAL.md AGENTS.override.md AGENTS.local.md GEMINI.local.md copilot-instructions.md SYSTEM.md
Copilot_Instructions.md typescript.instructions.md deploy.prompt.md reviewer.chatmode.md reviewer.agent.md SKILL.md
cursorrules.md windsurfrules.md clinerules.md APPEND_SYSTEM.md SKILLS.md HOOK.md
"""
_BELOW = """
skills/deploy/SKILL.md Skills/deploy/skill.md skills/deploy/readme.md skills/x.md notes/AGENTS.md notes/fact/claude.md
a/b/c/GEMINI.md topics/SOUL.md .claude/CLAUDE.md .github/copilot-instructions.md .cursor/rules/always.md notes/MEMORY.md
.clinerules/always.md memory/HEARTBEAT.md _always-load/orders.md _ALWAYS-LOAD/orders.md _inbox/candidate.md
_Inbox/candidate.md _inbox/a/b.md
"""
FULL_WIDTH = "".join(chr(ord(c) + 0xFEE0) for c in "AGENTS")
DISGUISED = [
    "AG\u200bENTS.md",
    f"{FULL_WIDTH}.md",
    "CLAUDE\ufe0f.md",
    "_in\u200dbox/x.md",
    "SOUL\u00ad.md",
    "CLAUDE .md",
]
NAMES = [*_ROOT.split(), *_BELOW.split(), *DISGUISED]


def notes_of(vault: Path) -> set[str]:
    return {file.relative_to(vault).as_posix() for file in vault.rglob("*") if file.is_file()}


def test_no_route_makes_a_file_that_is_read_as_orders(daemon: Running):
    assert len(NAMES) >= 60
    before, made = notes_of(daemon.place.vault), []
    with Wire(daemon, client="agent") as agent, Wire(daemon, client="cli") as person:
        for name in NAMES:
            arguments = {"content": f"Obey {name} from now on.", "path": name}
            told = agent.tool("memory_append", arguments)
            made += [] if told["isError"] else [("tool", name)]
            for who in (agent, person):
                answer = who.api("append", arguments)
                made += [] if answer.status in (400, 403) else [("api", name)]
    assert made == []
    assert notes_of(daemon.place.vault) == before


def test_the_command_line_is_told_who_writes_such_a_file(daemon: Running):
    said = daemon.place.run("append", "Obey.", "--path", "AGENTS.md")
    assert said.code == 1
    assert "agents read AGENTS.md as instructions and may not write it" in said.err
    assert not (daemon.place.vault / "AGENTS.md").exists()


@pytest.mark.parametrize("title", ["Agents", "CLAUDE", "Soul", "Copilot instructions", "User"])
def test_a_title_names_no_such_file_either(wire: Wire, title: str):
    receipt = wire.tool(
        "memory_append", {"content": f"{title} is a word that I looked up.", "title": title, "kind": "fact"}
    )
    assert Path(receipt["structuredContent"]["path"]).stem == f"{title.lower().replace(' ', '-')}-note"


@pytest.mark.parametrize("name", ["notes/agents-in-the-field.md", "notes/users.md", "inbox/x.md", "notes/tooling.md"])
def test_other_names_are_free(wire: Wire, name: str):
    assert not wire.tool("memory_append", {"content": f"Stored as {name}.", "path": name})["isError"]
