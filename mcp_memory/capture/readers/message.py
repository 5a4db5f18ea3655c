"""What readers produce from a transcript, and what they remember from line to line."""

from dataclasses import dataclass, field
from enum import StrEnum

from mcp_memory.text.conversation.messages import Turn


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """`turn` holds the speaker, the time and the text; for a tool, its output. Its line begins at the byte `offset`.
    `tool` is the tool's name; `failed`: it reported a failure."""

    role: Role
    turn: Turn
    offset: int
    tool: str = ""
    failed: bool = False


MOST_CALLS = 200
"""Tool calls without a result yet; the oldest are dropped first."""

MOST_NAME_CHARS = 200


@dataclass(slots=True)
class ReaderContext:
    """What later lines need from earlier ones; readers change it."""

    session: str = ""
    """The client's id of the session, once a line has given it."""
    folder: str = ""
    """The agent's working folder, as last given."""
    project: str | None = None
    """Of the latest such folder that was still there, since worktrees vanish; readers leave it alone."""
    delegated: bool = False
    """Whether another agent gives the tasks, according to the transcript or the hook."""
    calls: dict[str, str] = field(default_factory=dict[str, str])
    """Id of a tool call → name of the tool."""

    def remember_call(self, call_id: object, tool: object) -> None:
        if isinstance(call_id, str) and isinstance(tool, str):
            self.calls[call_id[:MOST_NAME_CHARS]] = tool[:MOST_NAME_CHARS]
            while len(self.calls) > MOST_CALLS:
                self.calls.pop(next(iter(self.calls)))

    def pop_call(self, call_id: object) -> str:
        """Removes a call that has been answered and returns the tool's name."""
        return self.calls.pop(call_id[:MOST_NAME_CHARS], "") if isinstance(call_id, str) else ""
