"""File descriptors: as many as the connections need, and how many connections fit where the system gives fewer."""

from __future__ import annotations

import resource

RESERVE = 256
"""For all that is not a connection: index, log, watcher, and the files of the calls that run at once."""


TURNS = 4
"""Of the event loop, from accepting a connection to closing the one that had to make room for it."""


def connections_that_fit(wanted: int, *, accepted_at_once: int) -> int:
    """At most `wanted`. Raises this process's soft limit as far as they need it.

    `accepted_at_once`: in one turn of the event loop.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    besides = TURNS * accepted_at_once + RESERVE
    needed = wanted + besides
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    limit = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return min(wanted, max(limit - besides, limit // 4))
