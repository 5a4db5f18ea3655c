"""A program that is nobody's child: a client that ends all processes below its own, or a whole group, spares it."""

from __future__ import annotations

import os
import subprocess
import sys

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

DETACHED = "--detached"
"""The first word of a command line that `detach` is to carry out."""


class Detached:
    """`mcp-memory ARGUMENTS`, started with no terminal, descriptor or working folder of ours. `pid` is None until the
    process is there, `exit_code` until it has ended, and after a signal."""

    def __init__(self, arguments: Sequence[str], environ: Mapping[str, str], output: int = subprocess.DEVNULL) -> None:
        """What it prints goes to the descriptor `output`. Raises OSError."""
        # `-m` must find this very package also where it runs from a source tree.
        package_root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        path = os.pathsep.join(part for part in (package_root, environ.get("PYTHONPATH")) if part)
        self._said = b""
        self._told, telling = os.pipe()
        try:
            os.set_blocking(self._told, False)
            self._first = subprocess.Popen(
                [sys.executable, "-P", "-m", "mcp_memory", DETACHED, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=telling,
                stderr=output,
                cwd="/",
                env={**environ, "PYTHONPATH": path},
                start_new_session=True,
            )
        except BaseException:
            self.close()
            raise
        finally:
            os.close(telling)

    @property
    def pid(self) -> int | None:
        self._listen()
        first, end, _ = self._said.partition(b"\n")
        return int(first) if end else None

    @property
    def exit_code(self) -> int | None:
        self._listen()
        lines = self._said.split()
        return int(lines[1]) if len(lines) > 1 else self._first.poll() or None

    @property
    def has_ended(self) -> bool:
        return not self._listen() and self._first.poll() is not None

    def close(self) -> None:
        """Hear no more of it; it goes on."""
        os.close(self._told)

    def _listen(self) -> bool:
        """Whether there may be more to hear."""
        try:
            while part := os.read(self._told, 4096):
                self._said += part
        except BlockingIOError:
            return True
        return False


def detach(work: Callable[[], int]) -> int:
    """Do `work` in a process whose parent has ended, and tell whoever reads standard output its id and exit code.

    For a process that has no threads yet. Returns what `work` does.
    """
    if os.fork():
        os._exit(0)
    telling = os.dup(1)
    os.dup2(2, 1)
    _tell(telling, os.getpid())
    code = work()
    _tell(telling, code)
    return code


def _tell(descriptor: int, number: int) -> None:
    try:
        os.write(descriptor, f"{number}\n".encode())
    except OSError:
        pass  # who started us has ended
