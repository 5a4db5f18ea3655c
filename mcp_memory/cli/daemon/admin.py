"""Maintenance commands: adopt, config, jobs."""

import os
from collections.abc import Iterator

import click

from mcp_memory.cli import note_options
from mcp_memory.cli.command_context import CommandContext, command_options, flag, located
from mcp_memory.cli.console import Facts, Remark, local_minute, say, table
from mcp_memory.daemon import settings_in_force
from mcp_memory.daemon.engine_client import compaction_s
from mcp_memory.errors import InvalidInput
from mcp_memory.runtime import paths
from mcp_memory.settings.settings import as_tree, shipped
from mcp_memory.text.pluralize import counted


@click.command()
@click.argument("action", type=click.Choice(["list", "run", "log", "pause", "resume"]), default="list")
@click.argument("name", required=False)
@note_options.limit(20, 1000, "With log: at most this many runs.")
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


def _table(jobs: list[Facts]) -> Iterator[str]:
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


def _run_lines(run: Facts) -> Iterator[str]:
    said = f"failed: {run['error']}" if run["error"] else run["about"]
    yield f"{local_minute(run['began'])}  {run['job']}: {said}"
    facts = [f"because: {run['why']}", *(f"{name} {value:g}" for name, value in run["figures"].items())]
    yield Remark(f"  {', '.join(facts)}")
    yield from (Remark(f"  {path}") for path in run["changed"])
    if further := run["files"] - len(run["changed"]):
        yield Remark(f"  and {counted(further, 'file')} more")


@click.command()
@click.argument("path", required=False)
@flag("--undo", help="Reverse earlier adoptions. Notes that agents wrote stay theirs.")
@flag("--dry-run", help="List the notes without changing anything.")
@flag("--yes", help="Don't ask.")
@command_options
def adopt(cli: CommandContext, path: str | None, undo: bool, dry_run: bool, yes: bool) -> None:
    """Let agents change notes in the managed folder that this installation did not write, for example after you moved a
    vault.

    \b
    mcp-memory adopt --dry-run       the whole managed folder, without changing it
    mcp-memory adopt notes/decision  one folder or file
    mcp-memory adopt --undo          reverse all adoptions"""
    key = "returned" if undo else "adopted"
    if dry_run or (path is None and not yes):
        planned = cli.ask("adopt", path=path, revoke=undo, dry_run=True)[key]
        would = "yours again" if undo else "open to agents' changes"
        lines = [*planned, f"{counted(len(planned), 'note')} would be {would}"]
        question = "take them back?" if undo else "let agents change them?"
        if not cli.agree(question, lines, yes=not planned, dry_run=dry_run) or not planned:
            cli.show({key: planned, "dry_run": dry_run}, [])
            return
    done = cli.ask("adopt", path=path, revoke=undo)[key]
    became = f"{'is' if len(done) == 1 else 'are'} yours again" if undo else "adopted"
    cli.show({key: done, "dry_run": False}, [*done, f"{counted(len(done), 'note')} {became}"])


@click.group()
@located
def config() -> None:
    """Show the configuration and where it is.

    \b
    mcp-memory config path
    mcp-memory config show
    mcp-memory config default > ~/.config/mcp-memory/config.toml"""


@config.command("path")
@command_options
def config_file(cli: CommandContext) -> None:
    """Print the configuration file's path, whether it exists or not.

    \b
    $EDITOR "$(mcp-memory config path)"
    """
    file = str(cli.config or paths.config_file(os.environ))
    cli.show({"file": file}, [file])


@config.command("show", short_help="Print the effective settings, and those not loaded yet.")
@command_options
def config_show(cli: CommandContext) -> None:
    """Print the effective settings from defaults, file, environment and flags. Settings that the running daemon has not
    loaded yet come first.

    \b
    mcp-memory config show --json"""
    file, tree, changes = cli.settings.file, as_tree(cli.settings), settings_in_force.find_changes(cli.settings)
    lines = [f"# file: {file or 'none (defaults)'}"]
    if changes:
        change = settings_in_force.describe_changes(changes)
        lines.insert(0, f"# takes effect after {settings_in_force.RESTART}: {change}")
    lines += [f"{section}.{key} = {value!r}" for section, table in tree.items() for key, value in table.items()]
    waiting = [change._asdict() for change in changes]
    cli.show({"file": str(file) if file else None, "settings": tree, "not_in_force": waiting}, lines)


@config.command("default")
@located
def config_default() -> None:
    """Print the default configuration, with every key explained.

    \b
    mcp-memory config default > ~/.config/mcp-memory/config.toml"""
    say(shipped("default.toml").rstrip())
