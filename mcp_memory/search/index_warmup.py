"""Read a large index into memory once for all callers, who wait only briefly before they answer partially."""

import threading
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures import TimeoutError as Late
from functools import partial
from time import monotonic

from mcp_memory.errors import StillReading
from mcp_memory.index.base import Index, Part, UnreadFiles

SHORT_S = 0.1
"""Questions wait for a reading until it is this old, which is enough for 100,000 passages whose words are in a file,
and for 25,000 vectors."""

ANYTHING_S = 1.0
"""Questions that can be answered in no other way wait this long, which is enough for the words of a million passages in
a file."""


class _Reading:
    def __init__(self) -> None:
        self.begun_s = monotonic()
        self.outcome: Future[None] = Future()


class IndexWarmup:
    """Thread-safe; call it in worker threads."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lock = threading.Lock()
        self._under_way: dict[Part, _Reading] = {}

    def read(self, part: Part, within_s: float) -> None:
        """Read the part, however small it is. Raises as `require`."""
        self._wait(part, self._reading(part), within_s)

    def require(self, part: Part, *others: Part) -> None:
        """Wait until the part is in memory or need not be waited for; also start reading `others`. Raises StillReading
        if it takes longer, and the errors of reading."""
        unread = self._index.unread()
        readings = {name: self._reading(name) for name in (part, *others) if _share_done(unread, name) is not None}
        if reading := readings.get(part):
            self._wait(part, reading, reading.begun_s + SHORT_S - monotonic())

    def wait(self) -> None:
        """Wait until one of the readings ends, or `ANYTHING_S` after the latest began."""
        with self._lock:
            readings = [reading for reading in self._under_way.values() if not reading.outcome.done()]
        if readings:
            latest = max(reading.begun_s for reading in readings) + ANYTHING_S
            wait([reading.outcome for reading in readings], max(0.0, latest - monotonic()), FIRST_COMPLETED)

    def _wait(self, part: Part, reading: _Reading, within_s: float) -> None:
        try:
            reading.outcome.result(max(0.0, within_s))
        except Late:
            unread = self._index.unread()
            done = f"{_share_done(unread, part) or 0:.0%} done"
            message = f"the {part} of {unread.passages:,} passages are still being read, {done}"
            raise StillReading(message, hint="ask again in some seconds") from None

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
        except BaseException as error:  # raised again in those who wait
            outcome.set_exception(error)
        else:
            outcome.set_result(None)


def _share_done(unread: UnreadFiles, part: Part) -> float | None:
    return unread.words if part == "words" else unread.vectors
