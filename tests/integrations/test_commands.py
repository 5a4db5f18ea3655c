"""install, uninstall and clients, as a person runs them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mcp_memory.cli.clients.reachability import find_proxy
from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.integrations.clients import ClientPaths
from tests.daemon.place import CHECKOUT, Place
from tests.integrations.machine import tree

SERVER = "memory-vault"
"""What a vault is called that is not the configured one: our commands name it, too."""


@pytest.fixture
def home(served: Place) -> Iterator[Path]:
    """Emptied afterwards; nothing else may be written there."""
    before = tree(served.home)
    yield served.home
    assert tree(served.home) == before


def test_a_dry_run_shows_all_and_changes_nothing(served: Place, home: Path) -> None:
    shown = served.run("install", "claude-code", "--dry-run").ok().out
    assert "+++ ~/.claude.json" in shown
    assert "+++ ~/.claude/settings.json" in shown
    assert "nothing was changed" in shown
    asked = served.run("install", "claude-code", "--json")
    assert asked.code == 2
    assert "--yes" in asked.json["hint"]
    assert "letters, digits" in served.run("install", "codex", "--dry-run", "--name", "Gedächtnis").err


def test_it_asks(served: Place, home: Path) -> None:
    assert served.run("install", "codex", stdin=b"n\n").code == 130
    assert not (home / ".codex").exists()
    nobody = served.run("install", "codex", stdin=b"")
    assert (nobody.code, "pass --yes" in nobody.err) == (5, True) and not (home / ".codex").exists()
    assert "[y/N]" not in nobody.out and "change these files?" not in nobody.out, "nobody is asked"
    served.run("install", "codex", stdin=b"y\n").ok()
    for more in (["codex"], ["--all"]):
        nobody = served.run("uninstall", *more, stdin=b"")
        assert (nobody.code, "pass --yes" in nobody.err) == (5, True) and (home / ".codex" / "config.toml").exists()
    text = (home / ".codex" / "config.toml").read_text()
    assert Address.read(served.state.daemon).url in text
    assert f"headers --vault {served.vault} --client codex" in text
    assert "needs a change" in served.run("install", "codex", "--yes").ok().out
    stays = served.run("uninstall").ok().out
    assert f"Codex ({home / '.codex' / 'config.toml'}): mcp-memory uninstall codex" in stays
    assert "Claude Code" not in stays
    served.run("uninstall", "codex", stdin=b"y\n").ok()


def test_all_are_disconnected_but_one_whose_file_is_broken(served: Place, home: Path) -> None:
    before = tree(home)
    assert "no client's files contain anything of this vault" in served.run("uninstall", "--all", "--yes").ok().out
    for client in ("codex", "cursor", "vscode"):
        served.run("install", client, "--yes").ok()
    connected = tree(home)
    shown = served.run("uninstall", "--all", "--dry-run").ok().out
    assert "--- ~/.codex/config.toml" in shown and "nothing was changed" in shown
    assert served.run("uninstall", "--all", "--json").code == 2
    assert [served.run("uninstall", "--all", more).code for more in ("codex", "--purge", "--scope=project")] == [2] * 3
    assert tree(home) == connected
    file = home / ".cursor" / "mcp.json"
    text = file.read_text()
    file.write_text(text[:-2])
    ran = served.run("uninstall", "--all", stdin=b"n\ny\n")  # Codex is asked about first
    assert (ran.code, f"Cursor: not disconnected: {file}" in ran.err, "VS Code: disconnected" in ran.out) == (
        1,
        True,
        True,
    )
    assert (home / ".codex" / "config.toml").exists() and file.read_text() == text[:-2]
    file.write_text(text)
    rows = served.run("uninstall", "--all", "--yes", "--json").ok().json["clients"]
    assert [(row["client"], row["done"]) for row in rows] == [("codex", True), ("cursor", True)]
    assert tree(home) == before


def test_trust_is_codexs_to_ask_for(served: Place, home: Path) -> None:
    refused = served.run("install", "codex", "--yes", "--trust-hooks", PATH="/usr/bin:/bin")
    assert refused.code == 1 and "no codex on your PATH" in refused.err
    for more in (["claude-code"], ["codex", "--no-hooks"], ["codex", "--scope", "project"]):
        assert served.run("install", *more, "--yes", "--trust-hooks").code == 2


def test_what_the_helper_says_reaches_the_daemon(served: Place, home: Path, tmp_path: Path) -> None:
    """The command as it stands in the file, run by a shell in an agent's project."""
    served.run("install", "claude-code", "--yes").ok()
    config = home / ".claude.json"
    text = config.read_text()
    entry = json.loads(text)["mcpServers"][SERVER]
    environ = {name: served.environ[name] for name in ("HOME", "PATH")}  # all that Codex hands on
    (tmp_path / "mcp_memory.py").write_text("raise SystemExit('a module of the project was imported')\n")
    said = subprocess.run(
        ["/bin/sh", "-c", entry["headersHelper"]], env=environ, cwd=tmp_path, capture_output=True, text=True
    )
    assert json.loads(said.stdout)["Authorization"].startswith("Bearer ")
    assert said.stdout.split("Bearer ")[1].split('"')[0] not in text
    served.run("uninstall", "claude-code", "--yes").ok()


