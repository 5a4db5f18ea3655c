"""The demo command: example notes in a folder of their own, questions about them, and nothing left at the end."""

import os
import shutil
import signal
import tempfile
import tomllib
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import anyio
import click

from mcp_memory.cli.command_context import CommandContext
from mcp_memory.cli.console import progress_bar
from mcp_memory.cli.options import command_options
from mcp_memory.cli.setup.dialogue import Dialogue
from mcp_memory.daemon.engine_client import engine_config
from mcp_memory.engine.engine import Engine
from mcp_memory.engine.factory import open_engine
from mcp_memory.integrations.clients import TITLES
from mcp_memory.runtime.paths import PREFIX
from mcp_memory.search.thresholds import UNSURE
from mcp_memory.settings.settings import Settings, load, shipped


@click.command()
@command_options
def demo(cli: CommandContext) -> None:
    """Show in a few seconds what memory does. It stores three weeks of a developer's notes in a temporary folder, asks
    five questions, and shows what an agent gets with a prompt.

    It has its own vault and state and opens no port, so it doesn't touch your vault or a running daemon. The folder is
    removed at the end, or when you interrupt it.

    \b
    mcp-memory demo"""
    for number in (signal.SIGTERM, signal.SIGHUP):  # end as with Ctrl-C, so that the folder goes
        signal.signal(number, lambda _, __: signal.raise_signal(signal.SIGINT))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    dialogue = Dialogue(cli, yes=False, preview=False)
    root = Path(tempfile.mkdtemp(prefix="mcp-memory-demo-"))
    try:
        anyio.run(_tell, dialogue, _own_settings(cli, root))
    finally:
        until = monotonic() + 10
        while root.exists() and monotonic() < until:  # a thread that outlives an interruption may still write there
            shutil.rmtree(root, ignore_errors=True)
    dialogue.head("All of this is removed. To set up your own: mcp-memory setup")
    cli.show(dialogue.report, ())


def _own_settings(cli: CommandContext, root: Path) -> Settings:
    """Return the default settings for this folder, but with your compiled models."""
    (root / "config.toml").touch()
    environ = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    environ |= {PREFIX + "STATE": str(root / "state"), PREFIX + "MODELS": str(cli.settings.state.models)}
    flags = {"vault.path": str(root / "vault"), "capture.enabled": False, "topics.automatic": False}
    return load(environ, file=root / "config.toml", flags=flags)


async def _tell(dialogue: Dialogue, settings: Settings) -> None:
    story, began = tomllib.loads(shipped("demo.toml")), monotonic()
    clock = now = datetime.now().astimezone()
    settings.state.make()
    notes, ids = story["notes"], dict[str, str]()
    with progress_bar("storing notes", len(notes)) as update:
        async with open_engine(engine_config(settings), watch=False, clock=lambda: clock) as engine:
            await engine.settled()
            for note in notes:
                clock = now - timedelta(days=note["days_ago"])
                what = {"content": note["text"], "kind": note["kind"], "source": note["client"]}
                receipt = await engine.perform("append", {**what, "supersedes": ids.get(note.get("replaces"))})
                ids[note.get("key", receipt["id"])] = receipt["id"]
                if update:
                    update(len(ids))
            clock = now
            await engine.perform("reindex", {})  # returns once each note has a vector
            took_s = monotonic() - began
            answers = [await _ask(engine, question) for question in story["questions"]]
            asked = {"session": "claude-code/demo", "prompt": story["prompt"]["text"]}
            told = (await engine.perform("brief", asked))["text"]
    dialogue.report |= {"notes": len(notes), "questions": answers, "prompt": {**asked, "told": told}}
    dialogue.say(
        f"A developer's last three weeks: {len(notes)} notes, stored in {took_s:.1f} s. Five questions:", indent=0
    )
    for answer in answers:
        dialogue.head(answer["about"])
        dialogue.say(f"> {answer['text']}")
        lines = [answer.get("answer") or "No stored note answers this."]
        lines += [f"Until {answer['until']}: {answer['before']}"] if "before" in answer else []
        by = f"by {TITLES.get(answer.get('source', ''), 'you')} ({answer['ms']} ms)"
        lines += [f"{answer['kind']} of {answer['date'][:10]}, {by}", answer["path"]] if "answer" in answer else []
        for line in lines:
            dialogue.say(line, indent=4)
    dialogue.head("Without being asked: you type in Claude Code or Codex")
    dialogue.say(f"> {asked['prompt']}")
    for line in ["The agent gets this with it:", *told.splitlines()]:
        dialogue.say(line, indent=4)


async def _ask(engine: Engine, question: dict[str, str]) -> dict[str, Any]:
    began = monotonic()
    found = await engine.perform("search", {"query": question["text"], "limit": 1})
    took_ms = round(1000 * (monotonic() - began))
    answer: dict[str, Any] = {**question, "confidence": found["confidence"], "ms": took_ms}
    if not found["hits"] or found["confidence"] < UNSURE:
        return answer
    hit = found["hits"][0]
    now, *before = (await engine.perform("history", {"target": hit["id"]}))["chain"]
    answer |= {name: hit[name] for name in ("kind", "date", "path")} | {"answer": now["text"], "source": now["source"]}
    return answer | ({"before": before[0]["text"], "until": before[0]["until"][:10]} if before else {})
