"""Runs `mcp-memory` in processes of its own that have what they import already: each is a fork of one that waits.

A process that Python starts anew takes a quarter of a second of processor time to import the command line, a whole one
with an engine, and three as a daemon; the tests start more than a thousand. Standard streams, working directory,
environment, exit code and signals are those of any other process. What an interpreter reads when it starts (PYTHON…,
LANG, TZ) is not read again. The daemon that such a process starts is a fork as well.
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
from types import SimpleNamespace
from typing import Any

from mcp_memory.cli.command_tree import COMMANDS
from mcp_memory.client import detached_process
from mcp_memory.runtime.telemetry import switch_off

CHECKOUT = Path(__file__).parents[2]
VARIED = Path(__file__).with_name("varied")
"""Its `sitecustomize` gives a program the constants that `tests.support.constants` names."""
ENVIRON = {"LANG": "C.UTF-8", "PYTHONPATH": str(CHECKOUT), "PYTHONDONTWRITEBYTECODE": "1"}
READ_AT_START = ("PYTHON", "LANG", "LC_", "TZ", "LD_")
"""What the names of variables begin with that an interpreter, or what it is linked with, reads when it starts."""

IMPORTED = (
    "mcp_memory.engine.engine", "mcp_memory.daemon.connections", "mcp_memory.daemon.runtime_files",
    "mcp_memory.server.app", "anyio._backends._asyncio",
    "uvicorn.lifespan.on", "uvicorn.loops.auto", "key_value.aio.adapters.pydantic", "key_value.aio.stores.memory",
    "mcp_memory.cli.clients.proxies", "mcp_memory.cli.clients.client_status",
    *(f"mcp_memory.cli.{command.partition(':')[0]}" for command in COMMANDS.values()),
)  # fmt: skip

DESCRIPTORS = 5
"""Handed over with each request: standard input, output and error, where to answer, and the request."""

_lock = threading.Lock()
_waiting: dict[int, socket.socket] = {}
"""By the process that started it, which may itself be a fork."""
_inherited: list[socket.socket] = []
"""What a process that was made here asks, and so do the forks that it makes."""


def can_be_forked(environ: Mapping[str, str]) -> bool:
    """Whether the process that waits was started with all that counts. Folders after the checkout come in later."""
    read = {name: value for name, value in environ.items() if name.startswith(READ_AT_START)}
    first = read.get("PYTHONPATH", "").split(os.pathsep)[0]
    return {**read, "PYTHONPATH": first} == ENVIRON


class WarmProcess:
    """`mcp-memory ARGUMENTS` as a fork; what subprocess.Popen offers of it."""

    def __init__(
        self, arguments: Sequence[str], streams: Sequence[int], environ: Mapping[str, str], cwd: Path | str,
        *, new_session: bool = False,
    ) -> None:  # fmt: skip
        """`streams`: its standard input, output and error."""
        self._answers, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = {
            "arguments": list(arguments), "environ": dict(environ), "cwd": str(cwd), "new_session": new_session
        }  # fmt: skip
        # A file, for the request may be longer than a message.
        described = os.memfd_create("request")
        os.write(described, json.dumps(request).encode())
        with _lock:
            socket.send_fds(_waiting_process(), [b"+"], [*streams, there.fileno(), described])
        os.close(described)
        there.close()
        self.pid = int.from_bytes(self._answer())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with contextlib.suppress(TimeoutError):
            return self.wait(0.0)
        return None

    def wait(self, timeout_s: float) -> int:
        """The exit code. Raises TimeoutError."""
        if self.returncode is None:
            if not select.select([self._answers], [], [], max(0.0, timeout_s))[0]:
                raise TimeoutError
            self.returncode = int.from_bytes(self._answer(), signed=True)
            self._answers.close()
        return self.returncode

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def _answer(self) -> bytes:
        answer = self._answers.recv(8)
        assert answer, "the process that waits has ended"
        return answer


def run_warm(
    arguments: Sequence[str], stdin: bytes, environ: Mapping[str, str], cwd: Path, timeout_s: float
) -> subprocess.CompletedProcess[bytes]:
    """`mcp-memory ARGUMENTS` to its end. Raises subprocess.TimeoutExpired."""
    pipes = [os.pipe() for _ in range(3)]
    (theirs_in, ours_in), (ours_out, theirs_out), (ours_err, theirs_err) = pipes
    theirs = [theirs_in, theirs_out, theirs_err]
    process = WarmProcess(arguments, theirs, environ, cwd)
    for descriptor in theirs:
        os.close(descriptor)
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
        code = process.wait(deadline - time.monotonic())
    except TimeoutError:
        process.kill()
        raise subprocess.TimeoutExpired(list(arguments), timeout_s, *outputs) from None
    return subprocess.CompletedProcess(list(arguments), code, *outputs)


def _write_all(end: int, data: bytes) -> None:
    with os.fdopen(end, "wb", buffering=0) as pipe, contextlib.suppress(BrokenPipeError):
        while data:
            data = data[pipe.write(data) or 0 :]


def _read_all(end: int, outputs: list[bytes], at: int) -> None:
    with os.fdopen(end, "rb") as pipe:
        outputs[at] = pipe.read()


def _waiting_process() -> socket.socket:
    if _inherited:
        return _inherited[0]
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


def wait_and_fork(starter: socket.socket) -> None:
    """Answers each request with the pid of a fork and, once that has ended, its exit code. Returns in each fork.

    Forks ask as well, for the programs that outlive them. Ends with who started it."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    asking = [starter]
    answers: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([*asking, woken], [], [])
        if woken in ready:
            os.read(woken, 512)
            _tell_who_ended(answers)
            continue
        said, handed, _, _ = socket.recv_fds(ready[0], 1, DESCRIPTORS)
        if not said:
            if ready[0] is starter:
                os._exit(0)
            asking.remove(ready[0])
            ready[0].close()
            continue
        *streams, answering, described = handed
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if (pid := os.fork()) == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for descriptor in (woken, wake, answering):
                os.close(descriptor)
            for each in (*asking, *answers.values(), ours):
                each.close()
            _become(streams, described, theirs)
            return
        for descriptor in (*streams, described):
            os.close(descriptor)
        theirs.close()
        asking.append(ours)
        answers[pid] = socket.socket(fileno=answering)
        answers[pid].send(pid.to_bytes(8))


