"""An agent's transcripts beside a vault, which a daemon captures."""

from __future__ import annotations

from typing import Any

from mcp_memory.capture.config import CaptureConfig
from tests.capture.written import BEGAN
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World


class Sessions:
    """An agent's transcripts beside a vault, long over."""

    def __init__(self, world: World) -> None:
        self.world, self.folder = world, world.state.parent / "claude"
        self.folder.mkdir(exist_ok=True)
        self.repository = world.state.parent / "app"
        (self.repository / ".git").mkdir(parents=True, exist_ok=True)
        (self.repository / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    def engine(self, **sections: Any):
        self.world.now = BEGAN
        return self.world.engine(capture=CaptureConfig(folders={"claude-code": str(self.folder)}), **sections)

    async def capture(self, engine: KeywordEngine, talk: bytes, name: str = "s-1") -> str:
        file = self.folder / f"{name}.jsonl"
        named = talk.replace(b'"s-1"', f'"{name}"'.encode())
        file.write_bytes(named.replace(b"/home/ada/app", str(self.repository).encode()))
        await engine.perform("capture", {"files": [str(file)]})
        return str(file)
