"""Summaries by a program: JSON on its input, the summary on its output. So an agent's command line can serve, with
the account that its user is signed in with and no key of ours.

The program runs as the user and reads notes that anybody may have written, so it gets as little as it can work with:
no shell between, an empty folder to start in (agents take instructions from the one they find themselves in), and of
the environment only where its user's things are and how to get to the network. Keys of others stay out, but for the one
variable that the configuration names. What it says on its standard error goes nowhere: it may quote the notes.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from mcp_memory.errors import ConfigInvalid, SummarizerUnavailable
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.summarizers.extractive import ExtractiveSummarizer
from mcp_memory.summarizers.fallback import FallbackSummarizer
from mcp_memory.summarizers.llm_port import MOST_ANSWER_BYTES, LlmReply, Prompt
from mcp_memory.summarizers.quota import Quota
from mcp_memory.text.tokens import count_tokens

PASSED_ON = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR"),
    }
)
"""Variables that a program needs to find its user's files and the network; with those that begin like these."""
PASSED_ON_PREFIXES = ("LC_", "XDG_")

_PIECE_BYTES = 65_536
_LOOK_S = 0.1
"""How often a call looks whether it is closed, or its program has ended."""
_REAP_S = 5.0
"""A killed process that hangs in the kernel for longer is left to it."""


def open_command(config: SummarizerConfig, spent: Path) -> FallbackSummarizer:
    """Starts nothing yet. Raises ConfigInvalid."""
    if not config.command:
        raise ConfigInvalid("summarizer.command is empty", hint='name a program and its arguments: ["program", "-x"]')
    if any("\0" in word for word in config.command):
        raise ConfigInvalid("summarizer.command holds a null character")
    program = shutil.which(os.path.expanduser(config.command[0]))  # noqa: PTH111 -- a Path would lose the "./"
    if not program:
        raise ConfigInvalid(
            f"summarizer.command: there is no program {config.command[0]!r}", hint="name it with its whole path"
        )
    # It starts in another folder, where a relative path would lead elsewhere.
    command = [os.path.abspath(program), *config.command[1:]]  # noqa: PTH100 -- a program may go by its link's name
    writer = CommandLlm(command, config.timeout_s, environment(os.environ, config.api_key_env))
    return FallbackSummarizer(writer, Quota(config, spent), ExtractiveSummarizer(), config.prompt_tokens)


def environment(environ: Mapping[str, str], api_key_env: str) -> dict[str, str]:
    """What of `environ` a program gets to see."""
    return {
        name: value
        for name, value in environ.items()
        if name in PASSED_ON or name.startswith(PASSED_ON_PREFIXES) or name == api_key_env
    }


class CommandLlm:
    """Implements `Writer`: one process an answer. `command` begins with the program's whole path."""

    def __init__(self, command: Sequence[str], timeout_s: float, environ: Mapping[str, str]) -> None:
        self._command = list(command)
        self._timeout_s = timeout_s
        self._environ = dict(environ)
        self._closed = threading.Event()

    @property
    def name(self) -> str:
        return Path(self._command[0]).name

    def write(self, prompt: Prompt) -> LlmReply:
        """Raises SummarizerUnavailable."""
        asked = json.dumps(
            {"instructions": prompt.instructions, "material": prompt.material, "budget_tokens": prompt.budget_tokens}
        )
        try:
            with tempfile.TemporaryDirectory(prefix="mcp-memory-", ignore_cleanup_errors=True) as folder:
                answer, cut = self._run(asked.encode(), folder)
        except OSError as error:
            raise SummarizerUnavailable(f"{self.name} cannot be run: {error.strerror}") from error
        text = answer.decode("utf-8", "replace")
        return LlmReply(text, prompt.tokens + count_tokens(text), cut)

    def close(self) -> None:
        self._closed.set()

    def _run(self, asked: bytes, folder: str) -> tuple[bytes, bool]:
        """What the program says, and whether that was cut. Raises OSError, SummarizerUnavailable."""
        deadline = time.monotonic() + self._timeout_s
        process = subprocess.Popen(
            self._command,
            cwd=folder,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,  # a process group of its own, to be killed as a whole
        )
        assert process.stdin and process.stdout
        try:
            with process.stdin as input_, process.stdout as output:
                answer = self._conversed(input_, output, asked, deadline)
            if len(answer) > MOST_ANSWER_BYTES:
                return answer[:MOST_ANSWER_BYTES], True
            self._ended(process, deadline)
            return answer, False
        finally:
            _kill(process)

    def _conversed(self, input_: IO[bytes], output: IO[bytes], asked: bytes, deadline: float) -> bytes:
        """What the program says until it closes its output, or somewhat more than is ever read of it."""
        left = memoryview(asked)
        said = bytearray()
        os.set_blocking(input_.fileno(), False)
        with selectors.DefaultSelector() as ready:
            ready.register(input_, selectors.EVENT_WRITE)
            ready.register(output, selectors.EVENT_READ)
            while True:
                self._check(deadline)
                for key, _ in ready.select(_LOOK_S):
                    if key.fileobj is output:
                        piece = os.read(key.fd, _PIECE_BYTES)
                        said += piece
                        if not piece or len(said) > MOST_ANSWER_BYTES:
                            return bytes(said)
                    else:
                        left = left[_wrote(key.fd, left) :]
                        if not left:
                            ready.unregister(input_)
                            input_.close()

    def _ended(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        while True:
            self._check(deadline)
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(_LOOK_S)
                break
        if code:
            how = f"ended with exit code {code}" if code > 0 else f"was killed by signal {-code}"
            raise SummarizerUnavailable(f"{self.name} {how}", hint="run it by hand to see what it says")

    def _check(self, deadline: float) -> None:
        if self._closed.is_set():
            raise SummarizerUnavailable("the summarizer is closed")
        if time.monotonic() >= deadline:
            raise SummarizerUnavailable(f"{self.name} did not answer within {self._timeout_s:g} s")


def _wrote(descriptor: int, data: memoryview) -> int:
    """How much; all of it where the program reads no further, which is its own affair."""
    try:
        return os.write(descriptor, data[:_PIECE_BYTES])
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(data)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With all that it started, unless it came to its end: then the number of its group may be another's by now."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):  # macOS says the latter of one that is just ending
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_REAP_S)
