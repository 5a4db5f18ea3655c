"""setup: what it finds, does, says and leaves alone; answered on a terminal, interrupted, repeated, and in a pipe."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place, end
from tests.support.mounts import mount, permit, unmounted_at_last
from tests.support.terminal import INTERRUPT, answered

FACT = "---\ndescription: Python packages come from uv, never pip\ntype: feedback\n---\nUse `uv`.\n"
STATED = "We decided to keep the job queue in SQLite."


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """No client's program is on the PATH."""
    made = Place(tmp_path, tmp_path / "models", {**KEYWORDS_ONLY, "PATH": "/usr/bin:/bin"}).make()
    yield made
    end(made)


@pytest.fixture
def home(place: Place) -> Path:
    """Claude Code and Codex have been used there, Claude Code in one session, and it has remembered a fact."""
    project = place.home / ".claude/projects/-home-ada-shop"
    (project / "memory").mkdir(parents=True)
    (project / "memory/uv.md").write_text(FACT)
    os.utime(project / "memory/uv.md", (1.7e9, 1.7e9))
    said = {"type": "user", "uuid": "1", "sessionId": "s", "cwd": "/home/ada/shop"} | {
        "timestamp": datetime.now(UTC).isoformat(), "message": {"role": "user", "content": STATED},
    }  # fmt: skip
    (project / "00000000-0000-4000-8000-000000000000.jsonl").write_text(json.dumps(said) + "\n")
    (place.home / ".codex").mkdir()
    return place.home


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_yes_does_it_all_once(place: Place, home: Path):
    (home / ".codex/memories_v2").mkdir()
    (home / ".codex/memories_v2/memory_summary.md").write_text("v1\n\n## User Profile\n\nSells lamps.\n")
    said = place.run("setup", "--yes").ok().out
    for line in (
        "Claude Code: connected\n",
        "Codex: connected\n",
        "not found, neither program nor folder: OpenClaw, Gemini CLI, opencode, ",
        "1 session, 1 to read",
        "read: 1 message; 1 note stored (mcp-memory changes --all-projects)",
        "imported: 1 new",
        "Codex: 1 note in ~/.codex/memories_v2, 1 of them new",
        "off: enabled = false under [hooks]",
    ):
        assert line in said, line
    files = _tree(home)
    again = place.run("setup", "--yes", "--json").ok().json
    assert [row["state"] for row in again["clients"]] == ["connected already"] * 2 + ["not found"] * 5
    assert again["past_sessions"]["unread"] == 0
    assert again["memories"][0]["counts"] == {"unchanged": 1}
    assert _tree(home) == files
    assert "connected: Claude Code, Codex; " in place.run("start").ok().out


def test_interrupted_at_any_question_it_goes_on_and_says_what_is_done(place: Place, home: Path):
    def stopped(*answers: str) -> str:
        ran = answered(place, ["setup"], [*answers, INTERRUPT])
        assert ran.code == 130, ran
        assert "finished steps are kept. To continue: mcp-memory setup" in ran.out
        return ran.out

    no, yes = "n\n", "y\n"
    assert "Connect Claude Code with these changes? d shows them [Y/n]" in stopped()
    assert "Not connected. Later: mcp-memory install claude-code" in stopped(no)  # at Codex
    assert "Codex: connected\n" in stopped(no, yes)  # at the sessions
    assert "read: 1 message" in stopped(no, yes)  # at what Claude Code remembers: Codex is not asked for again
    ended = answered(place, ["setup"], [no, yes])
    assert ended.code == 0, ended
    for line in (
        "Codex (~/.codex): connected already",
        "1 session, all already read",
        "imported: 1 new",
    ):
        assert line in ended.out, line
    assert not (home / ".claude.json").exists()
    both = answered(place, ["setup", "--client", "claude-code"], ["d\n", yes])
    assert both.out.count("+++ ~/.claude.json") == 1 and both.out.index("d shows them") < both.out.index("+++ "), both
    assert "unless you set autoMemoryEnabled to false" in " ".join(both.out.split()), both
    place.run("uninstall", "claude-code", "--yes").ok()
    assert not (home / ".claude/settings.json").exists(), "it was ours alone"


def test_without_a_terminal_nothing_is_changed(place: Place, home: Path):
    before = _tree(home)
    ran = place.run("setup")
    assert (ran.code, "pass --yes" in ran.err) == (5, True), ran
    assert "+++ " not in ran.out and "    ~/.claude.json: " in ran.out, "a summary"
    assert "Codex: would be connected" in ran.out
    assert "1 session, 1 to read" in ran.out
    assert place.run("setup", "--json").json["clients"][0]["state"] == "would be connected"
    assert place.run("setup", "--dry-run").code == 0
    assert _tree(home) == before
    assert not place.vault.exists()


def test_a_broken_configuration_is_named_and_the_other_client_connected(place: Place, home: Path):
    broken = home / ".claude.json"
    broken.write_text('{"mcpServers": {\n')
    ran = place.run("setup", "--yes", "--no-past")
    assert ran.code == 1
    assert (
        f"Claude Code (~/.claude): not connected: {broken}: line 2, column 1: a name in quotes was expected" in ran.out
    )
    assert "Codex: connected" in ran.out
    assert broken.read_text() == '{"mcpServers": {\n'
    assert not (home / ".claude/settings.json").exists()
    assert "Past sessions\n  left alone\n" in ran.out


