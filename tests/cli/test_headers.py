"""`mcp-memory headers`: an agent's start waits for it, so it imports nothing that is slow."""

from __future__ import annotations

import json
import subprocess
import sys

import frontmatter

from mcp_memory.client.connection import Address
from tests.daemon.place import Place, Running
from tests.daemon.wire import Wire
from tests.support.repositories import repository
from tests.support.slow_modules import SLOW

REPORT = """
import json, sys
sys.argv = ["mcp-memory", "headers", *sys.argv[1:]]
before = set(sys.modules)
from mcp_memory.cli import main
code = main()
new = {name.partition(".")[0] for name in set(sys.modules) - before}
new -= {*sys.stdlib_module_names, "mcp_memory"}
print(json.dumps({"code": code, "new": sorted(new), "all": [*sys.modules]}))
"""


def test_headers_of_a_client(served: Place):
    headers = served.run("headers", "--client", "my-editor").ok().json
    assert headers == {"Authorization": f"Bearer {served.credentials.token('my-editor')}"}
    project = served.run("headers", "--client", "my-editor", "--project", "mill").ok().json
    assert project.pop("Mcp-Memory-Folder") and project == {**headers, "Mcp-Memory-Project": "mill"}
    assert served.run("headers", "--vault", str(served.vault)).ok().json == served.run("headers").ok().json


def test_clients_that_run_it_in_the_folder_of_their_session_get_its_project(served: Place):
    folder = repository(served.root / "mühle 100%") / "src"
    folder.mkdir()
    repository(served.root / "other" / "mühle 100%")
    for client, more, project in (
        ("codex", (), "mühle 100%"), ("codex", ("--project", "weir"), "weir"),
        ("gemini", (), "mühle 100%"), ("opencode", (), "mühle 100%"),
        ("claude-code", (), None), ("codex", ("other",), "mühle 100% (other)"),
        ("claude-code", ("other", "--project", "mühle 100%"), "mühle 100% (other)"),
    ):  # fmt: skip
        at = served.root / "other" / "mühle 100%" if more[:1] == ("other",) else folder
        options = [word for word in more if word != "other"]
        headers = served.run("headers", "--client", client, *options, cwd=at).json
        assert all(map(str.isascii, headers.values()))
        with Wire(Running(served, Address.read(served.state.daemon)), client=client) as wire:
            said = {"content": f"Flour is ground by {client} at {at} {more}."}
            receipt = wire.tool("memory_append", said, **headers)["structuredContent"]
        assert frontmatter.load(str(served.vault / receipt["path"])).metadata.get("project") == project


def test_without_a_daemon_an_empty_object_and_the_reason(place: Place):
    ran = place.run("headers")
    assert (ran.code, ran.json) == (3, {})
    assert "mcp-memory start" in ran.err


def test_only_the_standard_library_is_imported_and_none_of_its_slow_parts(served: Place):
    served.credentials.token("quick")
    done = subprocess.run(
        [sys.executable, "-c", REPORT, "--client", "quick"],
        env=served.environ,
        capture_output=True,
        text=True,
        timeout=60,
    )
    printed, report = map(json.loads, done.stdout.splitlines())
    assert printed["Authorization"].startswith("Bearer ")
    assert (report["code"], report["new"]) == (0, [])
    assert SLOW.isdisjoint(report["all"])


def test_of_the_configuration_only_what_it_needs_is_judged(served: Place):
    file = served.root / "odd.toml"
    file.write_text("[daemon]\nlog_level = 'shouting'\n[vault]\npath = '/nowhere'\n", encoding="utf-8")
    asked = served.run("headers", "--config", str(file))
    assert asked.json == served.run("headers").ok().json, "the environment names the vault"
    file.write_text("[vault]\npath = 7\n", encoding="utf-8")
    ran = served.run("headers", "--config", str(file), MCP_MEMORY_VAULT="")
    assert (ran.code, ran.json) == (2, {})
    assert "vault.path" in ran.err
    assert "a string" in ran.err
    file.write_text("vault = 7\n", encoding="utf-8")
    assert "vault in " in served.run("headers", "--config", str(file), MCP_MEMORY_VAULT="").err


def test_a_project_that_would_break_the_header(served: Place):
    for name in ("a\nb", "a\r\nX: y", "\x1b[2J"):
        ran = served.run("headers", "--project", name)
        assert (ran.code, ran.json) == (2, {}), name


def test_a_project_of_any_letters_arrives(served: Place):
    name = "Büro 100% 茶"
    address = Address.read(served.state.daemon)
    headers = served.run("headers", "--client", "any-letters", "--project", name).ok().json
    assert headers["Mcp-Memory-Project"].isascii()
    with Wire(Running(served, address), client="any-letters") as wire:
        receipt = wire.tool("memory_append", {"content": "Tea is kept in the office."}, **headers)["structuredContent"]
    assert frontmatter.load(str(served.vault / receipt["path"])).metadata["project"] == name
