"""What is asked for on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ABOUT = """A real daemon under everything at once, for as long as you like, and then the account: is anything lost?

Sessions call it over HTTP (70 % searches, 15 % recalls, 13 % appends, 2 % forgets and restores), in both protocol eras.
Meanwhile two editors save a person's notes, by rename and in place, and add lines to the daily log; git flips a
folder of the vault between two branches; the daemon is killed, stopped, told to reindex, and has its disk filled up
(vault and state on an ext4 of their own; Linux, as root). All that in the first three fifths of the time; the rest is
one life without troubles, over which the growth of memory is measured. What has no answer is asked again, as agents do.

Lost: an answered append, forget or restore that the files do not show; an editor's save or line that is gone; a note
that is there in part or twice; one that a search does not find. Stale: a file that the index does not know as it is,
half a minute after all is quiet, or that a new index would know otherwise.

Exit code: 0 all is well; 1 something is lost or stale, a call failed for no reason, or a stop was not clean.
"""

EXAMPLES = """examples:
  python -m tests.soak --minutes 3 --sessions 16 --vault-notes 1000
  python -m tests.soak --minutes 30 --sessions 64 --vault-notes 10000 --json soak.json
"""


@dataclass(frozen=True)
class Options:
    minutes: float
    sessions: int
    vault_notes: int
    rate: float
    """Calls a second of all sessions together."""
    seed: int
    model: bool
    full_disk: bool
    quiet_s: float
    folder: Path | None
    json: Path | None

    @property
    def seconds(self) -> float:
        return self.minutes * 60


def options_from(arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(
        "python -m tests.soak", description=ABOUT, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=3, help="of load; checks come on top (default 3)")
    parser.add_argument("--sessions", type=int, default=64, help="that call at once (default 64)")
    parser.add_argument("--vault-notes", type=int, default=10_000, help="notes of a person beforehand (default 10000)")
    parser.add_argument("--rate", type=float, default=30, help="calls a second, all sessions together (default 30)")
    parser.add_argument("--seed", type=int, default=1, help="of every choice; the timing remains the machine's")
    parser.add_argument("--no-model", dest="model", action="store_false", help="keywords only: starts at once")
    parser.add_argument("--no-full-disk", dest="full_disk", action="store_false", help="needs no root")
    parser.add_argument(
        "--quiet", dest="quiet_s", type=float, default=60, help="seconds of idling measured (default 60)"
    )
    parser.add_argument("--folder", type=Path, help="where to work, kept afterwards; default: temporary, and removed")
    parser.add_argument("--json", type=Path, help="write the report there too, for programs")
    return Options(**vars(parser.parse_args(arguments)))
