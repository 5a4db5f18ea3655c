"""The packages for clients' own shops, put in by the clients' own commands: the hooks run, the tools answer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.clients.agents import Agent, claude_environ, codex_model, first_request, patient
from tests.clients.machine import CHECKOUT, Machine
from tests.clients.programs import run
from tests.clients.stubs import AnthropicStub, OpenAIStub, call
from tests.hooks.client import PATIENT

IN_CLAUDE = "mcp__plugin_mcp-memory_memory__"
"""What Claude Code puts in front of the names of a plugin's tools."""


@pytest.fixture(scope="module")
def told(served: Machine) -> str:
    served.mcp_memory("append", "-k", "preference", "Ada wants tables, not lists.")
    return "Ada wants tables, not lists."


def test_claude_code_finds_nothing_wrong(served: Machine, anthropic: AnthropicStub) -> None:
    environ = claude_environ(served, anthropic)
    for place in (CHECKOUT, CHECKOUT / "configs" / "plugin"):
        command = ("claude", "plugin", "validate", "--strict", place)
        assert "Validation passed" in run(*command, environ=environ, cwd=served.home).succeeded().out


def test_claude_code(served: Machine, anthropic: AnthropicStub, told: str) -> None:
    """From a checkout, as from GitHub."""
    environ = claude_environ(served, anthropic)
    for arguments in (
        ("marketplace", "add", CHECKOUT),
        ("install", "mcp-memory@mcp-memory", "--config", f"url={served.url}"),
    ):
        run("claude", "plugin", *arguments, environ=environ, cwd=served.home).succeeded()
    agent = patient(Agent(served, anthropic, ("claude", "-p"), environ))  # its hook allows its tools
    talk = agent.ask(
        call("ToolSearch", query=f"select:{IN_CLAUDE}memory_append"),
        call("memory_append", content="The lock keeper of Rya is called Oskar.", kind="fact"),
        call("memory_search", query="who keeps the lock"),
    )
    assert told in first_request(anthropic, "/messages"), "what a session starts with"
    assert talk.called == ["ToolSearch", IN_CLAUDE + "memory_append", IN_CLAUDE + "memory_search"]
    assert talk.receipt(2)["hits"][0]["id"] == talk.receipt(1)["id"]
    assert "mcp-memory:long-term-memory" in anthropic.raw_log, "the skill is offered"
    before = len(anthropic.exchanges)
    agent.ask("Who is the lock keeper of Rya?")
    assert "Oskar" in first_request(anthropic, "/messages", before)


def test_codex(served: Machine, openai: OpenAIStub, told: str) -> None:
    """From a copy with this daemon's address, since Codex has no setting for that."""
    shop, environ = served.home / "shop", served.environ(STUB_KEY="stub")
    shutil.copytree(CHECKOUT / ".claude-plugin", shop / ".claude-plugin")
    shutil.copytree(CHECKOUT / "configs" / "plugin", shop / "configs" / "plugin")
    server = shop / "configs" / "plugin" / "codex" / "mcp.json"
    server.write_text(server.read_text().replace("http://127.0.0.1:8423/mcp", served.url))
    config = served.home / ".codex" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(codex_model(openai).replace("plugins = false,", "plugins = true,", 1), encoding="utf-8")
    for arguments in (("marketplace", "add", shop), ("add", "mcp-memory@mcp-memory")):
        run("codex", "plugin", *arguments, environ=environ, cwd=served.home).succeeded()
    command = ("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust")
    talk = patient(Agent(served, openai, command, environ)).ask(
        call("memory_append", content="The weir of Rya was built in 1871.", kind="fact"),
        call("memory_search", query="when was the weir built"),
    )
    assert told in first_request(openai, "/responses")
    assert talk.receipt(1)["hits"][0]["id"] == talk.receipt(0)["id"]
    assert "mcp-memory:long-term-memory" in openai.raw_log, "the skill is offered"


GATEWAY = """
import { appendFileSync, mkdirSync } from "node:fs";
import plugin from "@PLUGIN@";
const on = {};
let capability;
plugin.register({
  pluginConfig: { command: process.argv[2] },
  on: (name, handler) => { on[name] = handler; },
  registerMemoryCapability: (given) => { capability = given; },
  registerTool: () => {},
});
const plan = (cfg) => capability.flushPlanResolver({ cfg });
const turn = (trigger) => on.before_prompt_build({ prompt: process.argv[3] }, { sessionId: "1", trigger });
const seen = { early: plan({}) };
const messages = [{ role: "user", timestamp: 7 }];
const group = { sessionId: "g", sessionKey: "agent:main:telegram:group:-1:topic:2", workspaceDir: process.cwd() };
await on.gateway_start({}, {});
await on.session_start({ sessionId: "1" }, {});
seen.turns = [await turn("user"), await turn("user")];
const silent = { sessionId: "x", sessionKey: "agent:main:internal:x", workspaceDir: process.cwd(), trigger: "memory" };
seen.flushing = (await on.before_prompt_build({ prompt: "x", messages }, silent)) ?? null;
const { relativePath } = plan({}) ?? {};
if (relativePath) {
  mkdirSync("memory", { recursive: true });
  const secret = "sk-ant-api03-" + "a1B2".repeat(20);
  const lines = ["- decision: The sluice closes in May.", "- Ada likes tea", `- fact: the key is ${secret}`];
  appendFileSync(relativePath, lines.join("\\n") + "\\n");
}
await on.before_prompt_build({ prompt: "x", messages }, group);
await on.agent_end({}, { sessionId: "1" });
seen.plan = plan({});
seen.own = plan({ agents: { defaults: { compaction: { memoryFlush: { forceFlushTranscriptBytes: "1.5kb" } } } } });
seen.off = plan({ agents: { defaults: { compaction: { memoryFlush: { enabled: false } } } } });
await on.before_compaction({}, { sessionId: "1" });
await on.session_end({ sessionId: "1" }, {});
seen.hooks = Object.keys(on);
console.log(JSON.stringify(seen));
"""
"""What a gateway does with it, for want of one where OpenClaw is not installed."""


