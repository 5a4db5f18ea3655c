"""The commands that run the daemon: start, stop, restart, status, serve."""

from __future__ import annotations

import sys
from typing import Any

import click

from mcp_memory import __version__
from mcp_memory.cli.clients.snippets import start_command
from mcp_memory.cli.console import emit, head, print_status, say
from mcp_memory.cli.daemon.service import restarted_by_systemd
from mcp_memory.cli.options import CommonOptions, command_options, located, port
from mcp_memory.cli.topics.tree_view import counted
from mcp_memory.client.connection import Address
from mcp_memory.client.versions import is_newer
from mcp_memory.daemon import launch, settings_in_force
from mcp_memory.daemon.instance import HeldLock
from mcp_memory.errors import Busy, DeadlineExceeded, InvalidInput, NotRunning
from mcp_memory.settings.settings import Settings


@click.command()
@port
@command_options
def start(common: CommonOptions, port: int | None, as_json: bool) -> None:
    """Start the daemon in the background, or show where it is running.

    A running daemon of an older version finishes its calls and is replaced; a newer one is kept.

    \b
    mcp-memory start
    mcp-memory start --vault ~/notes
    """
    settings = common.settings(daemon__port=port)
    connection, started = launch.launch(settings, ["--port", str(port)] if port is not None else [], tell=print_status)
    if is_newer(connection.address.version, than=__version__):
        print_status(f"using the running daemon: its version {connection.address.version} is newer than {__version__}")
    status = _watch_first_index(connection, settings)
    if as_json:
        emit({"started": started, **_facts(connection.address, status)})
        return
    say("started" if started else "already running")
    _describe(connection.address, status)
    if not connection.address.uds:  # MCP clients connect to a port
        _paste(settings, connection.address)


@click.command()
@command_options
def stop(common: CommonOptions, as_json: bool) -> None:
    """Stop the daemon after its running calls finish. A hung daemon is killed. Hooks and clients start it again.

    \b
    mcp-memory stop
    """
    pid = launch.stop(common.settings(), tell=print_status)
    if as_json:
        emit({"stopped": pid is not None, "pid": pid})
    else:
        say(f"stopped (pid {pid})" if pid else "was not running")


@click.command()
@command_options
def restart(common: CommonOptions, as_json: bool) -> None:
    """Restart the daemon with the current configuration.

    \b
    mcp-memory restart
    """
    settings = common.settings()
    address = _last_address(settings)
    if not restarted_by_systemd(settings):
        launch.stop(settings, tell=print_status)
    options = ["--uds", address.uds] if address and address.uds and not settings.daemon.uds else []
    connection, _ = launch.launch(settings, options, tell=print_status)
    if as_json:
        emit({"restarted": address is not None, **_facts(connection.address, _watch_first_index(connection, settings))})
        return
    say(f"{'restarted' if address else 'started'}: pid {connection.address.pid} at {connection.address.place}")


def _last_address(settings: Settings) -> Address | None:
    try:
        return Address.read(settings.state.daemon)
    except NotRunning:
        return None


@click.command()
@command_options
def status(common: CommonOptions, as_json: bool) -> None:
    """Show whether the daemon runs, its address, and the state of its index. Exits with 3 if it does not run.

    \b
    mcp-memory status --json
    """
    settings = common.settings()
    try:
        connection = launch.connect(settings)
    except DeadlineExceeded:
        connection = None
    if connection is None:
        raise launch.explain_absence(settings, start_command=start_command(settings))
    facts = connection.call("status", {}, deadline_s=30)
    changes = settings_in_force.find_changes(settings)
    if as_json:
        emit({**_facts(connection.address, facts), "not_in_force": [change._asdict() for change in changes]})
        return
    _describe(connection.address, facts)
    if changes:
        print_status(f"changed since it started, so not in effect yet: {settings_in_force.describe_changes(changes)}")
        print_status(f"  → {settings_in_force.RESTART}")
    if connection.address.version != __version__:
        print_status(f"the daemon is of version {connection.address.version}, this program of {__version__}")
        is_older = is_newer(__version__, than=connection.address.version)
        remedy = (
            settings_in_force.RESTART if is_older else "upgrade this program, or use the one that started the daemon"
        )
        print_status(f"  → {remedy}")


@click.command()
@click.option("--host", help="Address to listen on; default 127.0.0.1.")
@port
@click.option("--uds", metavar="PATH", help="Listen on this Unix socket instead of a port.")
@located
@click.pass_obj
def serve(common: CommonOptions, host: str | None, port: int | None, uds: str | None) -> None:
    """Serve the vault in the foreground, until Ctrl-C.

    If a daemon of the same version already serves it, prints its address and exits with 0.

    \b
    mcp-memory serve --vault ~/notes --port 9000
    """
    from mcp_memory.daemon.serve import serve as run

    if port is not None and uds:
        raise InvalidInput("both --port and --uds", hint="pass one of them")
    settings = common.settings(daemon__host=host, daemon__port=port, daemon__uds=uds)

    def listening(address: Address) -> None:
        print_status(f"serving {address.vault} at {address.place} (pid {address.pid}); Ctrl-C stops")

    other = None
    while other is None:
        try:
            run(settings, on_listening=listening, on_progress=print_status)
        except HeldLock:
            other = launch.wait_for_other_daemon(settings)
        else:
            return
    _stand_back(other.address)


