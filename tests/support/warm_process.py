"""Runs `mcp-memory` in processes of its own that have what they import already: each is a fork of one that waits.

A process that Python starts anew takes a quarter of a second of processor time to import the command line, a whole one
with an engine, and the tests start more than a thousand. Standard streams, working directory, environment, exit code
and signals are those of any other process. What an interpreter reads when it starts (PYTHON…, LANG, TZ) is not read
again.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from mcp_memory.cli.command_tree import COMMANDS
from mcp_memory.runtime.telemetry import switch_off

CHECKOUT = Path(__file__).parents[2]
ENVIRON = {"LANG": "C.UTF-8", "PYTHONPATH": str(CHECKOUT), "PYTHONDONTWRITEBYTECODE": "1"}
READ_AT_START = ("PYTHON", "LANG", "LC_", "TZ", "LD_")
"""What the names of variables begin with that an interpreter, or what it is linked with, reads when it starts."""

DESCRIPTORS = 5
"""Handed over with each request: standard input, output and error, where to answer, and the request."""

_lock = threading.Lock()
_waiting: dict[int, socket.socket] = {}
"""By the process that started it, which may itself be a fork."""


def can_be_forked(environ: Mapping[str, str]) -> bool:
    """Whether the process that waits was started with all that counts."""
    return {name: value for name, value in environ.items() if name.startswith(READ_AT_START)} == ENVIRON


def run_warm(
    arguments: Sequence[str], stdin: bytes, environ: Mapping[str, str], cwd: Path, timeout_s: float
) -> subprocess.CompletedProcess[bytes]:
    """`mcp-memory ARGUMENTS` to its end. Raises subprocess.TimeoutExpired."""
    pipes = [os.pipe() for _ in range(3)]
    (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = pipes
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    request = json.dumps({"arguments": list(arguments), "environ": dict(environ), "cwd": str(cwd)}).encode()
    # A file, for the request may be longer than a message.
    described = os.memfd_create("request")
    os.write(described, request)
    handed = [theirs_in, theirs_out, theirs_err, there.fileno(), described]
    with _lock:
        socket.send_fds(_waiting_process(), [b"+"], handed)
    for descriptor in (theirs_in, theirs_out, theirs_err, described):
        os.close(descriptor)
    there.close()
    with here:
        here.settimeout(timeout_s)
        pid = int.from_bytes(_answer(here))
        outputs: list[bytes] = [b"", b""]
        threads = [
            threading.Thread(target=_write_all, args=(ours_in, stdin), daemon=True),
            *(threading.Thread(target=_read_all, args=(end, outputs, at), daemon=True)
              for at, end in enumerate((ours_out, ours_err))),
        ]  # fmt: skip
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + timeout_s
        for thread in threads:
            thread.join(max(0, deadline - time.monotonic()))
        try:
            code = int.from_bytes(_answer(here), signed=True)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(arguments), timeout_s, *outputs) from None
    return subprocess.CompletedProcess(list(arguments), code, *outputs)


def _answer(here: socket.socket) -> bytes:
    answer = here.recv(8)
    assert answer, "the process that waits has ended"
    return answer


def _write_all(end: int, data: bytes) -> None:
    with os.fdopen(end, "wb", buffering=0) as pipe, contextlib.suppress(BrokenPipeError):
        while data:
            data = data[pipe.write(data) or 0 :]


def _read_all(end: int, outputs: list[bytes], at: int) -> None:
    with os.fdopen(end, "rb") as pipe:
        outputs[at] = pipe.read()


def _waiting_process() -> socket.socket:
    if os.getpid() not in _waiting:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.warm_process", str(theirs.fileno())],
            stdin=subprocess.PIPE,  # pipes, as each run has: what wraps them is made once
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=CHECKOUT,
            env={**ENVIRON, "PATH": os.environ["PATH"]},
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        atexit.register(process.kill)
        _waiting[os.getpid()] = ours
    return _waiting[os.getpid()]


# -- the process that waits ----------------------------------------------------------------------------------------


def wait_and_fork(requests: socket.socket) -> None:
    """Answers each request with the pid of a fork and, once that has ended, its exit code. Returns in each fork."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    answers: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([requests, woken], [], [])
        if woken in ready:
            os.read(woken, 512)
            _tell_who_ended(answers)
        if requests not in ready:
            continue
        said, handed, _, _ = socket.recv_fds(requests, 1, DESCRIPTORS)
        if not said:
            os._exit(0)
        *streams, answering, described = handed
        answer = socket.socket(fileno=answering)
        if (pid := os.fork()) == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            _become(streams, described)
            return
        for descriptor in (*streams, described):
            os.close(descriptor)
        answers[pid] = answer
        answer.send(pid.to_bytes(8))


def _tell_who_ended(answers: dict[int, socket.socket]) -> None:
    while answers:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with answers.pop(pid) as answer, contextlib.suppress(OSError):
            answer.send(os.waitstatus_to_exitcode(status).to_bytes(8, signed=True))


def _become(streams: Sequence[int], described: int) -> None:
    """Take on what a new process would find."""
    for target, descriptor in enumerate(streams):
        os.dup2(descriptor, target)
        os.close(descriptor)
    with os.fdopen(described, "rb") as file:
        file.seek(0)
        request = json.load(file)
    os.environ.clear()
    os.environ.update(request["environ"])
    os.chdir(request["cwd"])
    sys.argv = [str(CHECKOUT / "mcp_memory/__main__.py"), *request["arguments"]]


if __name__ == "__main__":
    switch_off()
    # Of the threads of all these modules only numpy's outlive the imports, and its library is made for forks.
    for module in ("engine.factory", *(f"cli.{command.partition(':')[0]}" for command in COMMANDS.values())):
        importlib.import_module(f"mcp_memory.{module}")
    gc.freeze()
    wait_and_fork(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module("mcp_memory", run_name="__main__", alter_sys=True)