def _tell_who_ended(answers: dict[int, socket.socket]) -> None:
    while answers:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with answers.pop(pid) as answer, contextlib.suppress(OSError):
            answer.send(os.waitstatus_to_exitcode(status).to_bytes(8, signed=True))


def _become(streams: Sequence[int], described: int, requests: socket.socket) -> None:
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
    if request["new_session"]:
        os.setsid()
    sys.path += [each for each in os.environ["PYTHONPATH"].split(os.pathsep) if each not in sys.path]
    if "TEST_CONSTANTS" in os.environ:
        runpy.run_path(str(VARIED / "sitecustomize.py"))
    sys.argv = [str(CHECKOUT / "mcp_memory/__main__.py"), *request["arguments"]]
    sys.stdout.reconfigure(line_buffering=sys.stdout.isatty())
    _inherited.append(requests)
    detached_process.subprocess = SimpleNamespace(Popen=_start, DEVNULL=subprocess.DEVNULL)


def _start(
    words: Sequence[str], *, stdin: int, stdout: int, stderr: int, cwd: str, env: Mapping[str, str],
    start_new_session: bool,
) -> Any:  # fmt: skip
    """What subprocess.Popen would do for a program that survives its starter."""
    if not can_be_forked(env):
        return subprocess.Popen(
            words, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, env=env, start_new_session=start_new_session
        )
    with Path(os.devnull).open("r+b") as nothing:
        streams = [nothing.fileno() if each == subprocess.DEVNULL else each for each in (stdin, stdout, stderr)]
        return WarmProcess(words[words.index("mcp_memory") + 1 :], streams, env, cwd, new_session=start_new_session)


if __name__ == "__main__":
    switch_off()
    # Of the threads of all these modules only numpy's outlive the imports, and its library is made for forks.
    for module in IMPORTED:
        importlib.import_module(module)
    gc.freeze()
    wait_and_fork(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module("mcp_memory", run_name="__main__", alter_sys=True)
