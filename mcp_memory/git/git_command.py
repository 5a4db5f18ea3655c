"""Runs git with a deadline, without prompts, network access or hooks."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from mcp_memory.errors import GitUnavailable

_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME")
"""Where the person's configuration is. Not `GIT_*`: the caller's may be about another repository."""

_ENVIRONMENT = {
    "LC_ALL": "C",  # its messages are told apart below
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
}

_NOTHING: Mapping[str, str] = {}

_SETTINGS = (
    "core.hooksPath=/dev/null",  # a person's hooks are for a person's commits; `update-ref` would run one too
    "core.fsmonitor=false",  # may be a program
    "protocol.allow=never",  # a partial clone would fetch
    "gc.auto=0",
    "commit.gpgSign=false",
    "log.showSignature=false",
    "log.showRoot=true",
    "safe.bareRepository=explicit",  # a folder that came with a clone may look like one, with filters of its own
    "core.safecrlf=false",  # a warning for whoever types `git add`
    "core.splitIndex=false",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
)

_ENDING_S = 2.0
"""How long a git that is told to end may take to remove its lock files."""


@dataclass(frozen=True, slots=True)
class Git:
    """In one folder, until `latest` (monotonic seconds). `index`: another one than the person's; `umask`: of what it
    writes, -1 for ours."""

    folder: Path
    latest: float
    index: Path | None = None
    umask: int = -1

    def on(self, index: Path) -> Git:
        return replace(self, index=index)

    def run(
        self,
        *arguments: str,
        said: bytes = b"",
        accepted: Collection[int] = (0,),
        more: Mapping[str, str] = _NOTHING,
    ) -> bytes:
        """What it prints; `said` is its input, `more` of its environment.

        Raises GitUnavailable where there is no git, it does not end in time, or ends with another code than these.
        """
        return self.ended(*arguments, said=said, accepted=accepted, more=more)[1]

    def ended(
        self,
        *arguments: str,
        said: bytes = b"",
        accepted: Collection[int] = (0,),
        more: Mapping[str, str] = _NOTHING,
    ) -> tuple[int, bytes]:
        """Its exit code too. Raises as `run`."""
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        command = ["git", "-C", str(self.folder), *settings, *arguments]
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | _ENVIRONMENT
        if self.index:
            environment["GIT_INDEX_FILE"] = str(self.index)
        try:
            process = subprocess.Popen(
                command,
                cwd="/",
                env={**environment, **more},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                umask=self.umask,
                start_new_session=True,  # a group of its own, to be ended as a whole
            )
        except OSError as error:
            raise GitUnavailable(
                f"git cannot be run: {error.strerror}", hint="install git, and see that it is on the PATH"
            ) from error
        try:
            out, err = process.communicate(said, timeout=max(0.1, self.latest - monotonic()))
        except subprocess.TimeoutExpired:
            raise GitUnavailable(
                f"git {arguments[0]} did not end in time", hint=f"run it by hand in {self.folder}: git status"
            ) from None
        finally:
            _end(process)
        if process.returncode not in accepted:
            raise _refusal(arguments[0], self.folder, err.decode("utf-8", "replace"))
        return process.returncode, out


def _end(process: subprocess.Popen[bytes]) -> None:
    """With all that it started. First kindly: a git that is killed leaves its lock files to the person."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            break
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, how)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDING_S)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            with suppress(OSError):
                stream.close()


def _refusal(command: str, folder: Path, err: str) -> GitUnavailable:
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    if "dubious ownership" in err:
        return GitUnavailable(
            f"git refuses the repository around {folder}: it belongs to another user",
            hint=next((line for line in lines if line.startswith("git config")), "see git's safe.directory"),
        )
    said = next((line for line in lines if line.startswith("fatal: ")), lines[-1] if lines else "no reason given")
    return GitUnavailable(f"git {command}: {said[:300]}", hint=f"run git status in {folder}")
