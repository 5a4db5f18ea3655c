"""A message: what somebody said in a session, or what a tool gave back, with its place in the transcript."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mcp_memory.text.conversation.messages import Turn


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """`turn` is who spoke, when, and the words; of a tool what it gave back."""

    role: Role
    turn: Turn
    offset: int
    """The byte in its file at which its line begins."""
    tool: str = ""
    """The name of the tool, of the role `tool` alone."""
    failed: bool = False
    """Whether the tool says that it failed."""
