"""The packages for clients' own shops say what install says."""

from __future__ import annotations

import json
import re
import tomllib

from mcp_memory.cli.clients.clients import PLUGIN_FOLDER
from mcp_memory.integrations.clients import CLIENTS
from mcp_memory.integrations.commands import LAUNCHER
from mcp_memory.vault.config import SHIPPED_KINDS
from tests.clients.agents import TEMPLATES
from tests.daemon.place import CHECKOUT, Place

SHOP = CHECKOUT / PLUGIN_FOLDER


def test_they_say_what_install_says() -> None:
    """One source: the templates that people paste, and the events that install wires."""
    claude, codex = _json(".claude-plugin/plugin.json"), _json("codex/mcp.json")["mcpServers"]["memory"]
    entry = json.loads((TEMPLATES / "claude-code.json").read_text())
    assert claude["mcpServers"]["memory"] == {**entry, "url": "${user_config.url}"}
    assert claude["userConfig"]["url"]["default"] == entry["url"]
    assert codex == tomllib.loads((TEMPLATES / "codex.toml").read_text())["mcp_servers"]["memory"]
    for client in ("claude-code", "codex"):
        described = CLIENTS[client]
        commands = {
            name: f"{LAUNCHER} mcp-memory hook {event.name} --client {client}"
            for name, event in described.hooks.items()
        }
        hooks = described.hook_entries(commands, None, "plugin_mcp-memory_memory")
        assert (SHOP / client / "hooks.json").read_text() == hooks.insert("")
    default = _json("openclaw.plugin.json")["configSchema"]["properties"]["command"]["default"]
    assert default == f"{LAUNCHER} mcp-memory hook EVENT --client openclaw"
    assert f'"{LAUNCHER} mcp-memory hook EVENT --client opencode"' in (SHOP / "opencode.js").read_text()
    shop = json.loads((CHECKOUT / ".claude-plugin/marketplace.json").read_text())["plugins"][0]
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    manifests = map(_json, (".codex-plugin/plugin.json", "openclaw.plugin.json", "package.json"))
    for about in (shop, claude, *manifests):
        assert (about["version"], about["description"]) == (project["version"], project["description"])


def test_the_skill_names_only_what_there_is() -> None:
    skill = (SHOP / "skills/long-term-memory/SKILL.md").read_text()
    assert skill.startswith("---\nname: long-term-memory\ndescription: ")
    for tool in ("memory_search", "memory_recall", "memory_append", "memory_forget"):
        assert f"`{tool}`" in skill
    assert all(f"- `{name}`: {kind.about}\n" in skill for name, kind in SHIPPED_KINDS.items())


def test_npm_has_nothing_to_fetch() -> None:
    assert {"dependencies", "devDependencies", "peerDependencies", "scripts"}.isdisjoint(_json("package.json"))
    lines = [line for file in SHOP.glob("*.js") for line in file.read_text().splitlines()]
    imported = [re.search('from "(.*)";', line)[1] for line in lines if line.startswith("import ")]
    assert imported and all(name.startswith(("node:", "./")) for name in imported)


def test_the_command_prints_how_to_add_it(served: Place) -> None:
    shown = served.run("clients", "plugin").ok().out
    assert f"claude plugin marketplace add {CHECKOUT} && claude plugin install mcp-memory@mcp-memory" in shown
    assert f"openclaw plugins install --link {SHOP} " in shown


def test_the_wheel_carries_them_where_they_are_looked_for() -> None:
    """As hatchling is told to place them; `configs` and the marketplace lie beside each other there as they do here."""
    targets = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"]["force-include"] == {
        "configs": "mcp_memory/configs", ".claude-plugin": "mcp_memory/.claude-plugin",
    }  # fmt: skip
    assert {".claude-plugin", "configs"} <= {*targets["sdist"]["include"]}


def _json(name: str) -> dict:
    return json.loads((SHOP / name).read_text())
