"""The packages for clients' own shops: true to what they are made from, and made anew by one command."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from mcp_memory.cli.clients.plugin import differing, marketplace, plugin_files
from mcp_memory.integrations.clients import HOOK_EVENTS
from mcp_memory.integrations.commands import LAUNCHER
from mcp_memory.integrations.plugin_bundle import ABOUT, BY_HAND, FOLDER
from tests.clients.agents import TEMPLATES
from tests.daemon.place import CHECKOUT, Place

SHOP = CHECKOUT / FOLDER


def test_the_shipped_files_are_what_the_command_makes(served: Place) -> None:
    assert marketplace() == CHECKOUT
    assert differing(CHECKOUT, plugin_files(None)) == []
    assert "as generated" in served.run("clients", "plugin", "--check").ok().out
    assert "--here" in served.run("clients", "plugin").ok().out, "this vault and its address are not any machine's"
    generated = {*plugin_files(None)}
    there = {str(p.relative_to(CHECKOUT)) for root in (SHOP, CHECKOUT / ".claude-plugin") for p in _files(root)}
    assert there == generated, "nothing else lies there"


def test_a_file_that_has_drifted_is_named(tmp_path: Path) -> None:
    files = plugin_files(None)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    drifted, missing = f"{FOLDER}/codex/hooks.json", f"{FOLDER}/package.json"
    (tmp_path / drifted).write_text(files[drifted].replace("mcp-memory", "mcp_memory", 1))
    (tmp_path / missing).unlink()
    assert sorted(differing(tmp_path, files)) == [drifted, missing]


def test_they_say_what_install_says() -> None:
    """One source: the templates that people paste, and the events that install wires."""
    claude, codex = _json(".claude-plugin/plugin.json"), _json("codex/mcp.json")["mcpServers"]["memory"]
    entry = json.loads((TEMPLATES / "claude-code.json").read_text())
    assert claude["mcpServers"]["memory"] == {**entry, "url": "${user_config.url}"}
    assert claude["userConfig"]["url"]["default"] == entry["url"]
    assert codex == tomllib.loads((TEMPLATES / "codex.toml").read_text())["mcp_servers"]["memory"]
    for client in ("claude-code", "codex"):
        hooks = _json(f"{client}/hooks.json")["hooks"]
        assert {name: group["hooks"][0]["command"] for name, (group,) in hooks.items()} == {
            name: f"{LAUNCHER} mcp-memory hook {event.name} --client {client}"
            for name, event in HOOK_EVENTS[client].items()
        }
    default = _json("openclaw.plugin.json")["configSchema"]["properties"]["command"]["default"]
    assert default == f"{LAUNCHER} mcp-memory hook EVENT --client openclaw"
    assert f'"{LAUNCHER} mcp-memory hook EVENT --client opencode"' in (SHOP / "opencode.js").read_text()
    assert tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["description"] == ABOUT


def test_the_skill_names_only_what_there_is() -> None:
    skill = (SHOP / "skills/long-term-memory/SKILL.md").read_text()
    assert skill.startswith("---\nname: long-term-memory\ndescription: ")
    for tool in ("memory_search", "memory_recall", "memory_append", "memory_forget"):
        assert f"`{tool}`" in skill
    assert "- `decision`: what was decided, and why" in skill and "{" not in skill


def test_npm_has_nothing_to_fetch() -> None:
    assert {"dependencies", "devDependencies", "peerDependencies", "scripts"}.isdisjoint(_json("package.json"))
    lines = [line for file in SHOP.glob("*.js") for line in file.read_text().splitlines()]
    imported = [re.search('from "(.*)";', line)[1] for line in lines if line.startswith("import ")]
    assert imported and all(name.startswith(("node:", "./")) for name in imported)
    assert {name for name in BY_HAND if name.endswith(".js")} == {file.name for file in SHOP.glob("*.js")}


def test_made_for_this_machine_they_name_its_program_and_vault(served: Place, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shown = served.run("clients", "plugin", "--write", str(shop), "--here").ok().out
    assert f"claude plugin marketplace add {shop} && claude plugin install mcp-memory@mcp-memory" in shown
    for client in ("claude-code", "codex"):
        assert f"--vault {served.vault}" in (shop / FOLDER / client / "hooks.json").read_text()
    assert f"--vault {served.vault}" in (shop / FOLDER / "openclaw.plugin.json").read_text()
    assert (shop / FOLDER / "index.js").read_bytes() == (SHOP / "index.js").read_bytes()
    assert served.run("clients", "plugin", "--check", "--write", str(shop)).code == 2


def test_the_wheel_carries_them_where_they_are_looked_for() -> None:
    """As hatchling is told to place them; `configs` and the marketplace lie beside each other there as they do here."""
    targets = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"]["force-include"] == {
        "configs": "mcp_memory/configs", ".claude-plugin": "mcp_memory/.claude-plugin",
    }  # fmt: skip
    assert {name.partition("/")[0] for name in plugin_files(None)} <= {*targets["sdist"]["include"]}


def _files(root: Path) -> list[Path]:
    return [place for place in root.rglob("*") if place.is_file()]


def _json(name: str) -> dict:
    return json.loads((SHOP / name).read_text())
