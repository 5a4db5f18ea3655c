"""Starts the daemon and waits for its first index, with a bar on a terminal that names the phase and its total."""

from collections.abc import Sequence
from typing import Any

from mcp_memory.cli.console import print_status, progress_bar
from mcp_memory.daemon import launch
from mcp_memory.settings.settings import Settings


def start_daemon(
    settings: Settings, arguments: Sequence[str] = ()
) -> tuple[launch.DaemonConnection, bool, dict[str, Any]]:
    """Start the vault's daemon if needed. Return it, whether it was started now, and its status once all notes are
    indexed. `arguments` are passed on to `serve`. Raises what `launch` and `wait_ready` raise."""
    printed: set[str] = set()
    with progress_bar("starting the daemon") as update:

        def show(status: dict[str, Any]) -> None:
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


def _measure(status: dict[str, Any]) -> tuple[str, int, int | None]:
    """Return the current phase, the number that is done, and the total; None if the total is unknown."""
    phase, (done, total) = str(status["phase"]), status["progress"]
    if phase == "embedding" or (phase == "idle" and status["pending"]):
        return _PHASES["embedding"], status["chunks"] - status["pending"], status["chunks"]
    if phase == "idle":
        return "loading the model" if status["model_state"] == "loading" else "listing the notes", 0, None
    return _PHASES.get(phase, phase), done, total or None
