"""Finds the finished sessions that a job hasn't handled yet."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

from mcp_memory.capture.checkpoint import Checkpoint
from mcp_memory.capture.service import CaptureService
from mcp_memory.models import Clock
from mcp_memory.runtime.private_files import replace_file

IDLE = timedelta(minutes=30)
"""The silence after which a session counts as finished."""


class FinishedSessions:
    """The finished sessions of one job, whose progress is kept in `file`: for each transcript, its version when it was
    handled. `version` returns a number that changes with the content that concerns the job. For worker threads."""

    def __init__(self, service: CaptureService, file: Path, clock: Clock, version: Callable[[Checkpoint], int]) -> None:
        self._service = service
        self._file = file
        self._clock = clock
        self._version = version
        self._handled: dict[str, int] = {}
        self.ended = set[str]()
        """The paths of transcripts whose end a hook has reported."""

    def handled(self, checkpoint: Checkpoint) -> int:
        """Return the version of a session that was handled last; 0 for none."""
        return self._handled.get(checkpoint.name, 0)

    def is_new(self) -> bool:
        """Return whether the job has never run, or its progress is lost."""
        return self._read() is None

    def _read(self) -> dict[str, int] | None:
        try:
            found: object = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return None
        return cast("dict[str, int]", found) if isinstance(found, dict) else None

    def due(
        self, is_due_again: Callable[[Checkpoint], bool] = lambda _: False, idle: timedelta = IDLE
    ) -> list[Checkpoint]:
        """List the sessions to handle that have ended or been `idle`, longest idle first, without sessions started by
        an agent, and files of sub-agents."""
        now = self._clock()
        self._handled = self._read() or {}
        found = [
            (now - datetime.fromisoformat(one.captured_at), one.name, one)
            for one in self._service.checkpoints.read_all()
            if one.captured_at and not one.context.delegated and "/subagents/" not in one.name
            if self._version(one) != self._handled.get(one.name) or is_due_again(one)
        ]
        return [one for age, name, one in sorted(found, reverse=True) if age >= idle or name in self.ended]

    def mark_handled(self, *checkpoints: Checkpoint) -> None:
        """Record durably that these sessions were handled as they are. Raises OSError."""
        self.mark_up_to(*checkpoints)
        self.ended.difference_update(checkpoint.name for checkpoint in checkpoints)

    def mark_up_to(self, *checkpoints: Checkpoint) -> None:
        """Record durably that sessions were handled as of these checkpoints, and go on. Raises OSError."""
        self._handled |= {checkpoint.name: self._version(checkpoint) for checkpoint in checkpoints}
        replace_file(self._file, json.dumps(self._handled).encode())

    def skip_all(self) -> None:
        """Handle only what is said from now on. Raises OSError."""
        self.mark_handled(*self._service.checkpoints.read_all())
