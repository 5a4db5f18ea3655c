"""The setup command: connects the clients, and brings in what is known already."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import click

from mcp_memory.capture.checkpoint import Checkpoints
from mcp_memory.capture.tail import list_sessions, measure_unread
from mcp_memory.capture.transcript_paths import TranscriptPaths
from mcp_memory.cli.clients.config_changes import is_read_already
from mcp_memory.cli.clients.connection_entries import typed_command
from mcp_memory.cli.clients.installing import find_client_paths
from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.console import print_status, short_path
from mcp_memory.cli.daemon.running import start_daemon
from mcp_memory.cli.notes.changes import NOT_DONE
from mcp_memory.cli.sessions.transcripts import capture_files
from mcp_memory.cli.setup.steps import Dialogue, connect_clients, offer_reader, offer_service
from mcp_memory.cli.transfer.importing import import_notes
from mcp_memory.daemon import launch
from mcp_memory.errors import McpMemoryError
from mcp_memory.extraction.config import ExtractionConfig
from mcp_memory.integrations.clients import CLIENTS, TITLES
from mcp_memory.settings.settings import Settings
from mcp_memory.settings.settings_file import file_of
from mcp_memory.text.pluralize import counted, listed
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.transfer.detect import detect_source
from mcp_memory.vault.note_file import INBOX

BYTES_A_SECOND = 1_000_000
"""The speed at which sessions are captured and searched for statements: 0.7 MB with both cores of a small machine
busy."""


@click.command()
@click.option(
    "--client", "only", type=click.Choice(list(CLIENTS)), multiple=True, help="Only this client; may be repeated."
)
@flag("--no-past", help="Skip past sessions and the clients' own memories.")
@flag("--dry-run", help="Only show what was found and what would change.")
@flag("--yes", help="Answer yes to every question, but choose no language model.")
@command_options
def setup(cli: CommandContext, only: tuple[str, ...], no_past: bool, dry_run: bool, yes: bool) -> None:
    """Set up memory, step by step: start the daemon, connect the clients on this machine, and import past sessions and
    the clients' own memories. Asks once whether a language model may read finished sessions.

    Each step shows what it found and asks before it changes anything; `d` shows a client's files as a diff. For Codex,
    this includes trusting our hooks. You can run it again at any time; it reports finished steps and skips them.
    Without a terminal, it changes nothing unless you pass --yes, and exits with 5.

    \b
    mcp-memory setup
    mcp-memory setup --yes --client claude-code
    mcp-memory setup --dry-run"""
    dialogue = Dialogue(cli, yes, preview=dry_run or not (yes or (sys.stdin.isatty() and not cli.as_json)))
    settings, dialogue.report["dry_run"] = cli.settings, dialogue.preview
    try:
        connected = _take_steps(dialogue, settings, only, has_past=not no_past)
    except (click.Abort, KeyboardInterrupt):
        print_status(f"\nstopped; finished steps are kept. To continue: {typed_command(settings, 'setup')}")
        raise
    _explain(dialogue, settings, connected)
    cli.show(dialogue.report, ())
    if dialogue.preview and not dry_run:
        why = "there is no terminal to ask on: pass --yes"
        if all(row["state"] == "not found" for row in dialogue.report["clients"]):
            why = "no client was found: install one and run this again, or see mcp-memory install generic"
        print_status(f"nothing was changed, because {why}")
        click.get_current_context().exit(NOT_DONE)
    if dialogue.has_failed:
        click.get_current_context().exit(1)


def _take_steps(dialogue: Dialogue, settings: Settings, only: Sequence[str], *, has_past: bool) -> Sequence[str]:
    """Take the steps. Returns the connected clients."""
    dialogue.head("1 of 5  The vault and its daemon")
    _start(dialogue, settings)
    dialogue.head("2 of 5  Your agents")
    connected = connect_clients(dialogue, settings, only)
    dialogue.head("3 of 5  Past sessions")
    if has_past and settings.capture.enabled:
        _capture(dialogue, settings)
    else:
        dialogue.say("skipped: recording is turned off" if has_past else "left alone")
    dialogue.head("4 of 5  What your agents remember themselves")
    if has_past:
        _import(dialogue, settings)
    else:
        dialogue.say("left alone")
    dialogue.head("5 of 5  A language model for finished sessions")
    offer_reader(dialogue, settings)
    return connected


def _start(dialogue: Dialogue, settings: Settings) -> None:
    vault, report = short_path(settings.vault_path), dialogue.report
    report["vault"] = str(settings.vault_path)
    if dialogue.preview:
        dialogue.say(f"{vault}: {'served already' if launch.connect(settings) else 'a daemon would be started'}")
        return
    connection, report["started"], status = start_daemon(settings)
    where = f"{'started' if report['started'] else 'runs already'} at {connection.address.place}"
    dialogue.say(f"{vault}, {counted(status['notes'], 'note')}: {where}")
    if status["model"] is None:
        offer_service(dialogue, settings, status["model_state"])


def _capture(dialogue: Dialogue, settings: Settings) -> None:
    count, unread, new_bytes = _find_sessions(settings)
    report = dialogue.report["past_sessions"] = {"sessions": count, "unread": len(unread), "bytes": new_bytes}
    if not unread:
        dialogue.say(f"{counted(count, 'session')}, all already read" if count else "none yet")
        return
    seconds = max(1, new_bytes // BYTES_A_SECOND)
    how_long = counted(seconds, "second") if seconds < 90 else f"{round(seconds / 60)} minutes"
    dialogue.say(
        f"{counted(count, 'session')}, {len(unread):,} to read: {new_bytes / 1e6:,.1f} MB, about {how_long}. "
        f"The text stays on this machine, searchable, without secrets, for {settings.capture.keep_days} days. What you "
        "stated outright in the last 30 days becomes a note; a few proposals wait for you: mcp-memory review"
    )
    if not dialogue.agree("Read them?"):
        return
    cli, began = dialogue.cli, datetime.now().astimezone().isoformat()
    reports = capture_files(cli, unread, dry_run=False)
    changes = cli.ask("changes", since=began, limit=20_000)["changes"]
    made = [change for change in changes if change["kind"] == "stored" and change["session"] is not None]
    stored = sum(not change["path"].startswith(f"{INBOX}/") for change in made)
    waiting = len(cli.ask("waiting", only=["candidate"])["waiting"])
    messages = sum(each["messages"] for each in reports)
    report |= {"messages": messages, "stored": stored, "waiting": waiting}
    dialogue.say(
        f"read: {counted(messages, 'message')}; {counted(stored, 'note')} stored (mcp-memory changes --all-projects), "
        f"{counted(waiting, 'statement')} waiting (mcp-memory review)"
    )
    for each in (each for each in reports if "error" in each):
        dialogue.fail(each["file"], McpMemoryError(each["error"]))


def _import(dialogue: Dialogue, settings: Settings) -> None:
    rows = dialogue.report["memories"] = list[dict[str, Any]]()
    paths = find_client_paths()
    for client, described in CLIENTS.items():
        folder = described.memory_folder(paths)
        if folder is None:
            continue
        if is_read_already(folder, settings):
            dialogue.say(f"{described.title}: {short_path(folder)} is searched in place")
            rows.append({"client": client, "folder": str(folder), "counts": {}, "imported": False})
            continue
        try:
            source = detect_source(folder, None, vault=settings.vault_path)
            counts: dict[str, int] = import_notes(dialogue.cli, source, dry_run=True)["counts"]
            new = sum(counts.get(deed, 0) for deed in ("new", "updated", "beside"))
            state = f"{new:,} of them new" if new else "imported already" if counts else "nothing to import"
            notes = counted(sum(counts.values()), "note")
            dialogue.say(f"{described.title}: {notes} in {short_path(folder)}, {state}")
            is_agreed = new > 0 and dialogue.agree("Copy them into the vault? The files there stay as they are.")
            if is_agreed:
                done = import_notes(dialogue.cli, source, dry_run=False)
                counts, run = done["counts"], done["run"]
                dialogue.say(f"imported: {', '.join(f'{number} {deed}' for deed, number in counts.items())}")
                dialogue.say(f"→ to take it back: mcp-memory undo {run}" if run else "", indent=4)
            rows.append({"client": client, "folder": str(folder), "counts": counts, "imported": is_agreed})
        except McpMemoryError as error:
            dialogue.fail(described.title, error)
    if not rows:
        dialogue.say("none found")


def _find_sessions(settings: Settings) -> tuple[int, list[str], int]:
    """Return the number of sessions, the sessions that have something new, and the number of new bytes. Needs no
    daemon."""
    paths, checkpoints = TranscriptPaths(settings.capture.folders), Checkpoints(settings.state.root / "checkpoints")
    unread, sizes = list[str](), list[int]()
    for client in paths.clients:
        for file in paths.list_transcripts(client):
            with suppress(McpMemoryError):
                for path in list_sessions(paths, file):
                    new = measure_unread(paths, path, checkpoints.read(client, path.name)).new_bytes
                    sizes.append(new)
                    unread += [path.name] if new else []
    return len(sizes), unread, sum(sizes)


def _explain(dialogue: Dialogue, settings: Settings, connected: Sequence[str]) -> None:
    """Print what happens by itself, and how to switch each part off."""
    told = [TITLES[client] for client in connected if CLIENTS[client].hooks]
    untold = [TITLES[client] for client in connected if not CLIENTS[client].hooks]
    fitting = "agents get relevant notes at the start of a session and with prompts"
    if untold:
        when_asked = f"for {listed(untold)}, when the agent asks"
        fitting = f"{fitting} ({listed(told)}; {when_asked})" if told else f"what fits is given, {when_asked}"
    automatic = (
        (fitting, "hooks", "enabled", settings.hooks.enabled),
        ("sessions are recorded, on this machine", "capture", "enabled", settings.capture.enabled),
        (
            'what you state outright ("always use uv") is stored',
            "extraction",
            "automatic",
            settings.section("extraction", ExtractionConfig).automatic,
        ),
        ("new notes are filed under topics", "topics", "automatic", settings.section("topics", TopicsConfig).automatic),
    )
    for_whom = f", for {listed([TITLES[client] for client in connected])}" if connected else ""
    dialogue.head(f"From now on, without being asked{for_whom}")
    for what, section, key, is_on in automatic:
        dialogue.report.setdefault("automatic", []).append({"what": what, "setting": f"{section}.{key}", "on": is_on})
        dialogue.say(f"- {what}; {'off' if is_on else 'is off'}: {key} = false under [{section}]")
    file = short_path(file_of(settings))
    dialogue.say(f"Settings go into {file}: mcp-memory config default explains each", indent=0)
    dialogue.say("To disconnect a client: mcp-memory uninstall CLIENT", indent=0)
    dialogue.say("Try it: tell an agent something to remember, and ask another one for it.", indent=0)
    dialogue.say(f"See your memory in a browser: {typed_command(settings, 'open')}", indent=0)
