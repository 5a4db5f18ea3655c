"""The context: what of a transcript's earlier lines counts for later ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

MOST_CALLS = 200
"""Of tools, whose results have not come; the oldest go first."""

MOST_NAME_CHARS = 200


@dataclass(slots=True)
class ReaderContext:
    """Readers change it as they go."""

    session: str = ""
    """The client's name of the session, once a line has told it."""
    folder: str = ""
    """That the agent works in, as last told."""
    delegated: bool = False
    """Whether another agent, not a person, gives the tasks in it: the transcript says so, or who told of it."""
    calls: dict[str, str] = field(default_factory=dict[str, str])
    """The id of a tool's call → the tool's name."""

    def call(self, call_id: object, tool: object) -> None:
        if isinstance(call_id, str) and isinstance(tool, str):
            self.calls[call_id[:MOST_NAME_CHARS]] = tool[:MOST_NAME_CHARS]
            while len(self.calls) > MOST_CALLS:
                self.calls.pop(next(iter(self.calls)))

    def answered(self, call_id: object) -> str:
        """The tool that gives this answer, and only this one."""
        return self.calls.pop(call_id[:MOST_NAME_CHARS], "") if isinstance(call_id, str) else ""

    def payload(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> ReaderContext:
        return cls(payload["session"], payload["folder"], payload["delegated"], dict(payload["calls"]))
