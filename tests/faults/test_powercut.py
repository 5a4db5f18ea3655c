"""Promise D2: what was answered survives a power cut at any moment, and nothing is ever torn under a note's name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_memory.client.credentials import Credentials
from mcp_memory.errors import McpMemoryError
from mcp_memory.storage.filesystem import FilesystemBackend
from tests.faults.powercut import Tree, disks, record
from tests.faults.powercut_writer import NEW, OLD

LIMIT = 10_000 if os.environ.get("MCP_MEMORY_EXHAUSTIVE") else 256
REPOSITORY = Path(__file__).parents[2]

AT_OLD, IN_NEW_FOLDER, MOVED = "old/note.md", "a/b/note.md", "c/d/moved.md"
WITH_NEW = {AT_OLD: OLD, IN_NEW_FOLDER: NEW}


def _strace_works() -> bool:
    return (
        bool(shutil.which("strace")) and subprocess.run(["strace", "-qq", "true"], capture_output=True).returncode == 0
    )


pytestmark = pytest.mark.skipif(not _strace_works(), reason="strace, and the right to trace, are needed")


def replay(tmp_path: Path, way: str, after: Tree, *lacks: str, restart: bool = False) -> tuple[int, set[str]]:
    """How many disks were looked at, and what was wrong with some of them."""
    vault = tmp_path / "vault"
    (vault / "old").mkdir(parents=True)
    (vault / AT_OLD).write_bytes(OLD)
    command = [sys.executable, "-m", "tests.faults.powercut_writer", way, str(vault), str(tmp_path / "locks"), *lacks]
    recording = record(vault, command, REPOSITORY)
    before = {AT_OLD: OLD}
    ((promised, _),) = recording.promises
    faults: set[str] = set()
    looked_at: set[tuple] = set()
    count = 0
    for done, tree in disks(recording, seed=1, limit=LIMIT):
        count += 1
        key = (done >= promised, *sorted(tree.items()))
        if key in looked_at:
            continue
        looked_at.add(key)
        notes = _started_again(tmp_path / "disk", tree) if restart else _visible(tree)
        if done >= promised and notes != after:
            faults.add("a promised note is missing or torn")
        if done < promised and notes not in (before, after):
            held = set(notes.values())
            if not held <= {OLD, NEW}:
                faults.add("torn under its name")
            elif sum(data == OLD for data in notes.values()) > 1:
                faults.add("there twice")
            else:
                faults.add("neither the old state nor the new one")
    return count, faults


def _visible(tree: Tree) -> Tree:
    return {path: data for path, data in tree.items() if "/." not in f"/{path}"}


def _started_again(folder: Path, tree: Tree) -> Tree:
    """The notes after the next start has looked at what was left behind."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path, data in tree.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    files = FilesystemBackend(folder, marker=None)
    files.sweep_leftovers(min_age_s=0)
    return {path: files.read(path).data for path in files.list().files}


@pytest.mark.parametrize(
    ("way", "after"),
    [
        ("new", WITH_NEW),
        ("into_a_folder_that_nobody_synced", WITH_NEW),
        ("over", {AT_OLD: NEW}),
        ("move", {MOVED: OLD}),
    ],
)
def test_no_power_cut_loses_or_tears_anything(tmp_path: Path, way: str, after: Tree) -> None:
    count, faults = replay(tmp_path, way, after)
    assert not faults
    assert count > 10


@pytest.mark.parametrize(
    ("way", "after", "lacks"),
    [
        ("new", WITH_NEW, ("rename_free",)),
        ("new", WITH_NEW, ("rename_free", "link")),
        ("over", {AT_OLD: NEW}, ("exchange",)),
        ("over", {AT_OLD: NEW}, ("exchange", "rename_free")),
        ("over", {AT_OLD: NEW}, ("exchange", "rename_free", "link")),
        ("move", {MOVED: OLD}, ("rename_free",)),
    ],
)
def test_nor_where_calls_are_missing_once_started_again(tmp_path: Path, way: str, after: Tree, lacks) -> None:
    _, faults = replay(tmp_path, way, after, *lacks, restart=True)
    assert not faults


@pytest.mark.parametrize(
    ("way", "after", "fault"),
    [
        ("naive_in_place", {AT_OLD: NEW}, "torn under its name"),
        ("naive_without_fsync_of_the_file", {AT_OLD: NEW}, "a promised note is missing or torn"),
        ("naive_without_fsync_of_the_folder", {AT_OLD: NEW}, "a promised note is missing or torn"),
        ("naive_without_fsync_above_a_new_folder", WITH_NEW, "a promised note is missing or torn"),
        ("naive_move_by_link", {"c/moved.md": OLD}, "there twice"),
    ],
)
def test_wrong_writers_are_seen_to_be_wrong(tmp_path: Path, way: str, after: Tree, fault: str) -> None:
    _, faults = replay(tmp_path, way, after)
    assert fault in faults


def test_a_token_that_was_given_out_counts_and_a_revoked_one_never_again(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    recording = record(state, [sys.executable, "-m", "tests.faults.powercut_tokens", str(state)], REPOSITORY)
    promises = [(at, *line.split()) for at, line in recording.promises]
    assert [promise for _, promise, _ in promises] == ["counts", "counts", "refused"]
    revoked = {token for _, promise, token in promises if promise == "refused"}
    count, broken = 0, 0
    for done, tree in disks(recording, seed=1, limit=LIMIT):
        count += 1
        given = [(promise, token) for at, promise, token in promises if at <= done]
        is_revoked = any(promise == "refused" for promise, _ in given)
        holders = {token: _holder(tmp_path / "disk", tree, token) for _, token in given}
        broken += any(
            holders[token] is not None if token in revoked and is_revoked
            # A revocation that was not answered yet may have been done.
            else holders[token] is None and not (token in revoked and done > promises[1][0])
            for _, token in given
        )  # fmt: skip
    assert count > 10
    assert broken == 0, f"{broken} of {count}"


def _holder(folder: Path, tree: Tree, token: str) -> str | None:
    """Whose token it is to a daemon that starts on this disk."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    if "tokens.json" in tree:
        (folder / "tokens.json").touch(mode=0o600)
        (folder / "tokens.json").write_bytes(tree["tokens.json"])
    try:
        return Credentials(folder / "tokens.json").client_of(token)
    except McpMemoryError:
        return None
