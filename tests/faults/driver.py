"""Runs under the shim: every fault at every call of one scenario, each in a forked child, on a fresh vault.

Usage: driver.py SCENARIO FOLDER [ACTION …]. Prints JSON, one object a line: each case that broke a promise, and then
a summary.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mcp_memory.errors import McpMemoryError
from mcp_memory.storage.filesystem import FilesystemBackend
from tests.storage.refusing import RefusingRenames

OLD, NEW, OTHER = b"old " * 2000, b"new " * 3000, b"somebody else's"
KILL_BEFORE, KILL_AFTER, FAIL, SHORT = 1, 2, 3, 4
ACTIONS = {
    "kill-before": (KILL_BEFORE, 0),
    "kill-after": (KILL_AFTER, 0),
    "short": (SHORT, 0),
    **{name: (FAIL, getattr(errno, name)) for name in ("ENOSPC", "EIO", "EROFS", "EDQUOT", "EMFILE")},
}
ANSWERED, REFUSED, UNNAMED = 0, 10, 11

OUTCOMES = {ANSWERED: "answered", REFUSED: "refused", UNNAMED: "refused without naming the cause"}

Tree = dict[str, bytes]


@dataclass(frozen=True)
class Scenario:
    """`before` and `after`: the visible notes without and with the change."""

    act: Callable[[FilesystemBackend], object]
    before: Tree
    after: Tree
    lacks: tuple[str, ...] = ()


def etag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write_new(files: FilesystemBackend) -> object:
    return files.write("a/b/note.md", NEW, None)


def write_over(files: FilesystemBackend) -> object:
    return files.write("a/note.md", NEW, etag(OLD))


def naive_over(files: FilesystemBackend) -> object:
    with (files.root / "a" / "note.md").open("wb", buffering=0) as file:
        file.write(NEW[:6000])
        return file.write(NEW[6000:])


def careless_over(files: FilesystemBackend) -> object:
    """Writes aside and renames, but hides an fsync that failed and never counts what it wrote."""
    temp = files.root / "a" / ".note.tmp"
    descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(descriptor, NEW)
    os.close(descriptor)
    return temp.rename(files.root / "a" / "note.md")


NOTE, SCENE = {"a/note.md": OLD}, {"other.md": OTHER}
OVER = (write_over, NOTE, {"a/note.md": NEW})
SCENARIOS = {
    "write-new": Scenario(write_new, {}, {"a/b/note.md": NEW}),
    "write-new-by-link": Scenario(write_new, {}, {"a/b/note.md": NEW}, ("rename_free",)),
    "write-new-plain": Scenario(write_new, {}, {"a/b/note.md": NEW}, ("rename_free", "link")),
    "write-over": Scenario(*OVER),
    "write-over-in-steps": Scenario(*OVER, ("exchange",)),
    "write-over-by-link": Scenario(*OVER, ("exchange", "rename_free")),
    "write-over-plain": Scenario(*OVER, ("exchange", "rename_free", "link")),
    "move": Scenario(lambda files: files.move("a/note.md", "c/d/moved.md"), NOTE, {"c/d/moved.md": OLD}),
    "remove": Scenario(lambda files: files.remove_generated("a/note.md", etag(OLD)), NOTE, {}),
    "naive": Scenario(naive_over, NOTE, {"a/note.md": NEW}),
    "careless": Scenario(careless_over, NOTE, {"a/note.md": NEW}),
}

shim = ctypes.CDLL(None)
shim.shim_name.restype = ctypes.c_char_p


def main(name: str, folder: Path, actions: list[str]) -> None:
    scenario = SCENARIOS[name]
    calls = count_calls(scenario, folder)
    cases = broken = 0
    outcomes: dict[str, int] = {}
    for action in actions or ACTIONS:
        for number in range(1, calls + 1):
            cases += 1
            outcome, hit, faults = run(scenario, folder, number, action)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            if faults:
                broken += 1
                print(json.dumps({"call": number, "hit": hit, "action": action, "outcome": outcome, "faults": faults}))
    print(json.dumps({"calls": calls, "cases": cases, "broken": broken, "outcomes": outcomes}))


def count_calls(scenario: Scenario, folder: Path) -> int:
    backend = prepare(scenario, folder)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        shim.shim_arm(os.fsencode(folder), 0, 0, 0)
        scenario.act(backend)
        os.write(writer, str(shim.shim_count()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    count = int(os.read(reader, 20))
    os.close(reader)
    os.close(writer)
    return count


def run(scenario: Scenario, folder: Path, number: int, action: str) -> tuple[str, str, list[str]]:
    backend = prepare(scenario, folder)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        shim.shim_arm(os.fsencode(folder), number, *ACTIONS[action])
        os._exit(attempt(scenario, backend, ACTIONS[action][1], writer))
    os.close(writer)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader) as said:
        hit = said.read()
    outcome = "killed" if os.WIFSIGNALED(status) else OUTCOMES.get(os.WEXITSTATUS(status), "crashed")
    return outcome, hit, judge(scenario, folder, outcome, hit)


def attempt(scenario: Scenario, backend: FilesystemBackend, injected: int, said: int) -> int:
    try:
        scenario.act(backend)
        code = ANSWERED
    except McpMemoryError as error:
        code = REFUSED if injected and f"[{errno.errorcode[injected]}]" in str(error) else UNNAMED
    except OSError:
        code = REFUSED
    os.write(said, shim.shim_name())
    shim.shim_arm(b"", 0, 0, 0)
    backend.settle(min_age_s=0)
    return code


def judge(scenario: Scenario, folder: Path, outcome: str, hit: str) -> list[str]:
    """What is wrong now, and what is still wrong after the next start has looked at the leftovers."""
    faults: list[str] = []
    vault = folder / "vault"
    expected = {
        "answered": [scenario.after], "refused": [scenario.before], "killed": [scenario.before, scenario.after],
    }.get(outcome, [])  # fmt: skip
    hidden = list(vault.rglob(".*"))
    if outcome == "refused" and hidden and not hit.startswith("unlink"):
        faults.append("a temp file was left behind")
    if outcome != "killed" and visible(vault) not in [{**SCENE, **tree} for tree in expected]:
        faults.append("wrong notes at once")
    backend = backend_of(scenario, folder)
    swept = backend.sweep_leftovers(min_age_s=0)
    tree = visible(vault)
    if tree not in [{**SCENE, **tree} for tree in expected]:
        faults.append(f"wrong notes after the next start: { {path: len(data) for path, data in tree.items()} }")
    if outcome != "killed" and swept.kept:
        faults.append("unknown bytes left behind")
    if set(backend.list().files) != set(tree) or backend.list().problems:
        faults.append("the listing differs")
    backend.write("locks/are/free.md", b"x", None)
    return faults


def visible(vault: Path) -> Tree:
    return {str(path.relative_to(vault)): path.read_bytes() for path in vault.rglob("[!.]*") if path.is_file()}


def prepare(scenario: Scenario, folder: Path) -> FilesystemBackend:
    shutil.rmtree(folder, ignore_errors=True)
    for path, data in {**SCENE, **scenario.before}.items():
        (folder / "vault" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "vault" / path).write_bytes(data)
    return backend_of(scenario, folder)


def backend_of(scenario: Scenario, folder: Path) -> FilesystemBackend:
    renames = RefusingRenames(*scenario.lacks)
    return FilesystemBackend(folder / "vault", locks=folder / "locks", marker=None, renames=renames)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve(), sys.argv[3:])