def test_what_clients_start_runs_beside_another_python(served: Place, home: Path, tmp_path: Path) -> None:
    """Its home has no library, and its modules hide those of ours."""
    (tmp_path / "json.py").write_text("raise SystemExit('a module of another Python was imported')\n")
    foreign = {"PYTHONHOME": "/nonexistent", "PYTHONPATH": str(tmp_path)}
    found = f"{Path(sys.executable).parent}:{served.environ['PATH']}"
    for client in ("claude-code", "codex", "cursor"):
        served.run("install", client, "--yes").ok()
    shipped = CHECKOUT / "configs/plugin/claude-code/hooks.json"
    hooks = json.loads((home / ".claude/settings.json").read_text())["hooks"]
    helpers = [
        json.loads((home / ".claude.json").read_text())["mcpServers"][SERVER]["headersHelper"],
        tomllib.loads((home / ".codex/config.toml").read_text())["mcp_servers"][SERVER]["http_headers_helper"],
    ]
    stdio = json.loads((home / ".cursor/mcp.json").read_text())["mcpServers"][SERVER]
    for_any = [json.loads(shipped.read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]]
    lines = [group["hooks"][0]["command"] for (group,) in hooks.values()]
    for line in [*helpers, shlex.join([stdio["command"], *stdio["args"]]), *for_any, *lines[:2], *lines[-1:]]:
        ran = subprocess.run(
            ["/bin/sh", "-c", line], input="{}", env={**served.environ, "PATH": found, **foreign}, capture_output=True,
            text=True,
        )  # fmt: skip
        assert (ran.returncode, ran.stderr) == (0, ""), (line, ran)
        assert line not in helpers or "Bearer " in ran.stdout
    for client in ("claude-code", "codex", "cursor"):
        served.run("uninstall", client, "--yes").ok()


def test_a_proxy_in_the_way_is_seen_with_what_spares_the_daemon(served: Place, home: Path) -> None:
    (home / ".claude").mkdir()
    file = home / ".claude" / "settings.json"
    file.write_text('{"env": {"NO_PROXY": "intranet"}}')
    environ = {"HTTPS_PROXY": "http://proxy:1", "NO_PROXY": "127.0.0.1", "PATH": "/usr/bin:/bin"}
    installed = served.run("install", "claude-code", "--yes", **environ).ok().out
    looked = served.run("clients", "--json", **environ).json["clients"][0]
    (way,), (todo,) = looked["wired"], [line for line in looked["todo"] if "proxy" in line]
    assert way["reachable"].startswith("HTTPS_PROXY in your environment sends Claude Code's calls to a proxy")
    assert todo in installed and todo.endswith(f'add "NO_PROXY": "intranet,127.0.0.1" to "env" in {file}')
    file.write_text(file.read_text().replace("intranet", "intranet,127.0.0.1"))
    assert served.run("clients", "--json", **environ).json["clients"][0]["wired"][0]["reachable"] is None
    served.run("uninstall", "claude-code", "--yes").ok()
    shutil.rmtree(home / ".claude")


PROXY = "http://proxy:1"


