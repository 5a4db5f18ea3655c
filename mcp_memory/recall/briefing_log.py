"""Record which passages each session was given unasked, with their confidence and the matched words of the prompt. The
log is private, bounded and not synced. It has ids and figures; from a prompt it keeps only words that a passage has,
too, and none if `recall.keep_words` is off."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mcp_memory.models import NoteId, Passage
from mcp_memory.recall.moments import WORD_SETS
from mcp_memory.recall.moments.shown_notes import odds_of
from mcp_memory.runtime.json_lines import Facts, JsonLines
from mcp_memory.search.ranking import RankedChunk
from mcp_memory.text.dates import format_when
from mcp_memory.text.language.terms import fold, folded, terms, words
from mcp_memory.text.language.word_lists import function_words
from mcp_memory.usage.note_use import with_odds
from mcp_memory.usage.use_counter import UseCounter

MOST_BYTES = 1_000_000
"""The most bytes of each of the two files: some 4,000 prompts."""

MOST_WORDS = 8


@dataclass(frozen=True)
class BriefingLog:
    """The log of given passages. A session is named `client/id`."""

    lines: JsonLines
    with_words: bool
    uses: UseCounter

    def add(
        self, at: datetime, session: str, project: str | None, passages: Iterable[Passage],
        chunks: Iterable[RankedChunk], confidence: float | None, prompt: str | None, event: str = "session-start",
        tokens: int = 0,
    ) -> None:  # fmt: skip
        """Record the passages given at `event`, by default a `prompt`, in a text of this many `tokens`. Each note is
        recorded once, with its best passage and the relevance that it has without earlier showings."""
        scored, outcomes = {chunk.passage.chunk_id: chunk for chunk in chunks}, self.uses.outcomes(project)
        given: dict[str, Facts] = {}
        for passage in passages:
            facts: Facts = {"id": passage.shown_id, "path": passage.note.path, "line": passage.chunk.start_line}
            if chunk := scored.get(passage.chunk_id):
                odds = odds_of(passage, outcomes)
                facts |= {"relevance": round(with_odds(chunk.relevance, 1 / odds), 3), "score": round(chunk.score, 3)}
            if prompt and self.with_words:
                facts["words"] = matched_words(prompt, f"{passage.note.title} {passage.chunk.text}")
            given.setdefault(passage.shown_id, facts)
        how = "shown" if event == "session-start" and not prompt else "told"
        self.uses.add(map(NoteId, given), how, question=prompt, session=session)
        event, sure = "prompt" if prompt else event, confidence and round(confidence, 3)
        when = {"at": format_when(at), "session": session, "project": project, "event": event}
        self.lines.try_append({**when, "tokens": tokens, "confidence": sure, "passages": list(given.values())})

    def given(self, session: str, limit: int, note: str | None = None) -> list[dict[str, Any]]:
        """Return the latest `limit` records of a session (`client/id` or `id`), of the `last` session, or of `all`, if
        named only those with this note or entry. Raises StorageFailed."""
        found, wanted = list[dict[str, Any]](), session
        for one in self.lines.read_back([note] if note else []):
            wanted = one["session"] if wanted == "last" else wanted
            is_named = note is None or any(passage["id"] == note for passage in one["passages"])
            if is_named and wanted in {"all", one["session"], str(one["session"]).partition("/")[2]}:
                found.append(one)
                if len(found) == limit:
                    break
        return found

    def take_back(self, session: str, since: datetime) -> None:
        """Remove this session's prompts and passages since that time, and all unanswered questions. Raises
        StorageFailed."""
        self.uses.take_back(session)
        self.lines.remove(lambda line: line["session"] == session and datetime.fromisoformat(line["at"]) >= since)

    def erase(self, ids: Collection[str], path: str, entry: str | None) -> None:
        """Remove the records that name one of these notes, or an entry of a file. Raises StorageFailed."""
        gone = {f"{path}#{entry}"} if entry else {*ids, f"path:{path}"}
        self.lines.remove(
            lambda line: any(one["id"] in gone or (not entry and one["path"] == path) for one in line["passages"])
        )


def matched_words(prompt: str, text: str) -> list[str]:
    """Return the prompt's words that the text has in any form, in the prompt's order, without function words."""
    known, common = folded(text), function_words(words(prompt)) | WORD_SETS["links"]
    telling = (word for word in terms(prompt) if len(word) > 1 and word not in common)
    return [word for word in telling if fold(word) in known][:MOST_WORDS]