def in_gateway(machine: Machine, command: str, prompt: str = "") -> dict[str, Any]:
    script = _script(machine, GATEWAY)
    environ = machine.environ(**PATIENT)
    return json.loads(run("node", script, command, prompt, environ=environ, cwd=machine.home).succeeded().out)


def _script(machine: Machine, text: str) -> Path:
    script = machine.home / "gateway.mjs"
    script.write_text(text.replace("@PLUGIN@", str(CHECKOUT / "configs" / "plugin" / "index.js")), encoding="utf-8")
    return script


def test_what_the_plugin_tells_openclaw(served: Machine, told: str) -> None:
    served.mcp_memory("append", "-k", "fact", "The sluice of Rya opens at six.")
    for color in ("green", "blue", "red", "white", "black"):  # the last notes, which every session starts with
        served.mcp_memory("append", "-k", "fact", f"One barge is {color}.")
    seen = in_gateway(served, "mcp-memory hook EVENT --client openclaw", "When does the sluice of Rya open?")
    first, second = seen["turns"]
    assert told in first["appendSystemContext"] == second["appendSystemContext"], "a prompt cache holds"
    assert "opens at six" in first["prependContext"] and "opens at six" in second["prependContext"]
    assert seen["flushing"] is None and seen["early"] is None and seen["off"] is None
    assert f"Append to {seen['plan']['relativePath']} whatever" in seen["plan"]["prompt"]
    assert "NO_REPLY" in seen["plan"]["prompt"]
    stored = [text for text in served.notes().values() if b"session: g\n" in text]
    assert len(stored) == 2, "what a silent turn added to its file, without what is refused"
    assert all(b'project: "channel:telegram:group:-1"' in text for text in stored)
    assert any(b"kind: decision" in text and b"The sluice closes in May." in text for text in stored)
    assert (seen["plan"]["forceFlushTranscriptBytes"], seen["own"]["forceFlushTranscriptBytes"]) == (2_097_152, 1_536)
    assert {*seen["hooks"]} >= {"before_prompt_build", "session_start", "before_compaction", "agent_end", "session_end"}


ENDS = """
import plugin from "@PLUGIN@";
const on = {};
const agent = { resolveAgentDir: (_, id) => `/state/agents/${id}/agent` };
plugin.register({
  pluginConfig: { command: process.argv[2] },
  on: (name, handler) => { on[name] = handler; },
  registerMemoryCapability: () => {},
  registerTool: () => {},
  runtime: process.argv[3] === "another" ? {} : { config: { current: () => ({}) }, agent },
});
const ctx = { agentId: "main", sessionId: "s-1" };
await on.before_prompt_build({ prompt: "x" }, ctx);
await on.agent_end({}, ctx);
await on.before_compaction({}, ctx);
await on.session_end({ sessionId: "s-1" }, ctx);
"""


@pytest.mark.parametrize("version", ["this", "another"])
def test_the_plugin_says_where_a_session_is_written_down(served: Machine, version: str) -> None:
    """Or not, where OpenClaw does not say it; all else goes on."""
    folder = served.home / version
    folder.mkdir()
    said = ("node", _script(served, ENDS), f"tee {folder}/EVENT >/dev/null", version)
    run(*said, environ=served.environ(), cwd=served.home).succeeded()
    file = "/state/agents/main/agent/openclaw-agent.sqlite#s-1"
    for event in ("session-start", "prompt", "stop", "pre-compact", "session-end"):
        told = json.loads((folder / event).read_text())
        assert told.pop("session_id") == "s-1" and "project" not in told
        assert told.get("transcript_path") == (file if version == "this" else None)


FAULTS = """
import { readdirSync, readFileSync } from "node:fs";
import plugin from "@PLUGIN@";
const told = async (command) => {
  const on = {};
  const nothing = () => {};
  const api = { pluginConfig: { command }, on: (n, h) => { on[n] = h; }, registerMemoryCapability: nothing };
  api.registerTool = nothing;
  plugin.register(api);
  return on.before_prompt_build({ prompt: "x" }, { sessionId: "1" });
};
const running = () => {
  const lines = readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name)).map((name) => {
    try { return readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\\0", " ").trim(); } catch { return ""; }
  });
  return lines.filter((line) => ["sleep 61.25", "yes nobody-reads-this"].includes(line));
};
const said = await Promise.all(process.argv.slice(2).map(told));
for (let tries = 0; tries < 40 && running().length > 0; tries += 1) await new Promise((next) => setTimeout(next, 50));
console.log(JSON.stringify({ said, left: running() }));
"""


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for what is left in /proc")
def test_the_plugin_is_silent_where_its_command_is_not_and_leaves_nothing_behind(served: Machine) -> None:
    faults = [
        "sleep 61.25; true", "yes nobody-reads-this; true", "echo hello", "exit 3", "no-such-program", 'echo "{}"',
        "exec <&-; true",
    ]  # fmt: skip
    script = _script(served, FAULTS)
    seen = json.loads(run("node", script, *faults, environ=served.environ(), cwd=served.home).succeeded().out)
    assert seen == {"said": [{}] * len(faults), "left": []}
