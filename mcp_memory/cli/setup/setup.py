"""The setup command: connects the clients, brings in what is known already, and shows that it works."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from mcp_memory.cli.clients.config_changes import short_path
from mcp_memory.cli.clients.snippets import typed_command
from mcp_memory.cli.console import emit, print_status
from mcp_memory.cli.daemon.first_index import start_daemon
from mcp_memory.cli.options import CommandContext, command_options
from mcp_memory.cli.setup.dialogue import Dialogue
from mcp_memory.cli.setup.first_question import ask_first_question
from mcp_memory.cli.setup.found_clients import connect_clients
from mcp_memory.cli.setup.past_work import capture_past_sessions, import_memories
from mcp_memory.daemon import launch
from mcp_memory.integrations.clients import PROGRAMS
from mcp_memory.runtime.paths import config_file
from mcp_memory.settings.settings import Settings
from mcp_memory.text.pluralize import counted

NOT_DONE = 5
"""The exit code if nothing was done because nobody could answer, as for `undo`."""


@click.command()
@click.option("--client", "only", type=click.Choice(list(PROGRAMS)), multiple=True, help="Only this; may be repeated.")
@click.option("--no-past", is_flag=True, help="Leave past sessions and the clients' own memory alone.")
@click.option("--dry-run", is_flag=True, help="Only show what there is and what would change.")
@click.option("--yes", is_flag=True, help="Answer yes to every question.")
@command_options
def setup(cli: CommandContext, only: tuple[str, ...], no_past: bool, dry_run: bool, yes: bool) -> None:
    """Set memory up, step by step: start the daemon, connect the clients that are on this machine, bring in past
    sessions and what the clients remember themselves, and ask a first question.

    Each step says what it found and asks before it changes anything; a client's files are shown as a diff. For Codex
    this includes its trust in our hooks. Run it again at any time: what is done already is said, and left alone.
    Without a terminal nothing is changed unless you pass --yes, and the exit code is 5.

    \b
    mcp-memory setup
    mcp-memory setup --yes --client claude-code
    mcp-memory setup --dry-run
    """
    asks = sys.stdin.isatty() and not cli.as_json
    dialogue = Dialogue(cli, yes, preview=dry_run or not (yes or asks))
    settings, dialogue.report["dry_run"] = cli.settings, dialogue.preview
    try:
        dialogue.head("1 of 5  The vault and its daemon")
        _start(dialogue, settings)
        dialogue.head("2 of 5  Your agents")
        connected = connect_clients(dialogue, settings, only)
        dialogue.head("3 of 5  Past sessions")
        if no_past or not settings.capture.enabled:
            dialogue.say("left alone" if no_past else "left alone: recording is switched off")
        else:
            capture_past_sessions(dialogue, settings)
        dialogue.head("4 of 5  What your agents remember themselves")
        dialogue.say("left alone") if no_past else import_memories(dialogue, settings)
        dialogue.head("5 of 5  A first question")
        _ask(dialogue)
    except (click.Abort, KeyboardInterrupt):
        print_status(f"\nstopped; what was done stays. To go on: {typed_command(settings, 'setup')}")
        raise
    _explain(dialogue, settings, connected)
    if cli.as_json:
        emit(dialogue.report)
    if dialogue.preview and not dry_run:
        print_status("nothing was changed, because there is no terminal to ask on: pass --yes")
        click.get_current_context().exit(NOT_DONE)
    if dialogue.has_failed:
        click.get_current_context().exit(1)


def _start(dialogue: Dialogue, settings: Settings) -> None:
    vault, report = short_path(settings.vault_path), dialogue.report
    report["vault"] = str(settings.vault_path)
    if dialogue.preview:
        running = launch.connect(settings)
        dialogue.say(f"{vault}: " + (f"served at {running.address.place}" if running else "a daemon would be started"))
        return
    connection, report["started"], status = start_daemon(settings)
    report["url"] = connection.address.url
    verb = "started" if report["started"] else "runs already"
    dialogue.say(f"{vault}, {counted(status['notes'], 'note')}: {verb} at {connection.address.place}")
    if status["model"] is None:
        dialogue.say(f"It finds words only, since there is no model ({status['model_state']}).")


def _ask(dialogue: Dialogue) -> None:
    answered = dialogue.report["question"] = None if dialogue.preview else ask_first_question(dialogue.cli)
    if answered:
        dialogue.say(f"> {answered['question']}")
        dialogue.say(" ".join(answered["text"].split()), indent=4)
        dialogue.say(f"from {answered['path']}:{answered['line']}", indent=4)
    elif dialogue.preview:
        dialogue.say("would be asked of what is stored by then")
    else:
        dialogue.say("Nothing is stored yet that memory could be asked for. With example notes: mcp-memory demo")


def _explain(dialogue: Dialogue, settings: Settings, connected: Sequence[str]) -> None:
    """Say what happens by itself, and how to switch each off."""
    days = settings.capture.keep_days
    automatic = (
        ("agents get what fits, at a session's start and with each prompt", "hooks", "enabled", settings.hooks.enabled),
        (f"sessions are recorded, on this machine, for {days} days", "capture", "enabled", settings.capture.enabled),
        ('what you state outright ("we use uv") is stored', "extraction", "automatic", settings.extraction.automatic),
        ("new notes are filed under topics", "topics", "automatic", settings.topics.automatic),
    )
    dialogue.report["automatic"] = [
        {"what": what, "off": f"{section}.{key} = false", "on": is_on} for what, section, key, is_on in automatic
    ]
    for_whom = f", for {' and '.join(connected)}" if connected else ""
    dialogue.head(f"From now on, without being asked{for_whom}")
    for what, section, key, is_on in automatic:
        dialogue.say(f"- {what}; " + ("off: " if is_on else "is off: ") + f"{key} = false under [{section}]")
    file = short_path(settings.file or Path(config_file(settings.environ)))
    dialogue.say(f"The settings are in {file}; to disconnect a client: mcp-memory uninstall CLIENT", indent=0)
    dialogue.say("Try it: tell an agent something to remember, and ask another one for it.", indent=0)
