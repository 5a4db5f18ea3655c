"""The doctor: every finding with a remedy, fixed where that needs no judgement."""

from __future__ import annotations

import errno
import os
import shlex
from functools import partialmethod
from typing import Any

import pytest

from mcp_memory.engine.diagnosis.diagnostics import Finding, VaultFacts, findings_of
from mcp_memory.errors import StorageFailed
from mcp_memory.models import NoteId, NotePath, Problem
from mcp_memory.storage.filesystem import FilesystemBackend
from mcp_memory.vault.journals.append_journal import JournaledAppend
from mcp_memory.vault.marker import MARKER
from mcp_memory.vault.marks.set_aside import original_of
from mcp_memory.vault.shared.lost_entries import LostEntry
from tests.support.world import NOON, World

LOG = f"memory/{NOON.date()}.md"


def lost(why: str, name: str = "e1", path: str = LOG) -> LostEntry:
    return LostEntry(JournaledAppend(NotePath(path), name, None, 1.0, "c"), why, "## 12:00 Title\n\nIt\nfell   over\n")


def findings(**facts) -> list[Finding]:
    return findings_of(VaultFacts(**{"root": "/v", "paths": [], "ids": {}, **facts}))


@pytest.mark.parametrize(
    ("facts", "severity", "what", "remedy"),
    [
        ({"pruning_paused": "9 of 9 notes vanished"}, "error", "9 of 9 notes vanished", "doctor --accept"),
        ({"lost": [lost("overwritten")]}, "error", "lost 1 entry (12:00 Title It fell over)", "doctor --repair"),
        ({"lost": [lost("missing")]}, "warning", "no longer holds 1 entry", f"mcp-memory doctor --dismiss {LOG}"),
        ({"lost": [lost("edited")]}, "info", "in other words", f"mcp-memory doctor --repair {LOG}"),
        ({"lost": [lost("unanswered")]}, "info", "never answered", f"mcp-memory doctor --repair {LOG}"),
        ({"lost": [lost("missing", f"e{n}") for n in range(5)]}, "warning", "5 entries (", f"--repair {LOG}"),
        ({"lost": [lost("missing", path="a b/memory/2026-11-21.md")]}, "warning", "a b/", "--repair 'a b/memory"),
        ({"problems": [Problem("a.md", "odd")]}, "warning", "a.md: odd", "repair or remove"),
        ({"problems": [Problem("a", "no", unread=True)]}, "warning", "a: no", "let the user that runs mcp-memory read"),
        (
            {"problems": [Problem(f"{n}.md", "the disk is full", is_put_off=True) for n in range(9)]},
            "warning",
            "the latest change of 9 notes: the disk is full",
            "the notes are stored",
        ),
        ({"problems": [Problem(MARKER, "gone")], "pruning_paused": "it is away"}, "error", "it is away", "--accept"),
        ({"faults": [Problem("sweep", "no")]}, "warning", "sweep: no", "doctor --repair"),
        ({"overcome": [Problem("index.db", "was damaged")]}, "info", "was damaged", "nothing to do"),
        ({"leftovers": [Problem(".x.mcpm", "left")]}, "warning", ".x.mcpm: left", "less /v/.x.mcpm"),
        ({"warnings": ["slow"]}, "info", "slow", "local disk"),
        ({"read_only": True}, "warning", "cannot be written", "/v"),
        ({"is_full": True}, "warning", "disk is full", "free some space"),
        ({"ignored": 3}, "info", "3 files", "edit it"),
        ({"damaged_ledger_lines": 2}, "warning", "2 lines of the ledger", "mcp-memory adopt PATH"),
        ({"memory": (300, 706)}, "warning", "MEMORY.md has 706 lines", "start_budget_tokens"),
        ({"keywords_only": "unavailable"}, "warning", "keywords only", "mcp-memory config show"),
        ({"ids": {"a.md": NoteId("x"), "b.md": NoteId("x")}}, "warning", "2 notes have the id x", "grep -rl x /v"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_fact_is_one_line_with_its_remedy(facts: dict, severity: str, what: str, remedy: str) -> None:
    found = [finding for finding in findings(**facts) if "noticed" not in finding.what]
    assert len(found) == 1
    assert (found[0].severity, "\n" in found[0].what) == (severity, False)
    assert what in found[0].what
    assert remedy in found[0].remedy


def test_the_gravest_comes_first_and_well_is_nothing() -> None:
    found = findings(ignored=1, read_only=True, pruning_paused="gone")
    assert [finding.severity for finding in found][:2] == ["error", "warning"]
    assert [finding for finding in findings() if finding.severity != "info"] == []


@pytest.mark.parametrize(
    ("copy", "original"),
    [
        ("a/plan (conflict 2026-11-21 14.03.55).md", "a/plan.md"),
        ("a/plan (conflict 2026-11-21 14.03.55 2).md", "a/plan.md"),
        ("plan (Ada's conflicted copy 2026-11-21).md", "plan.md"),
        ("plan (conflicted copy).md", "plan.md"),
        ("a.b/plan.sync-conflict-20261121-140355-ABCDEFG.md", "a.b/plan.md"),
        ("plan.md", None),
        ("conflict resolution (notes).md", None),
        ("how to solve a (conflict of interest).md", None),
        ("(conflict 2026-11-21 14.03.55)/plan.md", None),
    ],
)
def test_the_original_of_a_conflict_copy(copy: str, original: str | None) -> None:
    assert original_of(copy) == original


def test_a_conflict_copy_comes_with_the_very_commands() -> None:
    copy = "plan (conflict 2026-11-21 14.03.55).md"
    [found] = [f for f in findings(paths=[copy, "plan.md"]) if "noticed" not in f.what]
    words = shlex.split(found.remedy.replace(";", " ; "))
    assert words[words.index("diff") : words.index(";")] == ["diff", "/v/plan.md", f"/v/{copy}"]
    [alone] = [f for f in findings(paths=[copy]) if "noticed" not in f.what]
    assert "the original is gone: mv" in alone.remedy


@pytest.mark.anyio
class TestOverAnEngine:
    async def test_a_copy_of_a_lost_race_is_listed(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """What storage keeps of a save that met one of ours."""
        monkeypatch.setattr(FilesystemBackend, "settle", partialmethod(FilesystemBackend.settle, min_age_s=0))
        async with world.engine() as engine:
            note = await engine.append("Tea at four", kind="fact")
            with (world.root / note.path).open("r+b") as editor:
                await engine.forget(note.id)
                editor.write(b"--- saved through the old descriptor")
                editor.flush()
                await engine.sweep()  # finds the copy, and the next one indexes it
            await engine.sweep()
            [found] = [each for each in await engine.doctor() if "conflict copy" in each.what]
            assert f"another version of {note.path}" in found.what

    async def test_fix_makes_anew_what_is_derived_and_leaves_the_rest(self, world: World) -> None:
        async with world.engine() as engine:
            await engine.append("Tea at four", kind="fact")
            world.write("a.md", b"\xff")
            engine.report_state_fault("the disk was full")
            before = world.files()
            done = (await engine.perform("fix", {}))["done"]
            assert [line for line in done if line.startswith("rebuilt the index")]
            assert world.files() == before
            assert [finding.what for finding in await engine.doctor() if finding.fixable] == []
            assert any("a.md" in finding.what for finding in await engine.doctor())
            assert (await engine.perform("fix", {}))["done"] == []


@pytest.mark.anyio
async def test_a_memory_file_that_outgrew_the_session_start_is_named(world: World):
    world.write("MEMORY.md", "".join(f"- Rule {n}: the mill turns at its own pace.\n" for n in range(100)))
    async with world.engine() as engine:
        assert not [each for each in await engine.doctor() if "MEMORY.md" in each.what]
    world.write("MEMORY.md", "".join(f"- Rule {n}: the mill turns at its own pace.\n" for n in range(706)))
    async with world.engine() as engine:
        (found,) = [each for each in await engine.doctor() if "MEMORY.md" in each.what]
        told = (await engine.brief("s")).text
        assert found.severity == "warning"
        assert f"has 706 lines, and a session start has room for the first {told.count('- Rule')}:" in found.what


@pytest.mark.anyio
async def test_a_vault_that_may_not_be_looked_at_is_named_and_passes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = os.stat

    def refused(path: Any, *args: Any, **more: Any) -> os.stat_result:
        if str(path).startswith(f"{world.root}/"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return look(path, *args, **more)

    async with world.engine() as engine:
        await engine.append("The kettle is on.", kind="fact")
        with monkeypatch.context() as refusing:
            refusing.setattr(os, "stat", refused)
            with pytest.raises(StorageFailed, match="permission denied") as failed:
                await engine.append("The kettle is off.", kind="fact")
            assert "let the user that runs mcp-memory" in str(failed.value.hint)
            assert [hit.title for hit in (await engine.search("kettle")).hits] == ["The kettle is on."]
            assert await engine.perform("doctor", {})
        assert (await engine.append("The kettle is off.", kind="fact")).path
