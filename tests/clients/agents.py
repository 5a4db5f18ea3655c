"""Claude Code, Codex, OpenClaw and the Inspector on one machine, configured with the files in `configs/clients/`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.clients.machine import CHECKOUT, Machine
from tests.clients.programs import Ran, run
from tests.clients.stubs import AnthropicStub, Exchange, ModelStub, OpenAIStub, call
from tests.hooks.client import PATIENT

TEMPLATES = CHECKOUT / "configs" / "clients"
SHIPPED_URL = "http://127.0.0.1:8423/mcp"
"""The address in the templates, as a person would replace it."""

OPENCLAW_S = 180
"""For one turn: half a minute on an idle machine."""

CLAUDE_PREFIX = "mcp__memory__"
"""What Claude Code puts in front of the names of our tools."""

ORDER = "Never edit generated files under `api/gen`. Change `openapi.yaml` and run `pnpm gen`."
FIX = "`SUP-4290 quota exceeded`: the key of the mill is limited. Wait until 11:00 UTC, retries make it worse."
FAIL = "echo 'SupplierError: SUP-4290 quota exceeded for key mill' >&2; exit 3"
"""An order of a project, a fix of its error, and a command that meets it."""

_CODEX_MODEL = """
model = "stub"
model_provider = "stub"
check_for_update_on_startup = false
analytics.enabled = false
features = {{ plugins = false, remote_plugin = false, apps = false }}
[model_providers.stub]
name = "stub"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "STUB_KEY"
"""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the model saw and did while an agent worked on one prompt."""

    turns: tuple[Exchange, ...]

    @property
    def listed(self) -> tuple[str, ...]:
        """The tools that the model was offered from the start."""
        return self.turns[0].listed

    @property
    def called(self) -> list[str]:
        return [turn.called for turn in self.turns if turn.called]

    @property
    def heard(self) -> tuple[str, ...]:
        """What the client told the model about each call, in order."""
        return self.turns[-1].results

    def receipt(self, number: int) -> Mapping[str, Any]:
        """The structured result of the call with that number, counted from 0."""
        text = self.heard[number]
        return json.loads(text[text.index("{") :])


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent with a stubbed model."""

    machine: Machine
    model: ModelStub
    command: tuple[str, ...]
    environ: Mapping[str, str]
    within_s: float = 60
    folder: Path | None = None
    """Where it works, if not at home."""

    def ask(self, *script: str) -> Conversation:
        """Give the agent a prompt, wait until it is done; its exit status must be 0."""
        before = len(self.model.exchanges)
        run(
            *self.command,
            "\n".join(script),
            environ=self.environ,
            cwd=self.folder or self.machine.home,
            timeout_s=self.within_s,
        ).succeeded()
        turns = tuple(turn for turn in self.model.exchanges[before:] if turn.listed)
        assert turns, "the agent offered the model no tools at all"
        return Conversation(turns)


def claude_code(machine: Machine, model: AnthropicStub) -> Agent:
    """Claude Code with the server added the way `claude-code.md` says."""
    environ = claude_environ(machine, model)
    add, use = shell_commands("claude-code.md", machine)
    pasted = machine.home / "claude-code.json"
    if not pasted.exists():
        pasted.write_text(template(pasted.name, machine), encoding="utf-8")
        run("sh", "-c", add, environ=environ, cwd=machine.home).succeeded()
    return Agent(machine, model, (*shlex.split(use), "-p"), environ)


def claude_environ(machine: Machine, model: AnthropicStub) -> Mapping[str, str]:
    """The stub as Claude Code's model."""
    return machine.environ(
        ANTHROPIC_BASE_URL=model.url,
        ANTHROPIC_API_KEY="stub",
        DISABLE_AUTOUPDATER="1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    )


def find_in_claude(*tools: str) -> str:
    """The step by which Claude Code's model comes to the tools that it is not offered from the start."""
    return call("ToolSearch", query="select:" + ",".join(CLAUDE_PREFIX + tool for tool in tools))


def codex(machine: Machine, model: OpenAIStub) -> Agent:
    """Codex with `codex.toml` in its configuration file."""
    config = machine.home / ".codex" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(codex_model(model) + template("codex.toml", machine), encoding="utf-8")
    return Agent(machine, model, ("codex", "exec", "--skip-git-repo-check"), machine.environ(STUB_KEY="stub"))


def codex_model(model: OpenAIStub) -> str:
    """The stub as Codex's model, and nothing that would look up a host on the internet."""
    return _CODEX_MODEL.format(url=model.url)


def openclaw(machine: Machine, model: OpenAIStub) -> Agent:
    """OpenClaw with the server in its configuration, as its own command adds it, one local turn at a time."""
    headers = {"Authorization": "Bearer ${MCP_MEMORY_TOKEN}"}
    server = {"url": machine.url, "transport": "streamable-http", "headers": headers}
    config = {"mcp": {"servers": {"memory": server}}, **openclaw_model(model.url)}
    file = machine.home / ".openclaw" / "openclaw.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(config), encoding="utf-8")
    token = machine.mcp_memory("clients", "token", "--client", "openclaw").out.strip()
    command = ("openclaw", "agent", "--local", "--agent", "main", "--message")
    return Agent(machine, model, command, machine.environ(DO_NOT_TRACK="1", MCP_MEMORY_TOKEN=token), OPENCLAW_S)


def openclaw_model(url: str) -> Mapping[str, Any]:
    """The stub as OpenClaw's model, and no look-ups on the internet."""
    model = {"id": "stub", "name": "stub", "contextWindow": 200_000, "maxTokens": 4_096}
    provider = {"baseUrl": f"{url}/v1", "apiKey": "stub", "api": "openai-completions", "models": [model]}
    return {
        "models": {"mode": "replace", "catalogRefresh": {"enabled": False}, "providers": {"stub": provider}},
        "agents": {"defaults": {"model": {"primary": "stub/stub"}, "workspace": "~/work"}},
        "update": {"checkOnStart": False},
    }


def inspect(machine: Machine, *arguments: str, token: str | None = None) -> Ran:
    """The Inspector as in `inspector.md`, with other arguments after its `--method`, and perhaps another token."""
    command, _ = shell_commands("inspector.md", machine)
    connection, _, _ = command.partition(" --method")
    if token is not None:
        connection = re.sub(r"\$\(.*?\)", token, connection)
    line = f"{connection} {shlex.join(arguments)}"
    return run("sh", "-c", line, environ=machine.environ(), cwd=machine.home)


def inspector_calls(machine: Machine, tool: str, **arguments: str) -> Mapping[str, Any]:
    """Call one tool with the Inspector; the result as it is on the wire."""
    pairs = [part for key, value in arguments.items() for part in ("--tool-arg", f"{key}={value}")]
    ran = inspect(machine, "--method", "tools/call", "--tool-name", tool, *pairs).succeeded()
    return json.loads(ran.out)


def template(name: str, machine: Machine) -> str:
    """A shipped configuration with the address of this machine's daemon."""
    text = (TEMPLATES / name).read_text(encoding="utf-8")
    assert SHIPPED_URL in text
    return text.replace(SHIPPED_URL, machine.url)


def shell_commands(name: str, machine: Machine) -> list[str]:
    """The fenced commands of a shipped document, in order."""
    text = (TEMPLATES / name).read_text(encoding="utf-8").replace(SHIPPED_URL, machine.url)
    return re.findall(r"^```sh\n(.+?)\n```$", text, re.MULTILINE | re.DOTALL)


EVENTS = {
    "SessionStart": "session-start", "UserPromptSubmit": "prompt", "PreCompact": "pre-compact", "Stop": "stop",
    "SessionEnd": "session-end",
}  # fmt: skip


def wire(machine: Machine) -> Machine:
    for client, file in (("claude-code", ".claude/settings.json"), ("codex", ".codex/hooks.json")):
        hooks = {
            name: [{"hooks": [{"type": "command", "command": f"mcp-memory hook {event} --client {client}"}]}]
            for name, event in EVENTS.items()
        }
        place = machine.home / file
        place.parent.mkdir(exist_ok=True)
        place.write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    return machine


def patient(agent: Agent) -> Agent:
    return replace(agent, environ={**agent.environ, **PATIENT})


def first_request(model: ModelStub, path: str, before: int = 0) -> str:
    """The first that the agent's model is sent after so many, tools and all, verbatim."""
    requests = [json.loads(line) for line in model.raw_log.splitlines()[before:]]
    body = next(each["body"] for each in requests if each["exchange"]["path"].endswith(path) and each["body"]["tools"])
    return json.dumps(body, ensure_ascii=False)


def doctored(machine: Machine, client: str) -> dict:
    """What the doctor says of the client. It ends with 1 where any client wants something."""
    command = ("mcp-memory", "clients", "--json")
    found = json.loads(run(*command, environ=machine.environ(), cwd=machine.home).out)["clients"]
    return next(each for each in found if each["client"] == client)


def repository(folder: Path) -> Path:
    """A new git repository, as far as anyone looks for its root."""
    (folder / ".git").mkdir(parents=True, exist_ok=True)  # a test may be tried again
    return folder
