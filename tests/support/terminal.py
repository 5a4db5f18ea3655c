"""Runs a command that asks for keys or answers on a terminal of its own."""

from __future__ import annotations

import os
import pty
import re
import select
import termios
import time
from collections.abc import Mapping, Sequence

from tests.daemon.place import Place, Ran
from tests.support.warm_process import WarmProcess

_KEY = "[q]uit  "
_KEY_OR_LINE = re.compile(r"\[q\]uit  |\([^()\n]*(?:none|now \w+)\): ")

INTERRUPT = "\x04"
"""Ctrl-D: a worker of these tests ignores Ctrl-C, and so do its children."""

_QUESTION = re.compile(r"(?:\[(?:[yY]/[nN]|leave|none)\]|0: none\)): ")


def typed(
    place: Place, command: str, keys: Sequence[str], *, prompt: re.Pattern[str] = _KEY_OR_LINE, **more: str
) -> str:
    """What a command shows on a terminal where these keys or lines are typed, one whenever it asks with `prompt`."""
    ran = _talk(place, command.split(), keys, prompt, more)
    assert ran.code == 0, ran
    return ran.out


def answered(place: Place, arguments: Sequence[str], answers: Sequence[str], **more: str) -> Ran:
    """A command on a terminal where these answers are typed, one whenever it asks."""
    ran = _talk(place, arguments, answers, _QUESTION, more)
    return Ran(ran.code, ran.out.replace("\r\n", "\n"), "")


def _talk(
    place: Place, arguments: Sequence[str], answers: Sequence[str], prompt: re.Pattern[str], more: Mapping[str, str]
) -> Ran:
    master, slave = pty.openpty()
    process = WarmProcess(arguments, [slave] * 3, {**place.environ, "TERM": "dumb", **more}, place.root)
    os.close(slave)
    sent, shown, asked, deadline = b"", "", 0, time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            if not select.select([master], [], [], 0.2)[0]:
                continue
            try:
                sent += os.read(master, 65536)
            except OSError:
                break  # Linux says so once the other end is closed
            shown = sent.decode(errors="replace")
            prompts = prompt.findall(shown)
            if asked < len(answers) and len(prompts) > asked:
                while prompts[asked] == _KEY and _reads_lines(master) and time.monotonic() < deadline:
                    time.sleep(0.01)  # what is typed before it listens is thrown away
                os.write(master, answers[asked].encode())
                asked += 1
        return Ran(process.wait(10), shown, "")
    finally:
        process.kill()
        os.close(master)


def _reads_lines(terminal: int) -> bool:
    return bool(termios.tcgetattr(terminal)[3] & termios.ICANON)
