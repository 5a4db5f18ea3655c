"""The commands that run the daemon: start, stop, restart, status, serve."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import click

from mcp_memory import __version__
from mcp_memory.cli.clients.connection_entries import typed_command
from mcp_memory.cli.command_context import CommandContext, command_options, located, port, uds
from mcp_memory.cli.console import Facts, Remark, facts, local_minute, print_status, progress_bar, say, short_path
from mcp_memory.client.connection import Address, is_newer
from mcp_memory.daemon import launch
from mcp_memory.daemon.instance import HeldLock
from mcp_memory.daemon.reachability import find_barrier, require_startable
from mcp_memory.daemon.settings_in_force import RESTART, describe_changes, find_changes
from mcp_memory.errors import Busy, DeadlineExceeded, InvalidInput, NotRunning
from mcp_memory.settings.settings import Settings
from mcp_memory.text.pluralize import counted


@click.command()
@port
@uds
@command_options
def start(cli: CommandContext, port: int | None, uds: str | None) -> None:
    """Start the daemon in the background, or show where it is running.

    A running daemon of an older version finishes its calls and is replaced; a newer one is kept. Clients and hooks
    start it, too, so you need this only for the first time. (To start it at login: mcp-memory help daemon.)

    \b
    mcp-memory start
    mcp-memory start --vault ~/notes"""
    settings = _load(cli, None, port, uds)
    options = ["--port", str(port)] if port is not None else ["--uds", uds] if uds else []
    connection, started, status = start_daemon(settings, options)
    address = connection.address
    if is_newer(address.version, than=__version__):
        print_status(f"using the running daemon: its version {address.version} is newer than {__version__}")
    lines = list(_summarize(settings, address, status, started=started))
    cli.show({"started": started, **_facts(address, status)}, lines)


@click.command()
@command_options
def stop(cli: CommandContext) -> None:
    """Stop the daemon after its running calls finish. A hung daemon is killed. Hooks and clients will start it again.

    \b
    mcp-memory stop"""
    pid = launch.stop(cli.settings_without_mistakes, tell=print_status)
    cli.show({"stopped": pid is not None, "pid": pid}, [f"stopped (pid {pid})" if pid else "was not running"])


@click.command()
@command_options
def restart(cli: CommandContext) -> None:
    """Restart the daemon with the current configuration.

    \b
    mcp-memory restart"""
    address, is_again = restart_daemon(cli.settings)
    status: Facts = start_daemon(cli.settings)[2] if cli.as_json else {}
    verb = "restarted" if is_again else "started"
    lines = [f"{verb}: pid {address.pid} at {address.place}"]
    cli.show({"restarted": is_again, **_facts(address, status)}, lines)


def restart_daemon(settings: Settings) -> tuple[Address, bool]:
    """Start the daemon with these settings at the place of the last one. Return where it is, and whether one ran
    before. Raises what `launch` raises, before the running daemon ends if possible."""
    try:
        before = Address.read(settings.state.daemon)
    except NotRunning:
        before = None
    if barrier := find_barrier(settings):
        raise barrier
    require_startable(settings)  # otherwise the daemon would be stopped but not started
    launch.stop(settings, tell=print_status)
    options = ["--uds", before.uds] if before and before.uds and not settings.daemon.uds else []
    connection, _ = launch.launch(settings, options, tell=print_status)
    return connection.address, before is not None


@click.command()
@command_options
def status(cli: CommandContext) -> None:
    """Show whether the daemon runs, its address, and the state of its index. Exits with 3 if it isn't running.

    \b
    mcp-memory status --json"""
    settings = cli.settings_without_mistakes
    try:
        connection = launch.connect(settings)
    except DeadlineExceeded:
        connection = None
    if connection is None:
        raise launch.explain_absence(settings, start_command=typed_command(settings))
    address, found = connection.address, connection.call("status", {}, deadline_s=30)
    found["review"] = connection.call("waiting", {}, deadline_s=30).get("open", 0)
    changes = [] if cli.configuration_error else find_changes(settings)
    lines = [*_describe(address, found)]
    if changes:
        lines.append(Remark(f"changed since it started, so not in effect yet: {describe_changes(changes)}"))
        lines.append(Remark(f"  → {RESTART}"))
    if address.version != __version__:
        is_older = is_newer(__version__, than=address.version)
        remedy = RESTART if is_older else "upgrade this program, or use the one that started the daemon"
        lines.append(Remark(f"the daemon has version {address.version}, this program {__version__}"))
        lines.append(Remark(f"  → {remedy}"))
    waiting = [change._asdict() for change in changes]
    cli.show({**_facts(address, found), "not_in_force": waiting}, lines)


@click.command()
@click.option("--host", help="Address to listen on; default 127.0.0.1.")
@port
@uds
@located
@click.pass_obj
def serve(cli: CommandContext, host: str | None, port: int | None, uds: str | None) -> None:
    """Serve the vault in the foreground, until Ctrl-C.

    If a daemon of the same version already serves it, prints its address and exits with 0.

    \b
    mcp-memory serve --vault ~/notes --port 9000"""
    from mcp_memory.daemon.serve import serve as run

    settings = _load(cli, host, port, uds)

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
    address = other.address
    message = f"a daemon (pid {address.pid}, version {address.version}) already serves {address.vault}"
    if address.version != __version__:
        hint = f"this is version {__version__}; to change over: mcp-memory start"
        raise Busy(f"{message} at {address.place}", hint=hint)
    print_status(message)
    say(address.place)


def _load(cli: CommandContext, host: str | None, port: int | None, uds: str | None) -> Settings:
    if port is not None and uds:
        raise InvalidInput("--port can't be combined with --uds", hint="pass only one option")
    return cli.load(daemon__host=host, daemon__port=port, daemon__uds=uds)


def _facts(address: Address, status: Facts) -> Facts:
    return {"url": address.url, "uds": address.uds or None, "pid": address.pid, "version": address.version, **status}


def _summarize(settings: Settings, address: Address, status: Facts, *, started: bool) -> Iterator[str]:
    """Yield four lines when all is well: the address, the content of the vault, the next step, the page."""
    from mcp_memory.cli.clients.installing import connected_clients

    yield f"{'started' if started else 'already running'}: {address.place}"
    notes, passages = counted(status["notes"], "note"), counted(status["chunks"], "passage")
    yield f"{short_path(Path(status['vault']))} holds {f'{notes} in {passages}' if status['notes'] else 'no note yet'}"
    if status["model"] is None:
        yield f"without a model, so it finds words only ({status['model_state']})"
    if status["problems"]:
        yield f"{counted(status['problems'], 'problem')}: {typed_command(settings, 'doctor')}"
    if clients := connected_clients(settings):
        yield f"connected: {', '.join(clients)}; to see more: {typed_command(settings, 'status')}"
    else:
        yield f"next, connect your agents: {typed_command(settings, 'setup')}"
    if not address.uds:
        yield f"to see your memory in a browser: {typed_command(settings, 'open')}"


def _describe(address: Address, status: Facts) -> Iterator[str]:
    swept_s, took_s, git = status["last_sweep_s"], status["sweep_took_s"], status.get("git")
    reader = status.get("reader")
    clients = [f"{client} ({local_minute(when)})" for client, when in status["clients"].items()]
    yield from facts(
        {
            "address": address.place,
            "vault": status["vault"],
            "model": status["model"] or f"keywords only ({status['model_state']})",
            "indexed": f"{counted(status['notes'], 'note')}, {counted(status['chunks'], 'passage')}, "
            f"{status['pending']:,} without vectors yet",
            "watching": f"{status['watching']}"
            + (f" (the last {swept_s:.0f} s ago, in {took_s:.2f} s)" if swept_s is not None else ""),
            "topics": _compaction(status["compaction"]) if "compaction" in status else "",
            "next job": _next_job(status["next_job"]),
            "memory": status["memory"] or "",
            "sessions": _capture(status["capture"]),
            "reader": _reader(reader) if reader else "",
            "process": f"pid {address.pid}, version {address.version}",
            "clients": ", ".join(clients),
            "doing": _count_done(status) if status["phase"] != "idle" else "",
            "git": _commits(git) if git else "",
            "review": f"{counted(status['review'], 'item')} waiting (mcp-memory review)" if status["review"] else "",
            "problems": f"{status['problems']} (mcp-memory doctor)" if status["problems"] else "",
        }
    )


def _reader(reader: Facts) -> str:
    today = f"today {reader['calls']:,} of {reader['calls_a_day']:,} calls, "
    tokens = f"{reader['tokens']:,} of {reader['tokens_a_day']:,} tokens"
    failed = f"; failed: {reader['problem']} (mcp-memory doctor)" if reader["problem"] else ""
    return f"{reader['name']}, {today}{tokens}{failed}"


def _count_done(work: Facts) -> str:
    done, total = work["progress"]
    return f"{work['phase']}, {done} of {total}" if total else f"{work['phase']}"


def _commits(commits: Facts) -> str:
    if commits["waiting"]:
        return f"{counted(commits['waiting'], 'file')} not committed yet: {commits['why'] or 'in a moment'}"
    return f"everything is committed{', most recently ' + commits['last'][:10] if commits['last'] else ''}"


def _capture(capture: Facts) -> str:
    if not capture["enabled"]:
        return "not captured (capture.enabled is off)"
    last = f"last captured {local_minute(capture['last'])}" if capture["last"] else "nothing captured yet"
    unread = f"; {counted(capture['problems'], 'transcript')} not read (mcp-memory doctor)"
    return f"{last}, {capture['following']} followed{unread if capture['problems'] else ''}"


def _next_job(job: Facts | None) -> str:
    if job is None or job["running"]:
        return f"{job['name']}, which runs now" if job else "none until something changes"
    moment = datetime.fromisoformat(job["next"]).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return f"{job['name']} at {moment}; for all: mcp-memory jobs"


def _compaction(compaction: Facts) -> str:
    """Describe the compaction: its progress or why it is idle, when it looks again, and its last run."""
    state = _count_done(compaction) if compaction["why_idle"] is None else compaction["why_idle"]
    if compaction["next_s"] is not None:
        state += f"; looks again in {compaction['next_s']:.0f} s"
    if last := compaction["last"]:
        state += f"; last run {last['run']}: {last['about']}"
    return state


def start_daemon(settings: Settings, arguments: Sequence[str] = ()) -> tuple[launch.DaemonConnection, bool, Facts]:
    """Start the vault's daemon if needed. Return it, whether it was started now, and its status once all notes are
    indexed. `arguments` are passed on to `serve`. Raises what `launch` and `wait_ready` raise."""
    printed: set[str] = set()
    with progress_bar("starting the daemon") as update:

        def show(status: Facts) -> None:
            phase, done, total = _measure(status)
            if update:
                update(description=phase, completed=done, total=total)
            model = status["model_state"]
            lines = [] if update else [f"{phase} …"]
            lines += [] if model in {"loading", "ready"} else [f"the model is {model}"]
            for line in () if status["ready"] else (*lines, *status["errors"]):
                if line not in printed:
                    printed.add(line)
                    print_status(line)

        connection, started = launch.launch(settings, list(arguments), tell=print_status)
        return connection, started, launch.wait_ready(connection, settings, show)


_PHASES = {"reading": "reading notes", "building": "building the index", "embedding": "embedding passages"}


def _measure(status: Facts) -> tuple[str, int, int | None]:
    """Return the current phase, the number that is done, and the total; None if the total is unknown."""
    phase, (done, total) = str(status["phase"]), status["progress"]
    if phase == "embedding" or (phase == "idle" and status["pending"]):
        return _PHASES["embedding"], status["chunks"] - status["pending"], status["chunks"]
    if phase == "idle":
        return "loading the model" if status["model_state"] == "loading" else "listing the notes", 0, None
    return _PHASES.get(phase, phase), done, total or None
