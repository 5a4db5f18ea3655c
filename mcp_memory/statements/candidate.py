"""Defines a candidate: a statement worth remembering, in its original words."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Self

from ulid import ULID

from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.models import NoteId
from mcp_memory.text.dates.due import DueDate
from mcp_memory.text.language.sentences import beginning, capitalized
from mcp_memory.text.secrets.finder import redact

CROWDED_OUT = "better proposals wait"
"""The reason for which a proposal is dropped that nobody has decided on."""


class StatementKind(StrEnum):
    """The kinds of notes that are extracted."""

    PREFERENCE = "preference"
    DECISION = "decision"
    LESSON = "lesson"
    """A correction: what to do differently next time."""
    FIX = "fix"
    FACT = "fact"
    WORKFLOW = "workflow"
    """A way of doing something; only a language model distinguishes it from other statements."""
    COMMITMENT = "commitment"
    """A promise, or a reminder that you asked for. Without a date, it waits for review."""


class Voice(StrEnum):
    """The author of a candidate, as the note's head and the announcement name it."""

    SAID = "said"
    """You typed it in a session."""
    AGREED = "agreed"
    """The agent proposed it, and you agreed."""
    PROMISED = "promised"
    """The agent promised it, and is to do it."""
    WROTE = "wrote"
    """You wrote it into a log."""
    UNSURE = "unsure"
    """An agent wrote it, or you perhaps pasted it: always for review."""


@dataclass(frozen=True)
class Reversal:
    """A reversal of an earlier statement. `named`: the words that name the statement, such as `deploy days`; empty for
    a mere mark such as `after all`. `now`: what is true instead, without the reason. `lifts`: the sentence that ends
    a ban, such as `deploys are fine again`. `context`: what was said just before a statement that refuses a value."""

    named: str
    now: str
    lifts: str = ""
    context: Sequence[str] | None = None


@dataclass(frozen=True)
class Candidate:
    """A candidate. `text` contains no secret of a known form. `offset` is the byte in the transcript where the message
    begins. `outright`: you stated it plainly, so it is stored without review."""

    kind: StatementKind
    title: str
    text: str
    score: float
    outright: bool
    offset: int
    speaker: str
    at: datetime | None = None
    due: DueDate | None = None  # only for a commitment
    expires: datetime | None = None  # only for a statement that says how long it applies
    said: str = ""
    """Your original words, if the text was built from them."""
    instead_of: Self | None = None
    """The earlier candidate of the same session that this candidate replaces."""
    replaces: NoteId | None = None
    """The promise of an earlier session that it moves to another day."""
    voice: Voice = Voice.UNSURE
    reverses: Reversal | None = None
    """The earlier statement that it takes back, of this session or an earlier one."""

    @property
    def statement(self) -> str:
        """The text without the quotation below it."""
        return self.text.partition("\n\n> ")[0]

    def payload(self) -> dict[str, Any]:
        """Return the candidate as plain JSON values."""
        return {
            "kind": self.kind.value, "title": self.title, "text": self.text, "score": self.score,
            "at_once": self.outright, "offset": self.offset, "speaker": self.speaker,
            "at": self.at.isoformat() if self.at else None,
        }  # fmt: skip

    @classmethod
    def from_message(
        cls,
        message: TranscriptMessage,
        kind: StatementKind,
        text: str,
        score: float,
        outright: bool,
        title: str = "",
        said: str = "",
        instead_of: Self | None = None,
        voice: Voice = Voice.UNSURE,
    ) -> Self:
        """Create a candidate from a message, with secrets redacted. The default title is the first words of the
        text."""
        safe, turn = redact(text).text, message.turn
        title = make_title(redact(title).text or safe)
        return cls(
            kind, title, safe, score, outright, message.offset, turn.speaker, turn.at, said=redact(said).text,
            instead_of=instead_of, voice=voice
        )  # fmt: skip

    def key(self, client: str, session: str) -> bytes:
        """Return 32 bytes that identify the words and their time. A resumed or forked session repeats the words under
        another name, and must not restore erased notes. Without a time, the key identifies the words and the
        session."""
        where = (self.at.astimezone(UTC).isoformat(),) if self.at else (client, session)
        # not by its kind, which a later version may change
        identity = "\0".join((*where, " ".join((self.said or self.text).split())))
        return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).digest()


def id_of(candidate: Candidate, captured: CapturedMessages) -> NoteId:
    """Return a ULID made from the time and the key of a candidate: always the same for the same message."""
    ms = max(0, int(candidate.at.timestamp() * 1000)) if candidate.at else 0
    return NoteId(str(ULID.from_bytes(ms.to_bytes(6, "big") + candidate.key(captured.client, captured.session)[:10])))


def make_title(text: str) -> str:
    """Make a title from the beginning of a text."""
    return capitalized(beginning(text.replace("`", "")).rstrip(" ,;:–—-"))
