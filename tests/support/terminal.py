"""Runs a command that asks for keys or answers on a terminal of its own."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import termios
import time
from collections.abc import Sequence

from tests.daemon.place import Place, Ran

_KEY = "[q]uit  "
_KEY_OR_LINE = re.compile(r"\[q\]uit  |\([^()\n]*(?:none|now \w+)\): ")

INTERRUPT = "\x04"
"""Ctrl-D: a worker of these tests ignores Ctrl-C, and so do its children."""

_QUESTION = re.compile(r"(?:\[(?:[yY]/[nN]|leave)\]|0: none\)): ")


def typed(
    place: Place, command: str, keys: Sequence[str], *, prompt: re.Pattern[str] = _KEY_OR_LINE, **more: str
) -> str:
    """What a command shows on a terminal where these keys or lines are typed, one whenever it asks with `prompt`."""
    master, slave = pty.openpty()
    environ = {**place.environ, "TERM": "dumb", **more}
    words = place.command(*command.split())
    process = subprocess.Popen(
        words, stdin=slave, stdout=slave, stderr=slave, env=environ, cwd=place.root, close_fds=True
    )
    os.close(slave)
    shown, asked, deadline = "", 0, time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            if not select.select([master], [], [], 0.2)[0]:
                if process.poll() is not None:
                    break
                continue
            try:
                piece = os.read(master, 65536).decode(errors="replace")
            except OSError:
                break  # Linux says so once the other end is closed
            shown += piece
            prompts = prompt.findall(shown)
            if asked < len(keys) and len(prompts) > asked:
                while (
                    prompts[asked] == _KEY
                    and termios.tcgetattr(master)[3] & termios.ICANON
                    and time.monotonic() < deadline
                ):
                    time.sleep(0.01)  # what is typed before it listens is thrown away
                os.write(master, keys[asked].encode())
                asked += 1
        assert process.wait(10) == 0, shown
    finally:
        process.kill()
        os.close(master)
    return shown


def answered(place: Place, arguments: Sequence[str], answers: Sequence[str], **more: str) -> Ran:
    """A command on a terminal where these answers are typed, one whenever it asks."""
    master, slave = pty.openpty()
    environ = {**place.environ, "TERM": "dumb", **more}
    process = subprocess.Popen(
        place.command(*arguments), stdin=slave, stdout=slave, stderr=slave, env=environ, cwd=place.root
    )
    os.close(slave)
    shown, left, deadline = "", list(answers), time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            if not select.select([master], [], [], 0.2)[0]:
                continue
            try:
                shown += os.read(master, 65536).decode(errors="replace")
            except OSError:
                break  # Linux says so once the other end is closed
            if left and len(_QUESTION.findall(shown)) > len(answers) - len(left):
                os.write(master, left.pop(0).encode())
        return Ran(process.wait(10), shown.replace("\r\n", "\n"), "")
    finally:
        process.kill()
        process.wait()
        os.close(master)
