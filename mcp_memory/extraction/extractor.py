"""Extracts candidates from the messages of a session: your statements, and errors with what resolved them."""

from collections.abc import Sequence

from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.extraction.candidate import Candidate
from mcp_memory.extraction.lessons import extract_lessons
from mcp_memory.extraction.statements.finder import find_statements
from mcp_memory.extraction.statements.sentence_model import SentenceModel


def extract_candidates(
    messages: Sequence[TranscriptMessage],
    model: SentenceModel | None = None,
    before: Sequence[TranscriptMessage] = (),
) -> list[Candidate]:
    """Returns candidates in the order of the messages. Of those with the same text, the last one stays. `model` makes
    it find more; `before` are the messages before these, which they may answer or take back."""
    offsets, everything = {message.offset for message in messages}, [*before, *messages]
    found = [*find_statements(everything, model), *extract_lessons(everything)]
    once = {(one.kind, one.text.casefold()): one for one in found if one.offset in offsets}
    return sorted(once.values(), key=lambda candidate: candidate.offset)
