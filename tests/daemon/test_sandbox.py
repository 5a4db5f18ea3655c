"""In an agent's sandbox, where nothing may be written or connected to: one sentence each, and what can work does."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence

import pytest

from tests.daemon.place import Place, end

READ_ONLY = ("-m", 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"')
NO_NETWORK = ("-n", "true")
OTHER_PROCESSES = ("-npf", "true")
TEXT = "We drink tea at five."


def confined(place: Place, sandbox: tuple[str, str], *commands: Sequence[str]) -> list[tuple[int, str, str]]:
    """Runs the commands one after the other within the sandbox: exit code, output, errors."""
    flags, prelude = sandbox
    if not shutil.which("unshare") or subprocess.run(["unshare", flags, "true"], capture_output=True).returncode:
        pytest.skip("needs namespaces of its own")
    found: list[tuple[int, str, str]] = []
    program = f"import json, subprocess, sys\nfor command in json.load(sys.stdin):\n    {RUN}"
    script = f'{prelude} && exec "$2" -c "$3"'
    ran = subprocess.run(
        ["unshare", flags, "sh", "-c", script, "sh", str(place.root), place.command()[0], program],
        input=json.dumps([place.command(*words) for words in commands]), capture_output=True, text=True,
        env=place.environ, cwd=place.root, timeout=100,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found += [tuple(json.loads(line)) for line in ran.stdout.splitlines()]
    return found


RUN = (
    "ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=15); "
    "print(json.dumps([ran.returncode, ran.stdout, ran.stderr]))"
)
"""With a deadline below the half minute for which a command waits for a daemon that starts."""


def one_sentence(found: tuple[int, str, str], *, code: int, words: str) -> None:
    assert found[0] == code and words in found[1] + found[2], found
    assert "Traceback" not in found[2] and len(found[2].strip().splitlines()) <= 2, found


def test_a_home_that_is_read_only(place: Place):
    place.run("append", TEXT).ok()
    status, doctor, headers, stop, start = confined(
        place, READ_ONLY, ["status"], ["doctor"], ["headers"], ["stop"], ["start"]
    )
    one_sentence(status, code=3, words="no daemon runs for")
    one_sentence(headers, code=1, words="cannot use the state folder")
    one_sentence(stop, code=0, words="was not running")
    one_sentence(start, code=1, words="Read-only file system")
    assert doctor[0] == 1 and "error: cannot use the state folder" in doctor[1] and "Traceback" not in doctor[2]
    try:
        place.run("start").ok()
        place.run("headers", "--client", "codex").ok()
        status, doctor, known, new, found, stored, started = confined(
            place, READ_ONLY, ["status"], ["doctor"], ["headers", "--client", "codex"], ["headers", "--client", "new"],
            ["search", "tea"], ["append", "The daemon can write."], ["start"],
        )  # fmt: skip
        assert [status[0], doctor[0], known[0], found[0], stored[0], started[0]] == [0] * 6
        assert TEXT in found[1] and "Authorization" in known[1] and "already running" in started[1]
        one_sentence(new, code=1, words="cannot change")
    finally:
        end(place)


@pytest.mark.parametrize(
    ("sandbox", "why"),
    [(NO_NETWORK, "can't be reached from here"), (OTHER_PROCESSES, "of another container, sandbox")],
    ids=["no network", "other processes"],
)
def test_a_daemon_that_cannot_be_reached_is_not_waited_for(place: Place, sandbox: tuple[str, str], why: str):
    with place.started() as running:
        words = (["status"], ["headers"], ["search", "tea"], ["append", "x"], ["start"], ["restart"], ["serve"])
        for found in confined(place, sandbox, *words):
            one_sentence(found, code=3, words=why)
        (doctor,) = confined(place, sandbox, ["doctor"])
        assert doctor[0] == 1 and why in doctor[1]
        assert place.run("status", "--json").ok().json["pid"] == running.address.pid


def test_without_a_network_commands_work_and_no_daemon_is_started(place: Place):
    append, found, start, restart, status = confined(
        place, NO_NETWORK, ["append", TEXT], ["search", "tea"], ["start"], ["restart"], ["status"]
    )
    assert append[0] == found[0] == 0 and TEXT in found[1]
    for refused in (start, restart):
        one_sentence(refused, code=3, words="nothing could connect to a daemon here")
    one_sentence(status, code=3, words="no daemon runs")