@pytest.mark.parametrize(("client", "why", "environ", "settings"), [
    ("claude-code", "http_proxy in your environment", {"http_proxy": PROXY, "NO_PROXY": "localhost,127.0.0.10"}, {}),
    ("claude-code", "ALL_PROXY in FILE", {}, {"ALL_PROXY": "socks5://proxy:1"}),
    ("claude-code", "HTTP_PROXY in FILE", {"HTTP_PROXY": ""}, {"HTTP_PROXY": PROXY}),
    ("claude-code", None, {"HTTP_PROXY": PROXY, "no_proxy": "x, 127.0.0.1", "NO_PROXY": "y"}, {}),
    ("claude-code", None, {"HTTP_PROXY": PROXY, "NO_PROXY": "*", "no_proxy": ""}, {}),
    ("claude-code", None, {"HTTP_PROXY": PROXY, "no_proxy": "x", "NO_PROXY": "10.0.0.0/8 127.0.0.0/8"}, {}),
    ("claude-code", "HTTP_PROXY in your environment", {"HTTP_PROXY": PROXY, "NO_PROXY": "127.*,0.0.1,127.0.0.1:1"}, {}),
    ("claude-code", None, {"HTTP_PROXY": PROXY}, {"NO_PROXY": "localhost,127.0.0.1:8423"}),
    ("claude-code", None, {"HTTP_PROXY": PROXY}, {"HTTP_PROXY": ""}),
    ("claude-code", None, {"http_proxies": PROXY}, {}),
    ("codex", "HTTP_PROXY in your environment", {"HTTP_PROXY": PROXY}, {"NO_PROXY": "*"}),
    ("codex", None, {"HTTPS_PROXY": PROXY}, {}),
    ("codex", None, {"ALL_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8 127.0.0.0/8"}, {}),
    ("openclaw", None, {"HTTP_PROXY": PROXY}, {}),
    ("cursor", None, {"HTTP_PROXY": PROXY}, {}),
])  # fmt: skip
def test_proxies_are_taken_as_each_client_does(
    tmp_path: Path, client: str, why: str | None, environ: dict[str, str], settings: dict[str, str]
) -> None:
    file = tmp_path / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"env": settings}))
    found = find_proxy(client, "http://127.0.0.1:8423/mcp", ClientPaths(tmp_path, environ))
    assert (found and found.why.partition(" sends ")[0]) == (why and why.replace("FILE", str(file)))


def test_another_program_that_answers_at_the_daemons_port_is_not_the_daemon(served: Place, home: Path) -> None:
    """As another user's, which asks for a token of its own."""
    served.run("install", "claude-code", "--yes").ok()
    with refusing_with_401() as port:
        address = Address.read(served.state.daemon)
        url, config = address.url, home / ".claude.json"
        try:
            Address("127.0.0.1", port, "", address.pid, address.version, address.vault).write(served.state.daemon)
            config.write_text(config.read_text().replace(url, f"http://127.0.0.1:{port}/mcp"))
            looked = served.run("clients", "--json", PATH="/usr/bin:/bin").json["clients"]
            (way,) = looked[0]["wired"]
        finally:
            address.write(served.state.daemon)
    assert way["reachable"], "what answers has not proved to be the daemon"
    served.run("uninstall", "claude-code", "--yes")


@contextmanager
def refusing_with_401() -> Iterator[int]:
    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_POST = do_GET

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_the_doctor_looks_at_clients(served: Place, home: Path) -> None:
    """Empty programs stand in for the clients; the entries and the daemon are real."""
    programs = home.parent / "programs"
    for folder in ("new", "old"):
        for name in ("claude", "codex"):
            file = programs / folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o755)
    path = os.pathsep.join([str(programs / "new"), str(programs / "old"), "/usr/bin", "/bin"])
    for client in ("claude-code", "openclaw"):
        served.run("install", client, "--yes").ok()
    looked = served.run("clients", "--json", PATH=path)
    claude, codex, openclaw = looked.json["clients"][:3]
    assert looked.code == 1
    assert claude["found"] == str(programs / "new" / "claude")
    assert claude["todo"] == []
    wired = {"scope": "user", "how": "install", "file": str(home / ".claude.json"), "reachable": None}
    assert claude["wired"] == [wired]
    assert set(claude["hooks"].values()) == {"trusted"}
    assert codex["todo"][0] == "not connected: mcp-memory install codex"
    assert openclaw["found"] is None
    assert [(way["how"], way["reachable"]) for way in openclaw["wired"]] == [("install", None)]
    assert openclaw["hooks"] == {"plugin": "wired"}

    settings = home / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace("{", '{"disableAllHooks": true,', 1))
    config = home / ".openclaw" / "openclaw.json"
    installed = config.read_text()
    entries = json.loads(installed)["plugins"]["entries"]
    entries |= {"mcp-memory": {**entries["mcp-memory"], "enabled": False}, "memory-core": {"enabled": True}}
    config.write_text(json.dumps({"plugins": {**json.loads(installed)["plugins"], "entries": entries}}))
    looked = served.run("clients", "--json", PATH=path).json["clients"]
    assert set(looked[0]["hooks"].values()) == {"off"}
    assert looked[2]["hooks"] == {"plugin": "off"}
    assert "hooks are off: mcp-memory install openclaw" in looked[2]["todo"]
    assert any("its own memory tools in place of ours" in line for line in looked[2]["todo"])
    config.write_text(installed)
    settings.write_text(settings.read_text().replace('"disableAllHooks": true,', "", 1))
    for client in ("claude-code", "openclaw"):
        served.run("uninstall", client, "--yes").ok()


