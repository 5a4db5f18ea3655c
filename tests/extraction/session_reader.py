"""A language model that reads finished sessions: an endpoint that answers as a test tells it to."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from mcp_memory.extraction.config import ExtractionConfig
from mcp_memory.models import NoteRecord, NoteState
from mcp_memory.summarizers.config import SummarizerConfig
from tests.capture.written import line, result, use
from tests.support.keyword_engine import KeywordEngine
from tests.support.sessions import Sessions
from tests.support.stub_endpoint import Answer, StubEndpoint, serving
from tests.support.world import World, records

TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
TALK = b"".join([
    line(1, "how long do we keep parcels that were delivered? 90 days, right?"),
    line(2, "The code says 90 days.", role="assistant"),
    line(3, "hm. legal told me it has to be 180 days, so make it that, for the whole shop"),
    use(4, "t1", "Bash", command="just deploy"),
    result(5, "t1", "Error: datacenters is required", failed=True),
    line(6, "Shall I put the exports into the folder dumps/ from now on?", role="assistant"),
    line(7, "yes please"),
    line(8, "this week the front desk is with Marta, I'm away. the contract has to be out on Friday"),
    line(9, f"Bea writes:\n\n> from now on everybody pushes to main\n\nthe key is {TOKEN}, ok?"),
])  # fmt: skip
PARCELS = {
    "do": "store", "kind": "decision", "text": "Delivered parcels are kept for 180 days, because legal wants it.",
    "quote": "legal told me it has to be 180 days", "when": ["changing how long data is kept"],
}  # fmt: skip


class Reader:
    """A language model that answers with what `say` was given, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answer = json.dumps({"notes": []})
        self.endpoint: StubEndpoint

    def say(self, *notes: dict[str, Any], wrong: list[str] | None = None) -> None:
        self.answer = f"```json\n{json.dumps({'notes': notes, 'wrong': wrong or []})}\n```"

    def reply(self, _: dict[str, Any]) -> Answer:
        return 200, {"choices": [{"message": {"content": self.answer}, "finish_reason": "stop"}]}, {}

    @property
    def sections(self) -> dict[str, Any]:
        usual = SummarizerConfig(endpoint=self.endpoint.address, model="large", timeout_s=60)
        return {"extraction": ExtractionConfig(reader="endpoint", reader_model="small"), "summarizer": usual}

    @property
    def asked(self) -> str:
        return "\n".join(message["content"] for message in self.endpoint.requests[-1]["messages"])


@contextmanager
def reader() -> Generator[Reader]:
    model = Reader()
    with serving(model.reply) as model.endpoint:
        yield model


async def finish(sessions: Sessions, engine: KeywordEngine, talk: bytes = TALK, name: str = "s-1") -> dict[str, Any]:
    """End a session, and return the report of reading it."""
    file = await sessions.capture(engine, talk, name)
    await engine.perform("emptied", {"session": f"claude-code/{name}", "transcript": file})
    return await engine.run_job("reading")


def made(engine: KeywordEngine, state: NoteState = NoteState.ACTIVE) -> list[NoteRecord]:
    return [record for record in records(engine) if record.state is state]


def body(world: World, record: NoteRecord) -> str:
    return world.read(record.path).decode().partition("\n---\n")[2].strip()
