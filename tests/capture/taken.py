"""Transcripts in a client's folder, a capturer over them, and what has come of it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from mcp_memory.capture.config import CaptureConfig
from mcp_memory.capture.readers.registry import READERS
from mcp_memory.capture.service import CaptureResult, CaptureService
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.capture.worker import CaptureWorker
from mcp_memory.jobs.job import JobsConfig
from mcp_memory.jobs.scheduler import Scheduler
from mcp_memory.projects.projects import Projects
from mcp_memory.runtime.health import Health, IdleDetector
from mcp_memory.vault.config import TRANSCRIPTS

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


@dataclass
class Desk:
    """`heard` is what the hearer was told."""

    root: Path
    config: CaptureConfig = field(default_factory=CaptureConfig)
    heard: list[CapturedMessages] = field(default_factory=list)
    hear: Callable[[CapturedMessages], Awaitable[None]] | None = None

    def __post_init__(self) -> None:
        folders = {client: str(self.root / "home" / client) for client in READERS}
        for folder in folders.values():
            Path(folder).mkdir(parents=True, exist_ok=True)
        self.config = CaptureConfig(**{**_fields(self.config), "folders": folders})

    @property
    def state(self) -> Path:
        return self.root / "state"

    def file(self, name: str = "-home-ada-app/s-1.jsonl", client: str = "claude-code") -> Path:
        file = self.root / "home" / client / name
        file.parent.mkdir(parents=True, exist_ok=True)
        return file

    def taker(self) -> CaptureService:
        """A new one each time, as after a restart."""
        self.state.mkdir(exist_ok=True)
        project_of = Projects(self.state / "vault").label_of
        service = CaptureService(self.state, self.config, UTC, lambda: NOON, lambda: None, project_of)
        service.listeners.append(self.hear or self._listen)
        return service

    def capturer(self, **more: float) -> CaptureWorker:
        scheduler = Scheduler(JobsConfig(), self.state, IdleDetector(), lambda: NOON)
        return CaptureWorker(self.config, self.taker(), IdleDetector(), Health(), scheduler, **more)

    async def take(self, file: Path, client: str = "claude-code") -> list[CaptureResult]:
        """To the end of the file, by a taker of its own."""
        taker, found = self.taker(), list[CaptureResult]()
        for place in await taker.list_in_file(str(file), client):
            while True:
                found.append(await taker.capture_next(place))
                if found[-1].at_end:
                    break
        return found

    def leaves(self) -> dict[str, str]:
        folder = self.state / TRANSCRIPTS
        return {str(file.relative_to(folder)): file.read_text() for file in sorted(folder.rglob("*.md"))}

    def said(self) -> str:
        return "\n".join(self.leaves().values())

    def texts(self) -> list[str]:
        return [message.turn.text for told in self.heard for message in told.messages]

    def bytes_on_disk(self) -> bytes:
        """Of everything that a capture has ever written and left."""
        return b"".join(file.read_bytes() for file in self.state.rglob("*") if file.is_file())

    async def _listen(self, told: CapturedMessages) -> None:
        self.heard.append(told)


def _fields(config: CaptureConfig) -> dict[str, object]:
    return dict(vars(config))


def checkpoint(desk: Desk) -> dict[str, object]:
    (file,) = (desk.state / "checkpoints").glob("*.json")
    return json.loads(file.read_text())