def test_openclaws_workspace_is_offered_and_left_as_it_is(served: Place, home: Path, tmp_path: Path) -> None:
    workspace = home / ".openclaw" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "memory" / "2026-11-01.md").write_text("- Ada moors at Ven.\n")
    before = tree(home)
    shown = served.run("install", "openclaw", "--dry-run").ok().out
    assert f"mcp-memory import {workspace}" in shown and "under [vault.sources]" in shown
    installed = served.run("install", "openclaw", "--yes").ok().out
    assert f"mcp-memory import {workspace}" in installed
    served.run("uninstall", "openclaw", "--yes").ok()
    assert tree(home) == before
    configured = tmp_path / "config.toml"
    configured.write_text(f'[vault.sources]\nopenclaw = "{workspace}"\n')
    read = served.run("install", "openclaw", "--dry-run", "--config", str(configured)).ok().out
    assert "under [vault.sources]" not in read, "searched in place"
    shutil.rmtree(home / ".openclaw")


def test_a_client_that_is_not_there_is_said(served: Place, home: Path) -> None:
    shown = served.run("install", "claude-code", "--dry-run", PATH="/usr/bin:/bin").ok().out
    assert "claude was not found on your PATH: it reads these files once it is there" in shown


def test_the_lines_that_another_vault_needs_stay(served: Place, home: Path) -> None:
    served.run("install", "claude-code", "--yes").ok()
    config, lines = home / ".claude.json", home / ".claude" / "CLAUDE.md"
    alone = config.read_text()
    told = json.loads(alone)
    entry = {**told["mcpServers"][SERVER], "headersHelper": "mcp-memory headers --client claude-code"}
    config.write_text(json.dumps({"mcpServers": {"memory": entry, **told["mcpServers"]}}))
    served.run("uninstall", "claude-code", "--yes").ok()
    assert json.loads(config.read_text()) == {"mcpServers": {"memory": entry}}
    assert "memory_search" in lines.read_text(), "the default vault is connected still"
    served.run("install", "claude-code", "--yes").ok()
    config.write_text(alone)
    served.run("uninstall", "claude-code", "--yes").ok()
    for left in home.glob(".claude.json*"):  # and what it was while the other vault was connected
        left.unlink()


def test_no_backup_is_left_beside_another_link_to_the_file(served: Place, home: Path) -> None:
    """Two clients know one file under two names: the one that was there first kept its copy beside its own."""
    before = tree(home)
    shared = home / "dotfiles" / "AGENTS.md"
    shared.parent.mkdir()
    shared.write_text("Use tabs.\n")
    links = [home / ".claude" / "CLAUDE.md", home / ".codex" / "AGENTS.md"]
    for link in links:
        link.parent.mkdir()
        link.symlink_to(shared)
    linked = tree(home)
    for command in ("install", "uninstall"):
        for client in ("claude-code", "codex"):
            served.run(command, client, "--yes").ok()
    assert tree(home) == linked
    for place in (*links, *(link.parent for link in links), shared, shared.parent):
        place.rmdir() if place.is_dir() else place.unlink()
    assert tree(home) == before


@pytest.mark.parametrize("program", ["./mcp-memory", "{repo}/mcp-memory"])
def test_the_doctor_runs_no_strangers_command(served: Place, home: Path, program: str, tmp_path: Path) -> None:
    """A cloned repository brings an entry that looks like ours, and a program of our name."""
    (tmp_path / ".git").mkdir()
    evil = tmp_path / "mcp-memory"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    evil.chmod(0o755)
    line = f"{program.format(repo=tmp_path)} headers --vault {served.vault} --client claude-code"
    entry = {"type": "http", "url": Address.read(served.state.daemon).url, "headersHelper": line}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"memory": entry}}))
    looked = served.run("clients", "--json", cwd=tmp_path, PATH="/usr/bin:/bin").json
    wired = looked["clients"][0]["wired"]
    assert not (tmp_path / "was-run").exists()
    assert all("names another command" in each["reachable"] for each in wired), "nor is it called fine"
    assert len(wired) == (program != "./mcp-memory")


