"""Shows, runs and pauses background jobs."""

from collections.abc import Iterator
from typing import Any

import click

from mcp_memory.cli.command_context import CommandContext, command_options
from mcp_memory.cli.console import Remark, local_minute, table
from mcp_memory.daemon.engine_client import compaction_s
from mcp_memory.errors import InvalidInput
from mcp_memory.text.pluralize import counted


@click.command()
@click.argument("action", type=click.Choice(["list", "run", "log", "pause", "resume"]), default="list")
@click.argument("name", required=False)
@click.option(
    "--limit", "-n", type=click.IntRange(1, 1000), default=20, metavar="N", help="With log: at most this many runs."
)
@command_options
def jobs(cli: CommandContext, action: str, name: str | None, limit: int) -> None:
    """List the daemon's background jobs: each job's purpose, its last run and result, and its next run.

    Jobs run one at a time, while the daemon is idle. [jobs] in the configuration sets the time of day, and turns
    jobs off.

    \b
    mcp-memory jobs
    mcp-memory jobs run topics      run it now, even if it is paused or off
    mcp-memory jobs log [NAME]      the latest runs: why, when, what they changed
    mcp-memory jobs pause topics    until you resume it"""
    if name is None and action in {"run", "pause", "resume"}:
        raise InvalidInput(f"{action} which job?", hint=f"mcp-memory jobs {action} NAME; mcp-memory jobs lists them")
    deadline_s = compaction_s(cli.settings) if action == "run" else None
    answer = cli.ask("jobs", deadline_s=deadline_s, action=action, name=name, limit=limit)
    if "jobs" in answer:
        cli.show(answer, list(_table(answer["jobs"])))
        return
    runs = answer["runs"]
    cli.show(answer, [line for run in runs for line in _run_lines(run)] or ["no job has done anything yet"])
    if action == "run" and runs[0]["error"]:
        raise click.exceptions.Exit(1)


def _table(jobs: list[dict[str, Any]]) -> Iterator[str]:
    rows = [["job", "when", "last run", "next", "result"]]
    for job in jobs:
        coming = "running" if job["running"] else "paused" if job["paused"] else "off" if job["off"] else None
        coming = coming or local_minute(job["next"]) or "after a change"
        rows.append([job["name"], job["when"], local_minute(job["last"]) or "never", coming, job["result"] or ""])
    yield from table(rows, 4)
    yield ""
    width = max(len(job["name"]) for job in jobs)
    for job in jobs:
        yield Remark(f"{job['name']:<{width}}  {job['about']}{f' ({why})' if (why := job['off']) else ''}")


def _run_lines(run: dict[str, Any]) -> Iterator[str]:
    said = f"failed: {run['error']}" if run["error"] else run["about"]
    yield f"{local_minute(run['began'])}  {run['job']}: {said}"
    facts = [f"because: {run['why']}", *(f"{name} {value:g}" for name, value in run["figures"].items())]
    yield Remark(f"  {', '.join(facts)}")
    yield from (Remark(f"  {path}") for path in run["changed"])
    if further := run["files"] - len(run["changed"]):
        yield Remark(f"  and {counted(further, 'file')} more")
