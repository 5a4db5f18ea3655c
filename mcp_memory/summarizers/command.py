"""Asks a language model through a program that reads a prompt as text and writes the answer.

The program runs as you and reads notes from any author, so it gets as little as possible. It has no shell and an empty
working folder, since agents read instructions from theirs. Its standard error is discarded, because it may quote notes.
"""

import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from mcp_memory.errors import SummarizerUnavailable
from mcp_memory.summarizers.base import MOST_ANSWER_BYTES, LlmReply, Prompt
from mcp_memory.text.tokens import count_tokens

_PIECE_BYTES = 65_536
_POLL_S = 0.1
"""The interval at which a call checks whether it is closed and whether its program has ended."""
_REAP_S = 5.0
"""The longest wait for a killed process that hangs in the kernel."""


class CommandLlm:
    """An `LlmClient` that starts a process per answer.

    `command` begins with the name of a program, which is looked up each time. `furnish` puts files into its folder and
    returns further variables for it."""

    def __init__(
        self,
        command: Sequence[str],
        timeout_s: float,
        environ: Mapping[str, str],
        *,
        furnish: Callable[[Path], Mapping[str, str]] | None = None,
    ) -> None:
        self._command = list(command)
        self._timeout_s = timeout_s
        self._environ = dict(environ)
        self._furnish = furnish
        self._closed = threading.Event()
        self.name = Path(command[0]).name

    def write(self, prompt: Prompt) -> LlmReply:
        try:
            with tempfile.TemporaryDirectory(prefix="mcp-memory-", ignore_cleanup_errors=True) as folder:
                environ = self._environ | dict(self._furnish(Path(folder)) if self._furnish else {})
                request = f"{prompt.instructions}\n\n{prompt.material}\n".encode()
                answer, cut = self._run(request, folder, environ)
        except OSError as error:
            raise SummarizerUnavailable(f"{self.name} cannot be run: {error.strerror}") from error
        text = answer.decode("utf-8", "replace")
        return LlmReply(text, prompt.tokens + count_tokens(text), cut)

    def close(self) -> None:
        self._closed.set()

    def _run(self, request: bytes, folder: str, environ: Mapping[str, str]) -> tuple[bytes, bool]:
        """Return the program's output, and whether it was cut. Raises OSError, SummarizerUnavailable."""
        deadline = time.monotonic() + self._timeout_s
        with tempfile.TemporaryFile() as input_:  # unlike a pipe, it takes the whole request at once
            input_.write(request)
            input_.seek(0)
            process = subprocess.Popen(
                self._command,
                cwd=folder,
                env=environ,
                stdin=input_,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,  # a separate process group can be killed as a whole
            )
        assert process.stdout
        try:
            with process.stdout as output:
                answer = self._read(output, deadline)
            if len(answer) > MOST_ANSWER_BYTES:
                return answer[:MOST_ANSWER_BYTES], True
            self._await_exit(process, deadline)
            return answer, False
        finally:
            _kill(process)

    def _read(self, output: IO[bytes], deadline: float) -> bytes:
        """Return the output until the program closes it or the output exceeds `MOST_ANSWER_BYTES`."""
        answer = bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(output, selectors.EVENT_READ)
            while len(answer) <= MOST_ANSWER_BYTES:
                self._check(deadline)
                if ready.select(_POLL_S):
                    piece = os.read(output.fileno(), _PIECE_BYTES)
                    if not piece:
                        break
                    answer += piece
        return bytes(answer)

    def _await_exit(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        while True:
            self._check(deadline)
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(_POLL_S)
                break
        if code:
            how = f"ended with exit code {code}" if code > 0 else f"was killed by signal {-code}"
            raise SummarizerUnavailable(f"{self.name} {how}", hint="run it by hand to see its messages")

    def _check(self, deadline: float) -> None:
        if self._closed.is_set():
            raise SummarizerUnavailable("the summarizer is closed")
        if time.monotonic() >= deadline:
            raise SummarizerUnavailable(f"{self.name} did not answer within {self._timeout_s:g} s")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group, unless the process has ended: its id may have been reused."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):  # macOS raises PermissionError while a process ends
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_REAP_S)
