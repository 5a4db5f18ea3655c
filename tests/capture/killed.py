"""Captures a transcript, and is killed at a moment that standard input names: so many calls into the system that make,
open or rename a file, or tell the hearer. Prints how many there were, or KILLED.

Usage: killed.py ROOT
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import anyio

from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.text.markdown import frontmatter
from tests.capture.taken import Desk

WATCHED = {"open", "os.rename", "os.truncate", "os.mkdir", "os.remove"}


class Clock:
    """Counts down to the kill."""

    def __init__(self, left: int) -> None:
        self.left = left

    def tick(self, event: str, arguments: tuple[object, ...] = ()) -> None:
        # The modules that are imported meanwhile are opened, too.
        if event == "told" or (event in WATCHED and not str(arguments[0]).endswith((".py", ".pyc"))):
            self.left -= 1
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)


def capture(root: Path, moment: int) -> int:
    clock = Clock(moment)

    async def hear(told: CapturedMessages) -> None:
        clock.tick("told")
        with (root / "heard.jsonl").open("ab") as heard:
            for each in told.messages:
                heard.write(json.dumps([each.offset, each.turn.text]).encode() + b"\n")
        clock.tick("told")

    desk = Desk(root, hear=hear)
    sys.addaudithook(clock.tick)
    anyio.run(desk.take, desk.file())
    return moment - clock.left


if __name__ == "__main__":
    here = Path(sys.argv[1])
    frontmatter.render({"title": "x"}, "x")  # imports what it needs once, not in each child
    for asked in sys.stdin:
        child = os.fork()
        if child == 0:
            took = capture(here, int(asked))
            os.write(1, b"%d\n" % took)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            os.write(1, b"KILLED\n")
