"""Extracts candidates from the messages of a session: your statements, and errors with what resolved them."""

from collections.abc import Iterator, Sequence

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.extraction.candidate import Candidate, make_title
from mcp_memory.extraction.language import introduces
from mcp_memory.extraction.lessons import extract_lessons
from mcp_memory.extraction.statement_rules import classify, is_denial
from mcp_memory.extraction.user_sentences import MAX_CHARS, UserSentence, user_sentences


def extract_candidates(messages: Sequence[TranscriptMessage]) -> list[Candidate]:
    """Returns candidates in the order of the messages. Of those with the same text, the last one stays."""
    found = [
        *(found for message in messages if message.role is Role.USER for found in _statements(message)),
        *extract_lessons(messages),
    ]
    once = {(candidate.kind, candidate.text.casefold()): candidate for candidate in found}
    return sorted(once.values(), key=lambda candidate: candidate.offset)


def _statements(message: TranscriptMessage) -> Iterator[Candidate]:
    typed = len(message.turn.text) <= MAX_CHARS
    for sentence in _joined(user_sentences(message.turn.text, introduces)):
        if statement := classify(sentence):
            yield Candidate.from_message(
                message,
                statement.kind,
                sentence.text,
                statement.score,
                statement.outright and typed and not sentence.may_be_pasted,
                make_title(sentence.text[statement.prefix_chars :]),
            )


def _joined(sentences: Sequence[UserSentence]) -> Iterator[UserSentence]:
    """Joins a plain no to the sentence that follows it."""
    denial: UserSentence | None = None
    for sentence in sentences:
        if is_denial(sentence):
            denial = sentence
        elif denial:
            text, view = f"{denial.text} {sentence.text}", f"{denial.view} {sentence.view}"
            yield UserSentence(text, view, sentence.is_question, sentence.may_be_pasted)
            denial = None
        else:
            yield sentence
