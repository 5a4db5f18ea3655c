"""Ends a process that takes too long, with everything that it has started."""

import os
import signal
import subprocess
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

ENDING_S = 2.0
"""The seconds that a process has after SIGTERM, such as git to remove its lock files."""


class ProcessDeadline(threading.Thread):
    """The time limit of a process that leads a group of its own (`start_new_session`). Leaving the `with` block kills
    what still runs. `is_over`: whether the time was up."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        super().__init__(name="deadline", daemon=True)
        self._process = process
        self._seconds = seconds
        self._left = threading.Event()
        self.is_over = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._left.set()
        self.kill()

    def run(self) -> None:
        if self._left.wait(self._seconds):
            return
        self.is_over = True
        self.kill(signal.SIGTERM)
        if not self._left.wait(ENDING_S):
            self.kill()

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self._process.returncode is None:  # else the number may be another process's
            with suppress(ProcessLookupError, PermissionError):  # macOS raises PermissionError while a process ends
                os.killpg(self._process.pid, how)
