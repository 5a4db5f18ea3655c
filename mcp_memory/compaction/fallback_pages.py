"""Provisional pages: the notes' own sentences stand in for a language model's, until it can be asked again."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import monotonic

from mcp_memory.compaction.journal import JobEntry
from mcp_memory.compaction.report import RunReport
from mcp_memory.models import NotePath
from mcp_memory.topics.topic_tree import Topic

AGAIN_S = 6 * 3600.0
"""How long until a page is asked for again for which the model's answer was of no use: the same question most often
brings the same answer, and each costs a call."""


class FallbackPages:
    """Which of them may be tried now. `asked_in_s` is the summarizer's, `clock` in monotonic seconds."""

    def __init__(self, asked_in_s: Callable[[], float], clock: Callable[[], float] = monotonic) -> None:
        self._asked_in_s = asked_in_s
        self._clock = clock
        self._in_vain: dict[NotePath, float] = {}

    def may_improve(self, topic: Topic) -> bool:
        """Whether the model can be asked for this topic's page now."""
        tried = self._in_vain.get(topic.page_path, -inf)
        return topic.provisional and self._clock() >= tried + AGAIN_S and self._asked_in_s() == 0

    def again_in_s(self) -> float | None:
        """When the pages that are left are worth a look; None where no model will ever be there."""
        asked_in_s = self._asked_in_s()
        return None if asked_in_s == inf else asked_in_s or AGAIN_S

    def note_of(self, entry: JobEntry, report: RunReport) -> None:
        """A job was done; if its page was to be written by the model, and was not, the report says so."""
        if not entry.problem:
            return
        if self._asked_in_s() == 0:  # else nobody asks for a while anyhow, and the page may be in time after that
            self._in_vain[entry.page] = self._clock()
        report.provisional.append(f"{entry.page.rsplit('/', 2)[1]}: {entry.problem}")

    def forget(self) -> None:
        """A person wants all of them tried."""
        self._in_vain.clear()
