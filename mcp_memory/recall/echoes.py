"""Echoes: which of the notes that were put before an agent came back in the words of its next answer.

Overlap, as `text.echo` measures it, and not use. What is not known is said to be so: where the session was not
captured, the agent has not answered yet, or the note is gone, tells nothing new, or is so long that nobody knows which
part of it the agent was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from mcp_memory.capture.next_answer import answer_after
from mcp_memory.capture.session_reader import Captured
from mcp_memory.errors import InvalidInput, McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.models import Shelf
from mcp_memory.runtime.threads import in_thread
from mcp_memory.search.note_lookup import named_by
from mcp_memory.text.dates import parse_when
from mcp_memory.text.language.overlap import echoes, telling

MOST_CHARS = 4000
"""Of a note, or of a log's entry: beyond, what was given is a small part of it, and by chance some part echoes."""

LOOK_S = 120.0


@dataclass(frozen=True, slots=True)
class Injection:
    """What a session was given at a moment: `notes` are the ids of a briefing."""

    client: str
    session: str
    at: datetime
    notes: Sequence[str]


def injection_of(item: Any) -> Injection:
    """Raises InvalidInput."""
    try:
        at = parse_when(item["at"], UTC)
        return Injection(str(item["client"]), str(item["session"]), at, [str(note) for note in item["notes"]])
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidInput("an item has a client, a session, the time at, and notes") from error


class Echoes:
    def __init__(self, captured: Captured, index: Index) -> None:
        self._captured = captured
        self._index = index

    async def of(self, injections: Sequence[Injection]) -> list[dict[str, bool | None]]:
        """For each injection: note → whether it echoes in the answer that followed, None where that is not known."""

        def look() -> list[dict[str, bool | None]]:
            keys = {(each.client, each.session) for each in injections}
            talks = {key: self._captured.messages(*key) for key in keys}
            # Of a session with many prompts each word is read once, not once for each note that was given.
            words, text_of = cache(telling), cache(self._text)

            def echoed(each: Injection) -> dict[str, bool | None]:
                answer = answer_after(talks[each.client, each.session], each.at)
                if answer is None:
                    return dict.fromkeys(each.notes)
                said = frozenset[str]().union(*map(words, answer.said))
                texts = {note: text_of(note) for note in each.notes}
                return {note: echoes(text, answer.text, said) if text else None for note, text in texts.items()}

            return [echoed(each) for each in injections]

        return await in_thread(look, deadline_s=LOOK_S, what="comparing notes with answers")

    def _text(self, note_id: str) -> str | None:
        """What there is of the note to be found; None where it is gone or too long."""
        try:
            named = named_by(note_id)
            paths = [named[0]] if isinstance(named, tuple) else [n.path for n in self._index.note_by_id(named)]
            passages = [each for path in paths for each in self._index.passages(path)]
        except McpMemoryError:
            return None
        texts = [
            each.chunk.text
            for each in passages
            if each.note.shelf is not Shelf.DELETED and note_id in {each.shown_id, each.note.id}
        ]
        return "\n\n".join(texts) if 0 < sum(map(len, texts)) <= MOST_CHARS else None
