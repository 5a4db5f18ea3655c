"""The book: what the daemon was told and what it answered. A note is its session's own, so nobody else changes it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

LOG = "log"
SAME_ENTRY_S = 30.0
"""A log entry said again within a minute is the same one (promise); half of that, since a call takes time."""


@dataclass
class Told:
    """One thing that a session asked to keep. `word` occurs in nothing else.

    `etag` is that of the last answered write of a note; None where a later one's answer did not tell it. `sure` is
    false while the last call about it has no answer: then either state is right. A superseded note is not `shown`.
    """

    word: str
    filler: str
    kind: str
    session: str
    supersedes: Told | None = None
    id: str = ""
    path: str = ""
    etag: str | None = None
    sure: bool = False
    shown: bool = True
    superseded: bool = False
    asked_at_s: float = field(default_factory=time.monotonic)

    @property
    def may_be_asked_again(self) -> bool:
        return not self.is_log or time.monotonic() - self.asked_at_s < SAME_ENTRY_S

    @property
    def content(self) -> str:
        return f"{self.word}: {self.filler} ({self.whole})"

    @property
    def whole(self) -> str:
        """Stands at the very end, so that half a note is seen to be half."""
        return f"{self.word} whole"

    @property
    def answered(self) -> bool:
        return bool(self.id)

    @property
    def is_log(self) -> bool:
        return self.kind == LOG

    @property
    def arguments(self) -> dict[str, Any]:
        """Of `memory_append`."""
        given: dict[str, Any] = {"content": self.content, "kind": self.kind, "session": self.session}
        if self.supersedes:
            given["supersedes"] = self.supersedes.id
        return given


@dataclass
class Book:
    """`lines` are what editors put into shared files; `saves` is the last save of each file that only they write."""

    told: list[Told] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    saves: dict[str, bytes] = field(default_factory=dict)

    @property
    def answered(self) -> list[Told]:
        return [told for told in self.told if told.answered]

    def asked(self, told: Told) -> None:
        """Before a call about it, so that a kill finds it written down."""
        told.sure = False
        if told.supersedes:
            told.supersedes.sure = False

    def appended(self, told: Told, receipt: dict[str, Any]) -> None:
        told.id, told.path, told.etag, told.sure = receipt["id"], receipt["path"], receipt["etag"], True
        if old := told.supersedes:
            old.etag, old.sure, old.shown, old.superseded = None, True, False, True

    def marked(self, told: Told, answer: dict[str, Any]) -> None:
        """A forget or a restore was answered."""
        told.etag, told.sure, told.shown = answer["etag"], True, answer["status"] == "active"
