"""Asks a language model through a program that reads a prompt as text and writes the answer.

The program runs as you and reads notes from any author, so it gets as little as possible. It has no shell and an empty
working folder, since agents read instructions from theirs. Its standard error is discarded, because it may quote notes.
"""

import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mcp_memory.errors import SummarizerUnavailable
from mcp_memory.runtime.process_deadline import ProcessDeadline
from mcp_memory.summarizers.base import MOST_ANSWER_BYTES, LlmReply, Prompt
from mcp_memory.text.tokens import count_tokens


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
        self._closed = False
        self._running = set[ProcessDeadline]()
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
        self._closed = True
        for deadline in self._running.copy():
            deadline.kill()

    def _run(self, request: bytes, folder: str, environ: Mapping[str, str]) -> tuple[bytes, bool]:
        """Return the program's output, and whether it was cut. Raises OSError, SummarizerUnavailable."""
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
                start_new_session=True,  # a separate process group can be killed as a whole
            )
        code = 0
        with process, ProcessDeadline(process, self._timeout_s) as deadline:
            self._running.add(deadline)
            if self._closed:
                deadline.kill()
            assert process.stdout
            answer = process.stdout.read(MOST_ANSWER_BYTES + 1)
            if len(answer) <= MOST_ANSWER_BYTES:
                code = process.wait()
        self._running.discard(deadline)
        if self._closed:
            raise SummarizerUnavailable("the summarizer is closed")
        if deadline.is_over:
            raise SummarizerUnavailable(f"{self.name} did not answer within {self._timeout_s:g} s")
        if code:
            how = f"ended with exit code {code}" if code > 0 else f"was killed by signal {-code}"
            raise SummarizerUnavailable(f"{self.name} {how}", hint="run it by hand to see its messages")
        return answer[:MOST_ANSWER_BYTES], len(answer) > MOST_ANSWER_BYTES