def test_the_doctor_says_what_a_helper_lacks(served: Place, home: Path) -> None:
    """A line that finds this state folder only where its client hands our variables on; Codex does not."""
    served.run("install", "codex", "--yes", "--no-hooks").ok()
    config, programs = home / ".codex" / "config.toml", home.parent / "programs"
    text = config.read_text()
    line = f"mcp-memory headers --vault {served.vault} --client codex"
    config.write_text(re.sub("(?m)^http_headers_helper = .*", f'http_headers_helper = "{line}"', text))
    programs.mkdir(exist_ok=True)
    (programs / "mcp-memory").touch(mode=0o755)
    looked = served.run("clients", "--json", PATH=f"{programs}:/usr/bin:/bin").json["clients"]
    assert f"without MCP_MEMORY_STATE={served.root / 'state'}" in looked[1]["wired"][0]["reachable"]
    config.write_text(text)
    served.run("uninstall", "codex", "--yes").ok()


def test_the_doctor_sees_stdio_and_what_comes_twice(served: Place, home: Path, tmp_path: Path) -> None:
    """A person's own entry is tried with this program alone: the one that it names is never started."""
    evil = tmp_path / "mcp-memory"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    evil.chmod(0o755)
    served.run("install", "codex", "--yes", "--no-hooks").ok()
    config = home / ".codex" / "config.toml"
    options = f'args = ["stdio", "--vault", "{served.vault}", "--client", "mine"]'
    mine = f'\n[mcp_servers.mine]\ncommand = "{evil}"\n{options}\n'
    other = '\n[mcp_servers.other]\ncommand = "mcp-memory"\nargs = ["stdio", "--client", "mine"]\n'
    config.write_text(config.read_text() + mine + other)
    codex = served.run("clients", "--json", PATH="/usr/bin:/bin").json["clients"][1]
    assert [(each["how"], each["file"]) for each in codex["wired"]] == [
        (how, str(config)) for how in ("install", "stdio")
    ]
    assert codex["wired"][0]["reachable"] is None and "names another command" in codex["wired"][1]["reachable"]
    assert any("by install and over stdio" in line for line in codex["todo"])
    assert not (tmp_path / "was-run").exists()
    config.write_text(config.read_text().replace(mine, "").replace(other, ""))
    served.run("uninstall", "codex", "--yes").ok()


def test_who_called_last(served: Place) -> None:
    visitor = DaemonConnection(Address.read(served.state.daemon), served.credentials, client="visitor")
    visitor.call("search", {"query": "anything"})
    assert "visitor" in served.run("status", "--json").ok().json["clients"]
    assert "visitor (20" in served.run("status").ok().out


def test_a_project(served: Place, home: Path) -> None:
    repo = served.root / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / "deep").mkdir()
    refused = served.run("install", "codex", "--scope", "project", "--yes")
    assert refused.code == 1
    assert "git repository" in refused.err

    run = partial(served.run, cwd=repo / "deep")
    shown = run("install", "claude-code", "--scope", "project", "--yes").ok().out
    assert f"name this machine's address, {Address.read(served.state.daemon).url}" in shown
    entry = json.loads((repo / ".mcp.json").read_text())["mcpServers"][SERVER]
    assert "--project repo" in entry["headersHelper"]
    assert (repo / "CLAUDE.md").is_file()
    assert "--scope project" in run("uninstall").ok().out
    (repo / "AGENTS.md").symlink_to("CLAUDE.md")
    run("install", "codex", "--scope", "project", "--yes").ok()
    run("uninstall", "claude-code", "--scope", "project", "--yes").ok()
    assert "memory_search" in (repo / "AGENTS.md").read_text(), "Codex still reads it"
    run("uninstall", "codex", "--scope", "project", "--yes").ok()
    assert sorted(path.name for path in repo.iterdir()) == [".git", "AGENTS.md", "deep"]
    assert run("install", "openclaw", "--scope", "project", "--yes").code == 1
