"""Invariant 3: eight processes append to one daily log and one topic at once. Thirty entries each; a thousand with
MCP_MEMORY_EXHAUSTIVE=1."""

from __future__ import annotations

import json
import random
import select
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mcp_memory.text.markdown import logs
from mcp_memory.text.markdown.frontmatter import parse
from tests.daemon.place import Place
from tests.support.world import EXHAUSTIVE, REPOSITORY, draft, more, python, vault_in

COUNT = 1000 if EXHAUSTIVE else 30
NAMES = [f"writer{letter}" for letter in "abcdefgh"]


@pytest.mark.timeout(3600)
def test_through_one_daemon(place: Place) -> None:
    with place.started():
        receipts = crowd("daemon", place.root)
    judge(receipts, place.vault, one_note_a_content=True)
    assert copies(place.vault) == []


@pytest.mark.timeout(3600)
def test_engines_with_a_state_folder_each(tmp_path: Path) -> None:
    """As several users or devices have: no lock is common, so what one puts over another's last instant becomes a
    conflict copy."""
    receipts = crowd("engine", tmp_path)
    judge(receipts, tmp_path / "vault", one_note_a_content=False)


WRITER = """
import sys
from pathlib import Path
from tests.support.world import draft, vault_in

vault, name = vault_in(Path(sys.argv[1])), sys.argv[2]
for number in range(int(sys.argv[3])):
    vault.append(draft(f"{name} entry {number}", "log", session=f"{name}{number}"))
vault.backend.settle(min_age_s=0)
"""


def test_a_person_who_adds_lines_beside_processes_that_add_entries(tmp_path: Path) -> None:
    """As `echo >>` does: it opens, adds at the end and closes, and takes part in no lock. A line for each change, so
    that the processes get on however slow the machine is."""
    vault, count, chance = vault_in(tmp_path), more(25), random.Random(1)
    file = tmp_path / "vault" / vault.append(draft("first entry", "log")).file.record.path
    writers = [python(WRITER, tmp_path, name, count) for name in ("ann", "bob")]
    said: list[str] = []
    seen = 0
    while None in [writer.poll() for writer in writers]:
        select.select([], [], [], chance.random() * 0.002)
        if file.stat().st_size != seen:
            said.append(f"- by hand {len(said)}\n")
            with file.open("a") as out:
                out.write(f"\n{said[-1]}")
            seen = file.stat().st_size
    assert [writer.wait() for writer in writers] == [0, 0]
    entries = entry_texts(file)
    for line in (f"{name} entry {number}\n" for name in ("ann", "bob") for number in range(count)):
        assert sum(line in text for text in entries) == 1
    assert len(said) > count / 2
    kept = "".join(path.read_text() for path in (tmp_path / "vault").rglob("*.md"))
    assert [line for line in said if line not in kept] == []


def crowd(way: str, root: Path) -> list[list[dict[str, Any]]]:
    """The receipts of each process, in the order that it got them."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.promises.crowd", way, root, str(COUNT), *NAMES],
        cwd=REPOSITORY, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    receipts = [json.loads(line) for line in done.stdout.splitlines()]
    return [[each for each in receipts if each["by"] == name] for name in NAMES]


def judge(receipts: list[list[dict[str, Any]]], vault: Path, *, one_note_a_content: bool) -> None:
    """Each entry once and whole, in its writer's order; each note under a name of its own. A conflict copy counts for
    what is in it and nowhere else."""
    assert [len(each) for each in receipts] == [COUNT] * len(NAMES)
    (log,) = (vault / "memory").glob("????-??-??.md")
    entries = entry_texts(log)
    in_copies = "".join(file.read_text() for file in copies(vault))
    written = Counter(text.strip().splitlines()[-1] for text in entries)
    assert [text for text, count in written.items() if count > 1] == []
    for own in receipts:
        words = [f"{each['word']} was here" for each in own if "#" in each["id"]]
        assert words
        missing = [word for word in words if word not in written and word not in in_copies]
        assert missing == []
        assert [line for line in written if line in set(words)] == [word for word in words if word in written]
    times = [entry.time for entry in logs.entries(log.read_text())]
    assert times == sorted(times)
    notes = [each for own in receipts for each in own if "#" not in each["id"]]
    for each in notes:
        text = (vault / each["path"]).read_text()
        assert f"{each['word']} was here" in text
        assert parse(text).meta["id"] == each["id"]
    ids = {each["id"] for each in notes}
    if one_note_a_content:
        assert len(ids) == len({each["word"] for each in notes})
    assert len(list((vault / "topics").rglob("*.md"))) == len(ids) == len({each["path"] for each in notes})


def entry_texts(log: Path) -> list[str]:
    text = log.read_text()
    return [text[entry.start : entry.end] for entry in logs.entries(text)]


def copies(vault: Path) -> list[Path]:
    return list(vault.rglob("*conflict*"))
