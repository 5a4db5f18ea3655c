"""hook, hooks: what agents' clients run, and what came of it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click

from mcp_memory.cli.console import emit, head, say
from mcp_memory.cli.engine_call import ask
from mcp_memory.cli.options import CommonOptions, command_options, located
from mcp_memory.hooks import hook_log, run
from mcp_memory.hooks.hook_command import USAGE
from mcp_memory.hooks.hook_report import LATE, HooksReport, SessionReport, report
from mcp_memory.text.pluralize import counted

_LATE = "it would have taken longer than [hooks] allows, as on a busy machine"
_MEANT = dict.fromkeys(LATE, _LATE)


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True}, add_help_option=False)
@click.pass_context
def hook(ctx: click.Context) -> None:
    """Put memory in front of an agent: what its client's command hooks run."""
    if {"-h", "--help"} & set(ctx.args):
        say(USAGE.rstrip())
        return
    common: CommonOptions = ctx.obj
    given = ["--vault", common.vault] if common.vault else []
    given += ["--config", str(common.config)] if common.config else []
    run([*ctx.args, *given])


@click.group()
@located
def hooks() -> None:
    """What the hooks have put in front of agents.

    \b
    mcp-memory hooks report --sessions 3 --json
    """


@hooks.command("report")
@click.option("--sessions", type=click.IntRange(min=1), default=10, show_default=True, help="How many, the latest.")
@command_options
def hooks_report(common: CommonOptions, sessions: int, as_json: bool) -> None:
    """What each session was given unasked, how many tokens, how long it took, how often nothing, and what failed.

    \b
    mcp-memory hooks report --sessions 3
    mcp-memory hooks report --json | jq .failures
    """
    settings = common.settings()
    files = [hook_log.fallback_file(os.environ), str(settings.state.hooks)]
    found = report((line for file in files for line in hook_log.read_lines(file)), sessions)
    ids = list(dict.fromkeys(note for each in found.sessions for note in each.notes))
    notes: Mapping[str, Any] = {}
    if ids:
        notes = ask(settings, "titles", {"ids": ids})["notes"]
    if as_json:
        emit({**asdict(found), "titles": notes})
        return
    for each in found.sessions:
        _draw(each, notes)
    _sum_up(found)


def _draw(session: SessionReport, notes: Mapping[str, Any]) -> None:
    head(f"{session.client} {session.session}  (last {session.last})")
    said = f"{session.given} gave something, {session.silent} nothing, {session.failed} failed"
    say(f"  {counted(session.calls, 'call')}: {said}; {counted(session.tokens, 'token')}")
    for note in session.notes:
        known = notes.get(note)
        name = f"{known['path']}  {known['title']}" if known else f"{note}  (forgotten, or gone)"
        say(f"    {name}")


def _sum_up(found: HooksReport) -> None:
    if not found.sessions:
        say("no hook was called yet: see mcp-memory hook --help")
    if found.prompts:
        tokens = "" if found.tokens_per_prompt is None else f", else {found.tokens_per_prompt:.0f} tokens (median)"
        say(f"prompts     {found.prompts}, nothing for {found.silent_prompts / found.prompts:.0%} of them{tokens}")
    for what, late, of in (
        ("session start", found.late_starts, found.starts),
        ("prompt", found.late_prompts, found.asked_prompts),
    ):
        if late:
            say(f"late        {late} of the last {counted(of, what)} got nothing because the deadline was over")
    for why, count in found.degraded.items():
        say(f"poorer      {counted(count, 'prompt')}: {why}")
    if found.p50_ms is not None and found.p99_ms is not None:
        say(f"time        {found.p50_ms:.0f} ms (median), {found.p99_ms:.0f} ms (99th of 100)")
    failures = Counter[str]()
    for cause, count in found.failures.items():
        failures[_MEANT.get(cause, cause)] += count
    for meant, count in failures.most_common():
        say(f"failed      {count} × {meant}")
