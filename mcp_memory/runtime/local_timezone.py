"""The system's time zone, looked up for each moment."""

import time
from datetime import UTC, datetime, timedelta, tzinfo


class LocalTimezone(tzinfo):
    """The local time with each moment's own offset, so that a process may live through a change of the clocks.

    For years that the system doesn't know it uses standard time, and raises nothing."""

    def utcoffset(self, dt: datetime | None) -> timedelta:
        return _standard() if dt is None else _offset(dt, None)

    def dst(self, dt: datetime | None) -> timedelta:
        return self.utcoffset(dt) - _standard()

    def tzname(self, dt: datetime | None) -> str:
        return time.tzname[bool(dt and self.dst(dt))]

    def fromutc(self, dt: datetime) -> datetime:
        """Convert `dt`, which is in UTC though it has this zone. In the hour that comes twice, the second time has
        `fold=1`."""
        offset = _offset(dt, UTC)
        local = (dt + offset).replace(fold=0)
        return local if self.utcoffset(local) == offset else local.replace(fold=1)


def _standard() -> timedelta:
    return timedelta(seconds=-time.timezone)


def _offset(moment: datetime, zone: tzinfo | None) -> timedelta:
    """Return the offset of a clock time in `zone`; None for local time."""
    try:
        return moment.replace(tzinfo=zone).astimezone().utcoffset() or timedelta()
    except (OverflowError, ValueError, OSError):
        return _standard()
