"""Answers: what an agent said after a moment of its session, out of a transcript that was captured. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from mcp_memory.capture.readers.message import Message, Role

GRAIN = timedelta(seconds=1)
"""Of the moments: a prompt that was sent within it may bear a later time than the hook that it called."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`said` is all that stood in the session before it, message after message, prompts and what tools gave back
    included."""

    text: str
    said: tuple[str, ...]


def answer_after(messages: Sequence[Message], at: datetime) -> Answer | None:
    """The agent's next words, up to a person's; None where it has said nothing since, or no time is known. `at` is
    cut to the second."""
    begin = next((n for n, each in enumerate(messages) if _is_since(each, at)), len(messages))
    for number, each in enumerate(messages[begin:], begin):
        if each.role is Role.USER and not _is_since(each, at + GRAIN):
            begin = number + 1
    first = next((n for n in range(begin, len(messages)) if messages[n].role is Role.ASSISTANT), len(messages))
    end = next((n for n in range(first, len(messages)) if messages[n].role is Role.USER), len(messages))
    text = "\n\n".join(each.turn.text for each in messages[first:end] if each.role is Role.ASSISTANT)
    others = [*messages[:first], *(each for each in messages[first:end] if each.role is not Role.ASSISTANT)]
    return Answer(text, tuple(each.turn.text for each in others)) if text else None


def _is_since(message: Message, at: datetime) -> bool:
    return message.turn.at is not None and message.turn.at >= at
