"""Reads a large index into memory once for all callers, none of whom waits longer than for a partial answer."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures import TimeoutError as Late
from functools import partial
from time import monotonic

from mcp_memory.errors import StillReading
from mcp_memory.index.base import Index, Part, UnreadFiles

SHORT_S = 0.1
"""Questions wait for a reading until it is so old. That reads 100,000 passages whose words and vectors lie in files,
and a whole answer serves better than a quick half."""

ANYTHING_S = 1.0
"""Those that nothing can answer yet wait until then: that reads a million passages where files have them."""


class _Reading:
    def __init__(self) -> None:
        self.begun_s = monotonic()
        self.outcome: Future[None] = Future()


class IndexWarmup:
    """Thread-safe; to be asked in worker threads."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lock = threading.Lock()
        self._under_way: dict[Part, _Reading] = {}

    def read(self, part: Part, within_s: float) -> None:
        """Have it in memory, however little it is. Raises as `require`."""
        self._wait(part, self._reading(part), within_s)

    def require(self, part: Part, *others: Part) -> None:
        """Returns once the part is in memory, or will be in no time; `others` will be wanted next. Raises StillReading
        where that is not so soon, and what the reading raised."""
        unread = self._index.unread()
        readings = {each: self._reading(each) for each in (part, *others) if _done(unread, each) is not None}
        if reading := readings.get(part):
            self._wait(part, reading, reading.begun_s + SHORT_S - monotonic())

    def wait(self) -> None:
        """Until one of the readings ends, or it cannot be soon."""
        with self._lock:
            readings = [each for each in self._under_way.values() if not each.outcome.done()]
        if readings:
            latest = max(each.begun_s for each in readings) + ANYTHING_S
            wait([each.outcome for each in readings], max(0.0, latest - monotonic()), FIRST_COMPLETED)

    def _wait(self, part: Part, reading: _Reading, within_s: float) -> None:
        try:
            reading.outcome.result(max(0.0, within_s))
        except Late:
            raise StillReading(_said(self._index.unread(), part), hint="ask again in some seconds") from None

    def _reading(self, part: Part) -> _Reading:
        with self._lock:
            known = self._under_way.get(part)
            if known is None or known.outcome.done():
                known = self._under_way[part] = _Reading()
                read = partial(self._read, part, known.outcome)
                threading.Thread(target=read, name=f"read-{part}", daemon=True).start()
            return known

    def _read(self, part: Part, outcome: Future[None]) -> None:
        try:
            self._index.read(part)
        except BaseException as error:  # whatever it is, those who wait shall know
            outcome.set_exception(error)
        else:
            outcome.set_result(None)


def _done(unread: UnreadFiles, part: Part) -> float | None:
    return unread.words if part == "words" else unread.vectors


def _said(unread: UnreadFiles, part: Part) -> str:
    return f"the {part} of {unread.passages:,} passages are still being read, {_done(unread, part) or 0:.0%} done"
