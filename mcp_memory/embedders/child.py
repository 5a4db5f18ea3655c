"""Run heavy or network-bound work in a child process with a deadline, so the daemon needn't import it.

The child writes JSON lines on its standard output: `{"progress": text}` any number of times, then `{"result": {…}}` or
`{"error": {"message": …, "hint": …}}`. Output of libraries goes to its standard error. The child ends when its parent
does, and inherits no descriptors but the standard three.
"""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from mcp_memory.embedders.base import Progress
from mcp_memory.errors import EmbedderUnavailable, McpMemoryError
from mcp_memory.runtime import telemetry

Tell = Callable[[Mapping[str, Any]], None]
"""A function in the child that sends one message to the parent."""

STDERR_TAIL_CHARS = 800


def run_child(
    module: str,
    arguments: Sequence[str],
    *,
    task: str,
    environ: Mapping[str, str],
    deadline_s: float,
    first_message_s: float | None = None,
    progress: Progress,
) -> dict[str, Any]:
    """Run `python -m module arguments…` and return its result. `environ` is added to our environment.

    `deadline_s` bounds the whole, `first_message_s` the time until the first message. Raises EmbedderUnavailable with
    the child's own message, or with the tail of its standard error; `task` names the work there."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as stderr, _running(module, arguments, environ, stderr) as process:
        lines = _lines(process)
        limit_s = deadline_s if first_message_s is None else min(first_message_s, deadline_s)
        while True:
            try:
                line = lines.get(timeout=max(0.0, started + limit_s - time.monotonic()))
            except queue.Empty as error:
                raise EmbedderUnavailable(f"{task} did not answer in time") from error
            if line is None:
                break
            limit_s = deadline_s
            message = json.loads(line)
            if "progress" in message:
                progress(str(message["progress"]))
            elif "error" in message:
                raise EmbedderUnavailable(**message["error"])
            else:
                return cast(dict[str, Any], message["result"])
        code = process.wait()
        stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - STDERR_TAIL_CHARS))
        reason = stderr.read().decode("utf-8", "replace").strip() or "no message"
        raise EmbedderUnavailable(f"{task} failed with exit code {code}: {reason}")


@contextmanager
def answering() -> Generator[Tell]:
    """Reserve, in the child, standard output for messages, send our own errors as one, and exit with the parent."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    threading.Thread(target=_die_with_parent, daemon=True).start()

    def tell(message: Mapping[str, Any]) -> None:
        print(json.dumps(message), file=channel, flush=True)

    try:
        yield tell
    except McpMemoryError as error:
        tell({"error": {"message": error.message, "hint": error.hint}})


@contextmanager
def _running(
    module: str, arguments: Sequence[str], environ: Mapping[str, str], stderr: IO[bytes]
) -> Generator[subprocess.Popen[bytes]]:
    """Run `python -m module`, which is killed and reaped on exit."""
    inherited = dict(os.environ)
    telemetry.switch_off(inherited)
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, inherited.get("PYTHONPATH", "").split(os.pathsep))]
    with subprocess.Popen(
        # -P: a `torch.py` in the current folder is not ours to run
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**inherited, **environ, "PYTHONPATH": os.pathsep.join(paths)},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _lines(process: subprocess.Popen[bytes]) -> queue.SimpleQueue[bytes | None]:
    """Queue the child's output line by line, then None; unlike a pipe, a queue can be read with a deadline."""
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    # A duplicate, because closing the descriptor that a thread reads would wait for the thread.
    assert process.stdout is not None
    output = os.fdopen(os.dup(process.stdout.fileno()), "rb")

    def pump() -> None:
        with output:
            for line in output:
                lines.put(line)
        lines.put(None)

    threading.Thread(target=pump, name="child-output", daemon=True).start()
    return lines


def _die_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)
