"""Finds out whether a client runs our hooks, which each client trusts in its own way."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from mcp_memory import __version__
from mcp_memory.cli.console import confirm
from mcp_memory.errors import Refused
from mcp_memory.integrations import commands, text_file
from mcp_memory.integrations.clients import ClientPaths, Scope
from mcp_memory.integrations.clients.claude_code import is_trusted_folder
from mcp_memory.integrations.clients.client import Client
from mcp_memory.integrations.clients.openclaw import OpenClawPlugin
from mcp_memory.integrations.clients.opencode import OpenCodePlugin
from mcp_memory.integrations.config_entries import HookEntries, HookTrust
from mcp_memory.integrations.config_plan import ConfigTarget
from mcp_memory.runtime.process_deadline import ProcessDeadline

ANSWER_S = 20.0

TRUSTED, UNTRUSTED, WIRED, OFF, MISSING, UNREAD = "trusted", "untrusted", "wired", "off", "missing", "unread"
"""The states of a hook: `WIRED` if its client couldn't be asked, `UNREAD` if the client doesn't load the file."""

REMEDIES = {
    ("codex", UNTRUSTED): "Codex does not trust our hooks yet: start `codex` in a terminal and accept them, or /hooks",
    ("claude-code", UNTRUSTED): "Claude Code does not trust this folder yet: start `claude` in it and accept",
    ("codex", OFF): "Codex has our hooks switched off: check features.hooks, and /hooks in `codex`",
}

_BY_HAND = "without --trust-hooks, then /hooks in `codex`"

_QUIET = """check_for_update_on_startup = false
analytics.enabled = false
features = { plugins = false, remote_plugin = false, apps = false }
"""
"""The settings that keep a Codex that only answers our question off the network."""


def hooks_of(
    client: Client, scope: Scope, target: ConfigTarget, content: bytes | None, paths: ClientPaths
) -> dict[str, str]:
    """Map the client's name of each event to the state of its hook. Return an empty dict for a broken file, or a file
    without our hooks."""
    found: dict[str, str] = {}
    with suppress(Refused):
        text = text_file.decode(content)
        for entry in target.entries:
            if isinstance(entry, HookEntries) and entry.is_in(text):
                found |= _states(client, scope, entry, target, text, paths)
            elif isinstance(entry, OpenClawPlugin) and entry.is_in(text):
                found["plugin"] = OFF if not entry.is_on(text) else WIRED if entry.may_see(text) else UNTRUSTED
            elif isinstance(entry, OpenCodePlugin) and entry.is_in(text):
                found["plugin"] = WIRED
    return found


def hashes_of(file: Path, content: bytes) -> dict[str, str]:
    """Map Codex's key of each of our hooks in that file to the hash by which Codex trusts it. Codex reads a copy with
    this content in a temporary home; nothing is written to the file. Raises Refused if Codex gives no answer."""
    if shutil.which("codex") is None:
        raise Refused("there is no codex on your PATH", hint="install it, or omit --trust-hooks")
    with tempfile.TemporaryDirectory(prefix="mcp-memory-") as home:
        copy = Path(home).resolve() / "hooks.json"
        copy.write_bytes(content)
        copy.with_name("config.toml").write_text(_QUIET, encoding="utf-8")
        found = {
            str(hook["key"]).replace(str(copy), str(file), 1): str(hook["currentHash"])
            for hook in _listed(home, {**os.environ, "CODEX_HOME": str(copy.parent)})
            if hook.get("sourcePath") == str(copy) and commands.read(hook.get("command")) is not None
        }
    if not found:
        raise Refused(f"Codex would find none of our hooks in {file}", hint=_BY_HAND)
    return found


def has_trust(wanted: Sequence[ConfigTarget]) -> bool:
    """Return whether Codex has a record that it trusts our hooks, in this version or an earlier version."""
    return any(
        isinstance(entry, HookTrust) and entry.is_in(text_file.read_text(target.file))
        for target in wanted
        for entry in target.entries
    )


def agrees_to_trust(wanted: Sequence[ConfigTarget]) -> bool:
    """Ask whether Codex shall trust our hooks, and return the answer. Return False without asking if Codex trusts them
    already or isn't installed."""
    is_open = not has_trust(wanted) and shutil.which("codex") is not None
    return is_open and confirm("make Codex trust our hooks? Otherwise it asks you later, and skips them until then")


def _states(
    client: Client, scope: Scope, hooks: HookEntries, target: ConfigTarget, text: str, paths: ClientPaths
) -> dict[str, str]:
    missing = hooks.missing(text)
    if client.why_unread(target, text.encode()):
        states = dict.fromkeys(hooks.commands, UNREAD)
    elif client.name == "codex":
        states = _codex(scope, target.file, hooks, paths)
    elif client.why_hooks_off(paths):
        states = dict.fromkeys(hooks.commands, OFF)
    elif client.name == "claude-code":
        state = TRUSTED if scope == "user" or is_trusted_folder(paths) else UNTRUSTED
        states = dict.fromkeys(hooks.commands, state)
    else:
        states = dict.fromkeys(hooks.commands, WIRED)
    return {event: MISSING if event in missing else states.get(event, WIRED) for event in hooks.commands}


def _codex(scope: Scope, file: Path, hooks: HookEntries, paths: ClientPaths) -> dict[str, str]:
    """Return the state of each hook in Codex, or an empty dict if Codex doesn't answer. Codex trusts hooks by hashes
    that change with the command. It doesn't run hooks that it doesn't list."""
    try:
        listed = _listed(str(paths.project or paths.home), os.environ)
    except Refused:
        return {}
    unlisted = OFF if scope == "user" else UNTRUSTED  # Codex lists no hooks of a folder that it doesn't trust
    return dict.fromkeys(hooks.commands, unlisted) | {
        hook["eventName"][:1].upper() + hook["eventName"][1:]: _trust(hook)  # files spell it `SessionStart`
        for hook in listed
        if hook.get("sourcePath") == str(file) and commands.read(hook.get("command")) is not None
    }


def _trust(hook: Mapping[str, Any]) -> str:
    return OFF if hook.get("enabled") is False else TRUSTED if hook["trustStatus"] == "trusted" else UNTRUSTED


def _listed(cwd: str, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the hooks that Codex finds for an agent in that folder. Raises Refused if Codex doesn't answer."""
    program = shutil.which("codex")
    requests = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "mcp-memory", "version": __version__}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [cwd]}},
    ]
    lines = "".join(f"{json.dumps(request)}\n" for request in requests)
    answer = _ask_codex(program, lines, environ) if program else {}
    if "data" not in answer:
        raise Refused("this version of Codex doesn't say what it trusts", hint=_BY_HAND)
    return [hook for listed in answer.get("data", []) for hook in listed.get("hooks", [])]


def _ask_codex(program: str, requests: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the result of one request to Codex's app server, which answers while its input is open. Return an empty
    dict if the request fails."""
    with (
        suppress(OSError),
        subprocess.Popen(
            [program, "app-server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
            start_new_session=True,  # `codex` is a script around a program
        ) as process,
        ProcessDeadline(process, ANSWER_S),
    ):
        assert process.stdin and process.stdout
        process.stdin.write(requests.encode())
        process.stdin.flush()
        for line in process.stdout:
            with suppress(ValueError, AttributeError):  # not a JSON object
                message = json.loads(line)
                if message.get("id") == 2:
                    return message.get("result") or {}
    return {}