def _stand_back(other: Address) -> None:
    """Raises Busy where the daemon that serves already is of another version."""
    who = f"a daemon (pid {other.pid}, version {other.version}) already serves {other.vault}"
    if other.version != __version__:
        raise Busy(f"{who} at {other.place}", hint=f"this is version {__version__}; to change over: mcp-memory start")
    print_status(who)
    say(other.place)


def _watch_first_index(connection: launch.DaemonConnection, settings: Settings) -> dict[str, Any]:
    """Wait for the first index with a bar on a terminal, with a line a phase elsewhere; each fault is told once."""
    told: set[str] = set()

    def tell_once(line: str) -> None:
        if line not in told:
            told.add(line)
            print_status(line)

    def tell_faults(status: dict[str, Any]) -> None:
        if status["ready"]:
            return
        if status["model_state"] not in {"loading", "ready"}:
            tell_once(f"the model is {status['model_state']}")
        for error in status["errors"]:
            tell_once(error)

    if not sys.stderr.isatty():

        def line(status: dict[str, Any]) -> None:
            tell_once(f"{_phase(status)} …")
            tell_faults(status)

        return launch.wait_ready(connection, settings, line)
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task("starting", total=None)

        def draw(status: dict[str, Any]) -> None:
            done, total = status["progress"]
            bars.update(bar, description=_phase(status), completed=done, total=total or None)
            tell_faults(status)

        return launch.wait_ready(connection, settings, draw)


def _phase(status: dict[str, Any]) -> str:
    phase = str(status["phase"])
    if phase != "idle":
        return {"reading": "reading notes", "building": "building the index"}.get(phase, phase)
    return "loading the model" if status["model_state"] == "loading" else "indexing"


def _facts(address: Address, status: dict[str, Any]) -> dict[str, Any]:
    where = {"url": address.url, "uds": address.uds or None, "pid": address.pid, "version": address.version}
    return {**where, **status}


def _describe(address: Address, status: dict[str, Any]) -> None:
    rows = [
        ("address", address.place),
        ("vault", status["vault"]),
        ("model", status["model"] or f"keywords only ({status['model_state']})"),
        ("indexed", _indexed(status)),
        ("watching", _watching(status)),
        ("topics", _compaction(status["compaction"])),
        ("sessions", _capture(status["capture"])),
        ("process", f"pid {address.pid}, version {address.version}"),
    ]
    if called := status["clients"]:
        rows.append(
            ("clients", ", ".join(f"{client} ({when[:16].replace('T', ' ')})" for client, when in called.items()))
        )
    if status["phase"] != "idle":
        done, total = status["progress"]
        rows.append(("doing", f"{status['phase']}, {done} of {total}" if total else status["phase"]))
    if status["git"]:
        rows.append(("git", _committing(status["git"])))
    if status["problems"]:
        rows.append(("problems", f"{status['problems']} (mcp-memory doctor)"))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        say(f"  {name:<{width}}  {value}")


def _indexed(status: dict[str, Any]) -> str:
    waiting = f"{status['pending']:,} without vectors yet"
    return f"{counted(status['notes'], 'note')}, {counted(status['chunks'], 'passage')}, {waiting}"


def _committing(commits: dict[str, Any]) -> str:
    if commits["waiting"]:
        return f"{counted(commits['waiting'], 'file')} not committed yet: {commits['why'] or 'in a moment'}"
    return f"all is committed{', the last as ' + commits['last'][:10] if commits['last'] else ''}"


def _capture(capture: dict[str, Any]) -> str:
    if not capture["enabled"]:
        return "not captured (capture.enabled is off)"
    last = f"last captured {capture['last'][:16].replace('T', ' ')}" if capture["last"] else "nothing captured yet"
    troubled = f"; {counted(capture['problems'], 'transcript')} not read (mcp-memory doctor)"
    return f"{last}, {capture['following']} followed{troubled if capture['problems'] else ''}"


def _watching(status: dict[str, Any]) -> str:
    last, took = status["last_sweep_s"], status["sweep_took_s"]
    return f"{status['watching']}" + (f" (the last {last:.0f} s ago, in {took:.2f} s)" if last is not None else "")


def _compaction(compaction: dict[str, Any]) -> str:
    """What it does or why it does nothing, when it looks again, and what the last run did."""
    done, total = compaction["progress"]
    if compaction["why_idle"] is None:
        said = f"{compaction['phase']}, {done} of {total}" if total else f"{compaction['phase']}"
    else:
        said = compaction["why_idle"]
    if compaction["next_s"] is not None:
        said += f"; looks again in {compaction['next_s']:.0f} s"
    if last := compaction["last"]:
        said += f"; last run {last['run']}: {last['about']}"
    return said


def _paste(settings: Settings, address: Address) -> None:
    from mcp_memory.cli.clients.snippets import snippets

    say("\nconnect a client: mcp-memory install claude-code (or codex, openclaw); or paste one of these:")
    for name, text in snippets(settings, address.url).items():
        say()
        head(f"# {name}")
        say(text)
