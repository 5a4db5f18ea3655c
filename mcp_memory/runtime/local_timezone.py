"""The system's time zone, asked anew for each moment."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo


class LocalTimezone(tzinfo):
    """Local time with the offset that holds at each moment, so that a process may live through a change of the clocks.

    Nothing is raised: for years that the system cannot tell, standard time counts.
    """

    def utcoffset(self, dt: datetime | None) -> timedelta:
        return _standard() if dt is None else _offset(dt.replace(tzinfo=None))

    def dst(self, dt: datetime | None) -> timedelta:
        return self.utcoffset(dt) - _standard()

    def tzname(self, dt: datetime | None) -> str:
        dst = bool(dt is not None and self.dst(dt))
        return time.tzname[dst]

    def fromutc(self, dt: datetime) -> datetime:
        """`dt` is in UTC, though it bears this zone. In the hour that comes twice, the second time has `fold=1`."""
        offset = _offset_in_utc(dt.replace(tzinfo=None))
        local = (dt + offset).replace(fold=0)
        return local if self.utcoffset(local) == offset else local.replace(fold=1)


def _standard() -> timedelta:
    return timedelta(seconds=-time.timezone)


def _offset(wall: datetime) -> timedelta:
    try:
        return wall.astimezone().utcoffset() or timedelta()
    except (OverflowError, ValueError, OSError):
        return _standard()


def _offset_in_utc(moment: datetime) -> timedelta:
    try:
        return moment.replace(tzinfo=UTC).astimezone().utcoffset() or timedelta()
    except (OverflowError, ValueError, OSError):
        return _standard()
