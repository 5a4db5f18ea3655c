"""The commands of the group `clients`, for people. Clients themselves run `hook`, `headers` and `stdio`."""

import os
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

import click

from mcp_memory.cli.command_context import CommandContext, command_options, flag
from mcp_memory.cli.console import Facts, Heading
from mcp_memory.client.credentials import DEFAULT_CLIENT, PERSON, Credentials
from mcp_memory.hooks import hook_log
from mcp_memory.hooks.hook_report import LATE, LIMITED, HooksReport, report
from mcp_memory.settings.settings import shipped_path
from mcp_memory.text.pluralize import counted

PLUGIN, PLUGIN_FOLDER = "mcp-memory", "configs/plugin"

_LATE = dict.fromkeys(LATE, "it would have taken longer than [hooks] allows, for example on a busy machine")


@click.group(invoke_without_command=True)
@command_options
def clients(cli: CommandContext) -> None:
    """List the clients on this machine, and how each is connected. Exits with 0 if there is nothing to do, else 1.

    Shows whether each client is connected by install or stdio, and whether the daemon answers it. Also checks
    whether its hooks run, whether its agent may call the tools, and when it last called them.

    \b
    mcp-memory clients
    mcp-memory clients hooks --sessions 3"""
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        from mcp_memory.cli.clients.client_status import show_clients

        if not show_clients(cli):
            context.exit(1)


@clients.command()
@click.option("--client", default=DEFAULT_CLIENT, show_default=True, help="The client's name.")
@flag("--rotate", help="Make a new token and reject the old one; also readmits a revoked client.")
@flag("--revoke", help="Reject this client until you rotate its token.")
@command_options
def token(cli: CommandContext, client: str, rotate: bool, revoke: bool) -> None:
    """Print a client's bearer token, creating it on first use.

    \b
    mcp-memory clients token --client inspector"""
    state = cli.settings.state
    state.make()
    credentials = Credentials(state.tokens)
    if revoke:
        credentials.revoke(client)
        cli.show({"client": client, "revoked": True}, [f"{client}: revoked"])
        return
    value = credentials.rotate(client) if rotate else credentials.token(client)
    if client == PERSON:
        cli.show({"client": client, "rotated": True}, [f"{client}: rotated"])
    else:
        cli.show({"client": client, "token": value}, [value])


@clients.command(short_help="Show what each session was given, how long it took, what failed.")
@click.option(
    "-n",
    "--sessions",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Show at most this many sessions.",
)
@command_options
def hooks(cli: CommandContext, sessions: int) -> None:
    """Show what each session was given unasked, its tokens and time, how often it got nothing, and what failed.

    \b
    mcp-memory clients hooks --sessions 3
    mcp-memory clients hooks --json | jq .failures"""
    files = [hook_log.fallback_file(os.environ), str(cli.settings.state.hooks)]
    found = report((line for file in files for line in hook_log.read_lines(file)), sessions)
    ids = list(dict.fromkeys(note for session in found.sessions for note in session.notes))
    notes: Facts = cli.ask("titles", ids=ids)["notes"] if ids else {}
    cli.show({**asdict(found), "titles": notes}, _lines(found, notes))


def _lines(found: HooksReport, notes: Facts) -> Iterator[str]:
    for session in found.sessions:
        yield Heading(f"{session.client} {session.session}  (last {session.last})")
        outcomes = f"{session.given} gave something, {session.silent} nothing, {session.failed} failed"
        yield f"  {counted(session.calls, 'call')}: {outcomes}; {counted(session.tokens, 'token')}"
        titles: dict[str, list[str]] = {}  # many entries may be in one file
        for note in session.notes:
            known = notes.get(note) or {"path": note, "title": "(forgotten, or gone)"}
            titles.setdefault(known["path"], []).append(known["title"])
        for path, named in titles.items():
            many = f" ({counted(len(named), 'entry', 'entries')})" if len(named) > 1 else ""
            yield f"    {path}  {' · '.join(dict.fromkeys(named))}{many}"
    if not found.sessions:
        yield "no hook has been called yet: mcp-memory clients shows whether they are connected"
    if found.prompts:
        tokens = "" if found.tokens_per_prompt is None else f", else {found.tokens_per_prompt:.0f} tokens (median)"
        yield f"prompts     {found.prompts}, nothing for {found.silent_prompts / found.prompts:.0%} of them{tokens}"
    for event, (late, calls) in found.late.items():
        asked = counted(calls, LIMITED[event])
        yield f"late        {late} of the last {asked} got nothing because time ran out"
    for why, count in found.degraded.items():
        yield f"degraded    {counted(count, 'prompt')}: {why}"
    if found.p50_ms is not None and found.p99_ms is not None:
        yield f"time        {found.p50_ms:.0f} ms (median), {found.p99_ms:.0f} ms (99th of 100)"
    failures = Counter[str]()
    for cause, count in found.failures.items():
        failures[_LATE.get(cause, cause)] += count
    for cause, count in failures.most_common():
        yield f"failed      {count} × {cause}"


@clients.command(short_help="Show how to add the plugin from a marketplace.")
@command_options
def plugin(cli: CommandContext) -> None:
    """Show where the plugin for clients' marketplaces is, and the commands that add it.

    It adds hooks, tools and a skill to Claude Code, Codex and OpenClaw. `install` doesn't need it.

    \b
    mcp-memory clients plugin"""
    root = shipped_path("").parent.absolute()  # in a source tree and in an installed package alike
    place, spec = shlex.quote(str(root)), f"{PLUGIN}@{PLUGIN}"
    commands = [
        f"claude plugin marketplace add {place} && claude plugin install {spec}",
        f"codex plugin marketplace add {place} && codex plugin add {spec}",
        f"openclaw plugins install --link {place}/{PLUGIN_FOLDER} --force --accept-capabilities",
        f"openclaw config set plugins.entries.{PLUGIN}.hooks.allowConversationAccess true",
        "openclaw config set plugins.entries.memory-core.enabled false",
    ]
    cli.show({"marketplace": str(root), "commands": commands}, [f"the plugin: {root}", *(f"  {c}" for c in commands)])
