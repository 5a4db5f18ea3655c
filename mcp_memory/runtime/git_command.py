"""Run git with a deadline, without prompts, network access or hooks."""

import os
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from mcp_memory.errors import GitTooSlow, GitUnavailable
from mcp_memory.runtime.process_deadline import ProcessDeadline

_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME")
"""Enough to find your configuration. Not `GIT_*`: the caller's may name another repository."""

_ENVIRONMENT = {
    "LC_ALL": "C",  # `_refusal` reads the messages
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",  # a name may start with ":" or hold a "*"
    "GIT_NO_LAZY_FETCH": "1",
}

_SETTINGS = (
    "core.hooksPath=/dev/null",  # your hooks are for your commits; --no-verify skips two of them
    "core.fsmonitor=false",  # may be a program
    "protocol.allow=never",  # a partial clone would fetch
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "log.showSignature=false",
    "log.showRoot=true",
    "safe.bareRepository=explicit",  # a folder that came with a clone may look like one, with filters of its own
    "core.safecrlf=false",  # prints a warning
    "core.splitIndex=false",  # its second part would be in the folder of one commit
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
)


@dataclass(frozen=True)
class Git:
    """Git in one folder, until `latest` (monotonic seconds). `umask` applies to files that git writes, -1 for ours."""

    folder: Path
    latest: float
    umask: int = -1

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        accepted: Collection[int] = (0,),
        environ: Mapping[str, str] | None = None,
    ) -> bytes:
        """Return git's output. `environ` is added to its environment.

        Raises GitUnavailable if git is missing, does not end in time, or ends with a code that is not `accepted`."""
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        command = ["git", "-C", str(self.folder), *settings, *arguments]
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | _ENVIRONMENT
        try:
            process = subprocess.Popen(
                command,
                cwd="/",
                env={**environment, **(environ or {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                umask=self.umask,
                start_new_session=True,  # a group of its own, so that the deadline reaches git's children
            )
        except OSError as error:
            raise GitUnavailable(
                f"git cannot be run: {error.strerror}", hint="install git and put it on the PATH"
            ) from error
        with ProcessDeadline(process, max(0.1, self.latest - monotonic())) as deadline:
            out, err = process.communicate(stdin)  # a wait without a timeout ends at once, instead of polling
        if deadline.is_over:
            raise GitTooSlow(
                f"git {arguments[0]} did not end in time", hint=f"run it by hand in {self.folder}: git status"
            )
        if process.returncode not in accepted:
            raise _refusal(arguments[0], self.folder, err.decode("utf-8", "replace"))
        return out


def _refusal(command: str, folder: Path, err: str) -> GitUnavailable:
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    if "dubious ownership" in err:
        return GitUnavailable(
            f"git refuses the repository around {folder}: it belongs to another user",
            hint=next((line for line in lines if line.startswith("git config")), "see git's safe.directory"),
        )
    reason = next((line for line in lines if line.startswith("fatal: ")), lines[-1] if lines else "no reason given")
    return GitUnavailable(f"git {command}: {reason[:300]}", hint=f"run git status in {folder}")
