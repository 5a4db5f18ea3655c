"""Starts a program detached, so that it survives a client that kills all of its child processes or its process
group."""

from __future__ import annotations

import os
import subprocess
import sys

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

DETACHED = "--detached"
"""The first word of a command line that `detach` runs."""


class Detached:
    """The process `mcp-memory ARGUMENTS`, started without our terminal, descriptors and working folder. `pid` is None
    until the process exists. `exit_code` is None until it has ended, and after a signal."""

    def __init__(self, arguments: Sequence[str], environ: Mapping[str, str], output: int = subprocess.DEVNULL) -> None:
        """Start the process, with its output going to the descriptor `output`. Raises OSError."""
        # `-m` must find this package, also when it runs from a source tree.
        package_root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        path = os.pathsep.join(part for part in (package_root, environ.get("PYTHONPATH")) if part)
        self._received = b""
        self._reports, writing = os.pipe()
        try:
            os.set_blocking(self._reports, False)
            self._first = subprocess.Popen(
                [sys.executable, "-P", "-m", "mcp_memory", DETACHED, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=output,
                cwd="/",
                env={**environ, "PYTHONPATH": path},
                start_new_session=True,
            )
        except BaseException:
            self.close()
            raise
        finally:
            os.close(writing)

    @property
    def pid(self) -> int | None:
        self._read()
        first, end, _ = self._received.partition(b"\n")
        return int(first) if end else None

    @property
    def exit_code(self) -> int | None:
        self._read()
        lines = self._received.split()
        return int(lines[1]) if len(lines) > 1 else self._first.poll() or None

    @property
    def has_ended(self) -> bool:
        return not self._read() and self._first.poll() is not None

    def close(self) -> None:
        """Stop listening; the program keeps running."""
        os.close(self._reports)

    def _read(self) -> bool:
        """Read the reports; return whether there may be more to read."""
        try:
            while part := os.read(self._reports, 4096):
                self._received += part
        except BlockingIOError:
            return True
        return False


def detach(work: Callable[[], int]) -> int:
    """Do `work` in a process whose parent has ended, and write its id and exit code to standard output.

    Call it in a process that has no threads yet. Returns what `work` returns."""
    if os.fork():
        os._exit(0)
    reports = os.dup(1)
    os.dup2(2, 1)
    _report(reports, os.getpid())
    code = work()
    _report(reports, code)
    return code


def _report(descriptor: int, number: int) -> None:
    try:
        os.write(descriptor, f"{number}\n".encode())
    except OSError:
        pass  # the program that started us has ended
