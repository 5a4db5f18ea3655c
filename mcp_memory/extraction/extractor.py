"""Extracts candidates from the messages of a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.extraction.candidate import Candidate, candidate, titled
from mcp_memory.extraction.fixes import fixes
from mcp_memory.extraction.language import introduces
from mcp_memory.extraction.statement_rules import claim, is_denial
from mcp_memory.extraction.user_sentences import MOST_CHARS, UserSentence, spoken


def extract_candidates(messages: Sequence[TranscriptMessage]) -> list[Candidate]:
    """What is worth remembering, in the order of the messages, each text once: as it was said last."""
    found = [
        *(each for message in messages if message.role is Role.USER for each in _claims(message)),
        *fixes(messages),
    ]
    once = {(each.sort, each.text.casefold()): each for each in found}
    return sorted(once.values(), key=lambda each: each.offset)


def _claims(message: TranscriptMessage) -> Iterator[Candidate]:
    turn = message.turn
    typed = len(turn.text) <= MOST_CHARS
    for sentence in _joined(spoken(turn.text, introduces)):
        if made := claim(sentence):
            outright = made.outright and typed and not sentence.may_be_pasted
            yield candidate(
                made.sort,
                sentence.text,
                made.score,
                outright=outright,
                offset=message.offset,
                speaker=turn.speaker,
                at=turn.at,
                title=titled(sentence.text[made.lead :]),
            )


def _joined(sentences: Sequence[UserSentence]) -> Iterator[UserSentence]:
    """A plain no belongs to what is said next."""
    denial: UserSentence | None = None
    for each in sentences:
        if is_denial(each):
            denial = each
            continue
        if denial:
            joined = f"{denial.text} {each.text}", f"{denial.view} {each.view}"
            yield UserSentence(*joined, each.is_asked, each.may_be_pasted)
            denial = None
        else:
            yield each
