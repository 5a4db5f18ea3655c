"""Reads what a stranger wrote in a child process, whose memory and processor time the system limits.

A request is one line of JSON. The child answers with any number of lines, and then with a line that ends the answer. It
starts at the first request and serves further requests until a request ends it.
"""

import json
import os
import resource
import select
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from signal import SIG_IGN, SIGINT, SIGXCPU, signal
from time import monotonic
from types import TracebackType
from typing import IO, Any, Self

from mcp_memory.errors import McpMemoryError, Refused
from mcp_memory.runtime import telemetry

_PIECE_BYTES = 1 << 16
_OUT_OF_MEMORY = 12
"""The child's exit code."""
_WAIT_FACTOR = 4
"""A request may take 4 times its limit of processor time, since the machine may be busy."""


class LimitExceeded(Refused):
    """The request needed more than the child may use, or ended the child."""


@dataclass(frozen=True)
class ChildLimits:
    """Limits of the child's memory, and of the processor time and the answer of one request."""

    memory_bytes: int
    processor_s: int
    answer_bytes: int


class LimitedChild:
    """A child process that runs `python -m module`, which calls `serve`. For one thread, and one request at a time."""

    def __init__(self, module: str, limits: ChildLimits) -> None:
        self._module, self._limits = module, limits
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def ask(self, request: object) -> Iterator[Any]:
        """Yield the answers. Raises LimitExceeded, and our errors that the child raised."""
        is_whole = False
        try:
            for line in self._lines(json.dumps(request).encode() + b"\n"):
                message = json.loads(line)
                if "error" in message:
                    is_whole = True
                    raise _error(**message["error"])
                if is_whole := "end" in message:
                    return
                yield message["answer"]
        finally:
            if not is_whole:
                self.close()

    def _lines(self, request: bytes) -> Iterator[bytes]:
        process, until = self._started(), monotonic() + _WAIT_FACTOR * self._limits.processor_s
        assert process.stdin and process.stdout
        output, received = process.stdout.fileno(), 0
        poll = select.poll()
        poll.register(output, select.POLLIN)
        try:
            process.stdin.write(request)
            process.stdin.flush()
        except BrokenPipeError as error:
            raise self._exceeded(process) from error
        parts: list[bytes] = []
        while True:
            if not poll.poll(max(0.0, until - monotonic()) * 1000):
                raise self._too_slow()
            piece = os.read(output, _PIECE_BYTES)
            received += len(piece)
            if not piece:
                raise self._exceeded(process)
            if received > self._limits.answer_bytes:
                raise LimitExceeded(f"it has more than {self._limits.answer_bytes >> 20:,} MB of content")
            lines, newline, rest = piece.rpartition(b"\n")
            if newline:
                yield from b"".join([*parts, lines]).split(b"\n")
                parts = []
            parts.append(rest)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            arguments = [str(self._limits.memory_bytes), str(self._limits.processor_s)]
            self._process = start_module(self._module, arguments)
        return self._process

    def _too_slow(self) -> LimitExceeded:
        return LimitExceeded(f"it takes more than {self._limits.processor_s} s to read")

    def _exceeded(self, process: subprocess.Popen[bytes]) -> LimitExceeded:
        code = process.wait()
        if code == -SIGXCPU:
            return self._too_slow()
        if code == _OUT_OF_MEMORY or code < 0:  # C code without memory ends by a signal
            return LimitExceeded(f"it takes more than {self._limits.memory_bytes >> 20:,} MB of memory to read")
        return LimitExceeded(f"{self._module} ended with exit code {code}")


def serve(answer: Callable[[Any], Iterable[object]]) -> None:
    """Limit this child as its parent wants, and answer requests until the last."""
    memory_bytes, processor_s = map(int, sys.argv[1:])
    channel = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what a library prints isn't an answer
    signal(SIGINT, SIG_IGN)  # the parent gets it, too, and ends this process
    _limit(resource.RLIMIT_CORE, 0)
    if sys.platform != "darwin":  # it has no such limit
        _limit(resource.RLIMIT_AS, memory_bytes)
    for line in sys.stdin.buffer:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, ceil(used.ru_utime + used.ru_stime + processor_s))
        last: dict[str, Any] = {"end": True}
        try:
            for one in answer(json.loads(line)):
                print(json.dumps({"answer": one}), file=channel)
        except MemoryError:
            os._exit(_OUT_OF_MEMORY)
        except McpMemoryError as error:
            last = {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
        except RecursionError:
            last = {"error": {"code": LimitExceeded.code, "message": "it is nested too deeply", "hint": None}}
        print(json.dumps(last), file=channel, flush=True)


def start_module(
    module: str, arguments: Sequence[str], *, environ: Mapping[str, str] | None = None, stderr: IO[bytes] | None = None
) -> subprocess.Popen[bytes]:
    """Start `python -m module`, which inherits no descriptors but the standard three. `environ` is added to ours."""
    inherited = dict(os.environ)
    telemetry.switch_off(inherited)
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, *filter(None, inherited.get("PYTHONPATH", "").split(os.pathsep))]
    return subprocess.Popen(
        # -P: a `torch.py` in the current folder is not ours to run
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**inherited, **(environ or {}), "PYTHONPATH": os.pathsep.join(paths)},
    )


def _limit(what: int, most: int) -> None:
    """Lower the soft limit; the hard one stays, since a later request may use more processor time in all."""
    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _error(code: str, message: str, hint: str | None) -> McpMemoryError:
    if code == LimitExceeded.code:
        return LimitExceeded(message, hint=hint)
    kind = next(one for one in McpMemoryError.__subclasses__() if one.code == code)
    return kind(message, hint=hint)
