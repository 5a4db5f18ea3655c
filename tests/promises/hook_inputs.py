"""A hook never blocks or breaks its agent, whatever it is told: `python -m tests.promises.hook_inputs`.

What real clients say is taken apart, bent and put together again. Most of it goes through the very function that the
command runs; a share of it through processes, whose exit code and streams are what a client sees.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_memory.hooks.deadline import Deadline
from mcp_memory.hooks.hook_answer import EVENTS
from mcp_memory.hooks.hook_command import hook
from mcp_memory.hooks.transcript_answers import COMPACTION, TAKES_COMPACTION
from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import RUN_S, Place
from tests.hooks.client import EVENT_NAMES

CLIENTS = ("claude-code", "codex", "openclaw")
STORED = "The heron of Rya nests on the old crane."
ODD: tuple[Any, ...] = (
    None, True, -1, 1e308, 10**400, "", "\0", "\ud800", "\u202e", "x" * 100_000, [], {}, [[]] * 3, {"a": {"b": []}},
    "../..", "/proc", "<<<", "what does the heron nest on",
)  # fmt: skip


@dataclass(frozen=True)
class Call:
    arguments: tuple[str, ...]
    data: bytes


def calls(seed: int) -> Iterator[Call]:
    """The same for the same seed, without an end."""
    chance = random.Random(seed)
    while True:
        event, client = chance.choice(EVENTS), chance.choice(CLIENTS)
        arguments = [event, "--client", client]
        if chance.random() < 0.1:
            arguments = _bent_words(arguments, chance)
        yield Call(tuple(arguments), _bent_bytes(_said(event, chance), chance))


def fault_in(call: Call, out: bytes) -> str | None:
    """What the client would stumble over; None for what it takes."""
    if not out:
        return None
    event, client = call.arguments[0], next(iter(call.arguments[2:3]), "")
    if out == COMPACTION.encode():
        return None if event == "pre-compact" and TAKES_COMPACTION & {*call.arguments} else "a text at the wrong event"
    try:
        said = json.loads(out.decode("ascii"))["hookSpecificOutput"]
    except (ValueError, KeyError, TypeError) as error:
        return f"{client} cannot read it: {error!r}"
    if set(said) != {"hookEventName", "additionalContext"} or said["hookEventName"] != EVENT_NAMES.get(event):
        return f"not what {client} takes at {event}"
    return None if isinstance(said["additionalContext"], str) and said["additionalContext"] else "nothing in it"


def in_process(place: Place, call: Call) -> str | None:
    """What is wrong with its output; it must not raise."""
    written: list[bytes] = []
    try:
        hook(call.arguments, place.environ, lambda: call.data, written.append, Deadline(20_000))
    except BaseException as error:
        return f"it raised {error!r}"
    return fault_in(call, b"".join(written))


def as_process(place: Place, call: Call) -> str | None:
    done = subprocess.run(
        place.command("hook", *call.arguments), input=call.data, env=place.environ, cwd=place.root,
        capture_output=True, timeout=RUN_S,
    )  # fmt: skip
    if done.returncode or done.stderr:
        return f"exit code {done.returncode}, {done.stderr[:200]!r}"
    return fault_in(call, done.stdout)


def tried(place: Place, number: int, processes: int, seed: int) -> tuple[Counter[str], list[str]]:
    """How often there was what, and each fault with its call."""
    counts: Counter[str] = Counter()
    faults: list[str] = []
    rest = calls(seed)
    for at in range(number + processes):
        call = next(rest)
        fault = as_process(place, call) if at < processes else in_process(place, call)
        counts["as a process" if at < processes else "in process"] += 1
        if fault:
            faults.append(f"{fault}: {call.arguments} {call.data[:200]!r}")
    lines = [json.loads(line) for file in place.root.rglob("hooks.jsonl") for line in file.read_text().splitlines()]
    counts.update(f"{line['outcome']} in what the log keeps" for line in lines)
    return counts, faults


def _said(event: str, chance: random.Random) -> dict[str, Any]:
    """As clients say it."""
    said: dict[str, Any] = {
        "session_id": f"session {chance.randrange(50)}",
        "cwd": chance.choice(["/", "/tmp", str(Path.cwd())]),
        "hook_event_name": event,
        "transcript_path": "/nowhere.jsonl",
    }
    if event == "prompt":
        said["prompt"] = chance.choice(["where does the heron nest", "yes, go on", "x" * chance.randrange(2_000)])
    return said


def _bent_bytes(said: dict[str, Any], chance: random.Random) -> bytes:
    for _ in range(chance.randrange(3)):
        key = chance.choice([*said, "new", ""])
        if chance.random() < 0.3:
            said.pop(key, None)
        else:
            said[key] = chance.choice(ODD)
    data = json.dumps(said, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    bend = chance.randrange(10)
    if bend == 0:
        return data[: chance.randrange(len(data) + 1)]
    if bend == 1:
        at = chance.randrange(len(data) + 1)
        return data[:at] + chance.randbytes(chance.randrange(1, 30)) + data[at:]
    if bend == 2:
        return chance.choice(
            [b"", data * 2, b"[" * 5_000, b"\xef\xbb\xbf" + data, b"[" + data + b"]", chance.randbytes(300)]
        )
    return data


def _bent_words(words: list[str], chance: random.Random) -> list[str]:
    odd = [
        "",
        "-",
        "--",
        "--client",
        "--vault=",
        "--vault",
        "/nowhere",
        "--config=/dev/null",
        "\n",
        "a b",
        "prompt",
        "é",
    ]
    for _ in range(chance.randrange(1, 3)):
        at = chance.randrange(len(words) + 1)
        words = [*words[:at], chance.choice(odd), *words[at + chance.randrange(2) :]]
    return words


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hook-inputs-") as folder:
        root = Path(folder)
        place = Place(root, root / "models", KEYWORDS_ONLY).make()
        with place.started():
            place.run("append", "-k", "preference", STORED).ok()
            counts, faults = tried(place, wanted.calls, wanted.processes, wanted.seed)
    print(f"seed {wanted.seed}: " + ", ".join(f"{n:,} {what}" for what, n in sorted(counts.items())))
    print("\n".join(faults[:20]))
    print(f"{len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
