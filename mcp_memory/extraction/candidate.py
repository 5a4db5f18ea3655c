"""Defines a candidate: one statement worth remembering, in its original words."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from mcp_memory.text.secrets.redaction import redact

MOST_TITLE_WORDS, MOST_TITLE_CHARS = 15, 100


class StatementKind(StrEnum):
    """The note kinds that are extracted."""

    PREFERENCE = "preference"
    DECISION = "decision"
    LESSON = "lesson"
    """A correction: what to do differently next time."""
    FIX = "fix"
    FACT = "fact"
    COMMITMENT = "commitment"
    """A promise, or what you want to be reminded of. It waits for review."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """`text` contains no secret of a known shape. `offset` is the byte in the transcript at which the message begins;
    `outright`: you stated it plainly, so it is stored without review."""

    sort: StatementKind
    title: str
    text: str
    score: float
    outright: bool
    offset: int
    speaker: str
    at: datetime | None = None

    def key(self, client: str, session: str) -> bytes:
        """32 bytes that are the same whenever the same is said at the same moment: a session that is resumed or forked
        repeats it under another name, and must not bring back what was erased. Where no time is known, it is the
        same in the same session, wherever its transcript lies."""
        where = (self.at.astimezone(UTC).isoformat(),) if self.at else (client, session)
        said = "\0".join((*where, self.sort, " ".join(self.text.split())))
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()


def candidate(
    sort: StatementKind,
    text: str,
    score: float,
    *,
    outright: bool,
    offset: int,
    speaker: str,
    at: datetime | None,
    title: str = "",
) -> Candidate:
    """Makes a candidate with secrets redacted, and a title from the first words unless one is given."""
    safe = redact(text).text
    return Candidate(sort, titled(redact(title).text or safe), safe, score, outright, offset, speaker, at)


def titled(text: str) -> str:
    """Makes a title from the first words of a text."""
    words = text.replace("`", "").split()[:MOST_TITLE_WORDS]
    title = " ".join(words)
    if len(title) > MOST_TITLE_CHARS:
        title = title[:MOST_TITLE_CHARS].rsplit(" ", 1)[0]
    plain = title.rstrip(" ,;:–—-")
    return plain[:1].upper() + plain[1:]
