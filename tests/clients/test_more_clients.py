"""Gemini CLI and opencode after `mcp-memory install`: they find the memory; their files come back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mcp_memory.integrations.clients import CLIENTS
from tests.clients.agents import FAIL, FIX, ORDER, Agent, Conversation, doctored, repository
from tests.clients.machine import Machine
from tests.clients.programs import run
from tests.clients.stubs import GeminiStub, OpenAIStub, call
from tests.daemon.place import eventually
from tests.hooks.client import PATIENT

INSTRUCTIONS = "Store at once what a later session would want"
FACT = "The lightship off Rya is painted ochre."


@contextmanager
def installed(machine: Machine, client: str, files: Mapping[str, str]) -> Iterator[str]:
    """The client with these files of its own is connected to the memory in the block, and has them back after it.

    Yields what `install` said."""
    for name, text in files.items():
        (machine.home / name).parent.mkdir(parents=True, exist_ok=True)
        (machine.home / name).write_text(text, encoding="utf-8")
    try:
        yield machine.mcp_memory("install", client, "--yes").out
    finally:
        machine.mcp_memory("uninstall", client, "--yes")
    for name, text in files.items():
        assert (machine.home / name).read_text(encoding="utf-8") == text
        assert not list((machine.home / name).parent.glob("*.bak"))


def connected(machine: Machine, agent: Agent, client: str, prefix: str, words: str, *then: str) -> Conversation:
    """The agent stores and finds a note, and has our instructions; the doctor sees the client call. `then`: what else
    it calls in the same session."""
    talk = agent.ask(
        words,
        call(f"{prefix}memory_append", content=f"{FACT} ({client})", kind="fact"),
        call(f"{prefix}memory_search", query="which colour has the lightship"),
        *then,
    )
    assert talk.called[:2] == [f"{prefix}memory_append", f"{prefix}memory_search"]
    assert len(talk.called) == 2 + len(then)
    assert {f"{prefix}memory_{verb}" for verb in ("search", "recall", "append", "forget")} <= {*talk.listed}
    assert FACT in talk.heard[1]
    (note,) = (text for text in machine.notes().values() if f"{FACT} ({client})".encode() in text)
    assert f"source: {client}".encode() in note
    assert INSTRUCTIONS in agent.model.raw_log, "the instructions are in front of the model"
    seen = doctored(machine, client)
    assert [(way["how"], way["reachable"]) for way in seen["wired"]] == [("install", None)]
    assert seen["last_call"] and seen["todo"] == []
    return talk


def captured(machine: Machine, query: str, client: str) -> set[str]:
    """The sessions of a client in which the words are found."""
    found = machine.mcp_memory("search", query, "--path", f"@transcripts/{client}", "--json").out
    return {hit["path"] for hit in json.loads(found)["hits"]}


def test_gemini_cli(served: Machine, gemini: GeminiStub) -> None:
    served.mcp_memory("append", "-k", "preference", "Ada likes her lightships repainted in spring.")
    served.mcp_memory("append", "-k", "fix", "`SUP-4290 quota exceeded`: wait until 11:00, retries make it worse.")
    settings = served.home / ".gemini" / "settings.json"
    auth = '{\n  // mine\n  "security": {"auth": {"selectedType": "gemini-api-key"}}\n}\n'
    trusted = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_API_KEY": "stub", "GOOGLE_GEMINI_BASE_URL": gemini.url}
    environ = served.environ(**trusted, GEMINI_TELEMETRY_ENABLED="false", NO_COLOR="1", **PATIENT)
    words = "lightships repainted SupplierError"
    earlier = captured(served, words, "gemini")
    with installed(served, "gemini", {".gemini/settings.json": auth, ".gemini/GEMINI.md": "Use tabs."}) as said:
        assert '"trust" in its entry' in said and "folders that you trust" in said
        agent = Agent(served, gemini, ("gemini", "-p"), environ)
        connected(served, agent, "gemini", "mcp_memory_", "When are lightships repainted?")
        assert "repainted in spring" in gemini.raw_log, "its hooks bring memory up, without a call of a tool"
        fails = call("run_shell_command", command="echo 'SupplierError: SUP-4290 quota exceeded' >&2; exit 3")
        (heard,) = Agent(served, gemini, ("gemini", "-y", "-p"), environ).ask(fails).heard
        assert "<hook_context>" in heard and "retries make it worse" in heard, "the fix comes with the error"
        seen = doctored(served, "gemini")
        assert {*seen["hooks"]} == {*CLIENTS["gemini"].hooks} and {*seen["hooks"].values()} == {"wired"}
        assert seen["last_hook"].startswith("session-end, ")
        eventually(lambda: len(captured(served, words, "gemini") - earlier) == 2, within_s=30)

        text = settings.read_text()
        settings.write_text(text.replace("{", '{"hooksConfig": {"enabled": false},', 1))
        looked = run("mcp-memory", "clients", environ=environ, cwd=served.home).out
        assert f"hooksConfig.enabled = false in {settings} turns off our hooks" in looked
        settings.write_text(text.replace('"trust": true', '"trust": true,', 1))
        assert any("trailing commas aren't allowed" in line for line in doctored(served, "gemini")["todo"])
        settings.write_text(text)


def test_opencode(served: Machine, openai: OpenAIStub) -> None:
    """The tools; and by a plugin what a prompt, a sub-agent and a call bring, and what was withdrawn."""
    folder = repository(served.home / "opencode-mill")
    (file := folder / "api/gen/client.ts").parent.mkdir(parents=True)
    file.write_text("hello\n")
    stored = ("append", "--project", folder.name, "--json", "-k")
    served.mcp_memory(*stored, "preference", ORDER)
    served.mcp_memory(*stored, "fix", FIX)
    served.mcp_memory(*stored, "lesson", "`make sacks` needs `SACKS=12`, else it hangs.")
    rye = json.loads(served.mcp_memory(*stored, "decision", "We grind rye on Thursdays.").out)["id"]
    model = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{openai.url}/v1", "apiKey": "stub"}}
    config = {
        "provider": {"stub": {**model, "models": {"stub": {}}}},
        "model": "stub/stub", "autoupdate": False, "share": "disabled",
    }  # fmt: skip
    text = f"// mine\n{json.dumps(config, indent=2)}\n"
    with_its_package(own := served.home / ".config" / "opencode")
    quiet = ("OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD")
    environ = served.environ(**dict.fromkeys(quiet, "1"), **PATIENT)
    piped = ("sh", "-c", 'printf %s "$1" | opencode run $MORE', "sh")  # it puts an argument with blanks in quotes
    agent = Agent(served, openai, piped, environ, folder=folder)
    edit = call("edit", filePath=str(file), oldString="hello", newString="bye")
    task = "Say on which day we grind rye."
    with installed(served, "opencode", {".config/opencode/opencode.jsonc": text}):
        heard = connected(
            served, agent, "opencode", "memory_", "Look it up.",
            call("read", filePath=str(file)), edit, edit, call("bash", command="make sacks || true"),
            call("bash", command=FAIL), call("task", description="x", prompt=task, subagent_type="general"),
        ).heard[2:]  # fmt: skip
        assert "Stopped once" in heard[1] and ORDER in heard[1] and file.read_text() == "bye\n"
        assert "needs `SACKS=12`" in heard[3] and FIX in heard[4]
        requests = [json.dumps(json.loads(line)["body"]["messages"]) for line in openai.raw_log.splitlines()]
        (inner,) = [each for each in requests if task in each and "CALL" not in each]
        assert inner.count("We grind rye on Thursdays.") == 1 and ORDER not in inner, "what bears on its task"
        assert "memory at session start" in requests[-1] and ORDER in requests[-1].partition("Stopped once")[0]
        served.mcp_memory("forget", rye)
        replace(agent, environ={**environ, "MORE": "-c"}).ask("Write a haiku.")
        assert f"Withdrawn: {rye[-6:]} was forgotten." in openai.raw_log
    assert not (own / "AGENTS.md").exists()


def with_its_package(folder: Path) -> None:
    """As if opencode had fetched the package for plugins, which it waits for; it loads nothing of it here."""
    (folder / "node_modules").mkdir(parents=True)
    lock = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
    (folder / "package-lock.json").write_text(json.dumps(lock), encoding="utf-8")


def test_all_that_are_here(served: Machine) -> None:
    """Their programs are on the PATH, and each is asked about by itself."""
    said = json.loads(served.mcp_memory("install", "--all", "--dry-run", "--json").out)
    states = {row["client"]: row["state"] for row in said["clients"]}
    assert [states[client] for client in ("gemini", "opencode", "cursor")] == ["would be connected"] * 2 + ["not found"]
    refused = run("mcp-memory", "install", "--all", "gemini", environ=served.environ(), cwd=served.home)
    assert refused.returncode == 2 and "name a client, or pass --all" in refused.err
    pasted = served.mcp_memory("install", "generic", "--yes").out
    for line in ("~/.cursor/mcp.json", '"servers": {', "~/.config/opencode/opencode.json"):
        assert line in pasted, line