UNREAD = {
    "claude-code": [".claude.json", ".claude/settings.json"],
    "codex": [".codex/hooks.json"],
}


@pytest.mark.parametrize("client", UNREAD)
def test_a_file_that_its_client_would_not_load_is_refused(place: Place, home: Path, client: str):
    for name in UNREAD[client]:
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{\n  // mine\n}\n")
        before = _tree(home)
        ran = place.run("install", client, "--dry-run")
        assert (ran.code, f"loads nothing of {file}: line 2, column 3" in ran.err) == (1, True), ran
        listed = place.run("setup", "--client", client, "--dry-run", "--no-past")
        assert (listed.code, f"loads nothing of {file}" in listed.out) == (1, True), listed
        assert _tree(home) == before
        file.unlink()


def test_a_home_without_clients_and_one_that_is_read_only(place: Place):
    ran = place.run("setup")
    assert (ran.code, "no client was found: install one" in ran.err, "--yes" in ran.err) == (5, True, False), ran
    ran = place.run("setup", "--yes").ok()
    assert "Try it: tell an agent something to remember" in ran.out
    assert ran.out.rstrip().splitlines()[-1].startswith("See your memory in a browser: mcp-memory open")
    assert "None was found. Install one and run this again" in ran.out
    place.run("stop").ok()
    with unmounted_at_last(place.home):
        mount("--bind", place.home, place.home)
        permit(place.home, writing=False)
        there = str(place.home / "memory")
        ran = place.run("setup", "--yes", MCP_MEMORY_VAULT=there, MCP_MEMORY_STATE=str(place.home / "state"))
        assert ran.code == 1
        assert (
            "cannot use the state folder" in ran.err
            and "set MCP_MEMORY_STATE to a folder that you can write" in ran.err
        )
        asked = place.run("setup", "--yes", "--client", "codex")
        assert asked.code == 1
        assert "you may not write to the folder" in asked.out
        for client in ("claude-code", "codex", "cursor"):
            refused = place.run("install", client, "--yes")
            assert "you may not write" in refused.err and "the same command with --dry-run" in refused.err
            assert "+" in place.run("install", client, "--dry-run").ok().out


@pytest.fixture
def program(place: Place) -> Mapping[str, Any]:
    """The environment of a machine with Claude Code's program, which is never started."""
    program = place.home / "bin" / "claude"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 9\n")
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:/usr/bin:/bin"}


def test_a_language_model_reads_sessions_only_if_it_was_chosen(place: Place, program: Mapping[str, Any]):
    config = place.home / ".config/mcp-memory/config.toml"
    for options in (("--yes",), ("--dry-run",), ()):
        said = place.run("setup", "--no-past", *options, **program).out
        assert 'none reads them, unless you choose one: reader = "claude" under [extraction]' in said, options
    assert not config.exists() and "reader" not in place.run("status", "--json").ok().json
    ran = answered(place, ["setup", "--no-past"], ["\n"], **program)
    said = " ".join(ran.out.split())
    for told in (
        "a program of yours (Claude Code), with your account",
        "2,000 to 9,000 tokens",
        "At most 200 calls",
        "[none]: ",
    ):
        assert told in said, told
    assert 'off: reader = "none" under [extraction]' in said and ran.code == 0
    assert config.read_text() == '[extraction]\nreader = "none"\n'
    again = answered(place, ["setup", "--no-past"], [], **program)
    assert "none reads them, as you chose" in again.out and "[none]" not in again.out


def test_the_chosen_reader_is_on_at_once_and_not_asked_about_again(place: Place, program: Mapping[str, Any]):
    config = place.home / ".config/mcp-memory/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("# mine\n[extraction]\nauto_accept = false  # careful\n")
    ran = answered(place, ["setup", "--no-past"], ["n\n", "claude\n"], **program)
    assert ran.code == 0 and 'on: reader = "claude" under [extraction]' in " ".join(ran.out.split()), ran
    assert config.read_text() == '# mine\n[extraction]\nreader = "claude"\nauto_accept = false  # careful\n'
    assert "reader    claude, today 0 of 200 calls" in place.run("status").ok().out
    again = answered(place, ["setup", "--no-past"], ["n\n"], **program)
    assert "claude reads them" in again.out and "[none]" not in again.out
    assert place.run("setup", "--yes", "--no-past", "--json", **program).ok().json["reader"] == "claude"


def test_a_configuration_that_cannot_be_changed_is_named(place: Place, program: Mapping[str, Any]):
    config = place.home / ".config/mcp-memory/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("extraction = { auto_accept = false }\n")
    ran = answered(place, ["setup", "--no-past"], ["n\n", "claude\n"], **program)
    assert ran.code == 1 and 'reader = "claude"' in ran.out
    assert config.read_text() == "extraction = { auto_accept = false }\n"
