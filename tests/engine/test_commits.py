"""Commits of what the engine changes: which files, in which parts, under which names; behind the answer, and once."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mcp_memory.engine.doctor import examine
from mcp_memory.engine.engine import Engine
from mcp_memory.engine.versioning.config import GitConfig
from mcp_memory.engine.versioning.pending import Pending
from mcp_memory.models import NotePath

from .test_compaction import ALL_AT_ONCE, RAIL, TEA, told, topic_of
from .world import World, eventually

pytestmark = pytest.mark.anyio

QUICK = GitConfig(auto_commit=True, quiet_s=0.05)
AT_THE_END = GitConfig(auto_commit=True, quiet_s=3600)
"""Nothing is committed before the engine is closed."""


@pytest.fixture
def repo(toy_world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A vault in a person's repository."""
    if not shutil.which("git"):
        pytest.skip("there is no git here")
    monkeypatch.setenv("HOME", str(toy_world.root.parent))
    toy_world.with_home("")
    git(toy_world, "init", "-q", "-b", "main")
    git(toy_world, "add", "-A")
    git(toy_world, "commit", "-q", "-m", "mine")
    return toy_world


def git(world: World, *arguments: str) -> str:
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *arguments]
    environ = {"PATH": os.environ["PATH"], "HOME": str(world.root.parent)}
    return subprocess.run(command, cwd=world.root, env=environ, check=True, capture_output=True, text=True).stdout


def subjects(world: World) -> list[str]:
    """Of the engine's commits, oldest first."""
    return git(world, "log", "--reverse", "--format=%s").splitlines()[1:]


def held(world: World, commit: str = "HEAD") -> set[str]:
    return set(git(world, "show", "--format=", "--name-only", "--no-renames", commit).split())


def status(world: World) -> str:
    """Without what our storage holds for a moment, should somebody still be writing to it."""
    lines = git(world, "status", "--porcelain", "--untracked-files=all").splitlines(keepends=True)
    return "".join(line for line in lines if not line.endswith(".mcpm\n"))


async def clean(engine: Engine) -> None:
    """When all is committed."""
    assert engine.health.commits
    await eventually(lambda: engine.health.commits().waiting == 0)


async def test_each_kind_of_work_is_a_commit_of_its_own(repo: World) -> None:
    async with repo.engine(git=QUICK, topics=ALL_AT_ONCE) as engine:
        (first, *_) = await told(engine, TEA + RAIL)
        await clean(engine)
        await engine.append("Ada is in Vienna", kind="log")
        await clean(engine)
        await engine.compactor.run()
        await clean(engine)
        tea, rail = (topic_of(repo, word) for word in ("green-tea", "night-train"))
        assert held(repo) | held(repo, "HEAD~1") >= {f"{tea}/_summary.md", f"{rail}/_summary.md"}
        note = await engine.forget(first)
        await clean(engine)
        assert held(repo) == {note.path}
        await engine.compactor.run()
        await clean(engine)
        assert held(repo) == {f"{tea}/_summary.md"}
        await engine.forget(first, restore=True)
        await clean(engine)
        assert held(repo) == {note.path}
        old = (await engine.append("Trains are late", kind="fact")).id
        await clean(engine)
        await engine.append("Trains are on time", kind="fact", supersedes=old)
        await clean(engine)
        await engine.erase(old, sure=True)
        await clean(engine)
        assert held(repo) == {"notes/fact/trains-are-late.md"}
    said = [subject for subject in subjects(repo) if not subject.endswith("memory: begin a vault")]
    wanted = [
        "memory: add 1 log entry",
        f"memory: compact 4 leaves into {tea.removeprefix('topics/')}/",
        f"memory: compact 4 leaves into {rail.removeprefix('topics/')}/",
        f"memory: forget leaf {note.path}",
        f"memory: re-summarise {tea.removeprefix('topics/')}/",
        f"memory: restore leaf {note.path}",
        "memory: add leaf notes/fact/trains-are-late.md",
        "memory: add leaf notes/fact/trains-are-on-time.md",
        "memory: update leaf notes/fact/trains-are-late.md",
        "memory: erase leaf notes/fact/trains-are-late.md",
    ]
    leaves = [int(s.split()[2]) if s.endswith("leaves") else 1 for s in said[: said.index(wanted[0])]]
    assert sum(leaves) == 8, "appends that follow one another may share a commit"
    assert sorted(said[len(leaves) :]) == sorted(wanted)
    assert status(repo) == ""


async def test_a_run_taken_back_and_topics_in_topics(repo: World) -> None:
    async with repo.engine(git=QUICK, topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        await clean(engine)
        report = await engine.compactor.run()
        await clean(engine)
        await engine.compactor.undo(report.run)
        await clean(engine)
        assert subjects(repo)[-1] == "memory: move 4 leaves to topics/_fresh/"
        assert len(held(repo)) == 9, "four notes from one place to another, and the page that goes"
    assert status(repo) == ""


async def test_appends_of_a_moment_are_one_commit_and_a_person_keeps_theirs(repo: World) -> None:
    repo.write("mine.md", "My own.")
    repo.write("notes/fact/hand.md", "Written by hand.")
    async with repo.engine(git=AT_THE_END) as engine:
        receipts = [await engine.append(text, kind="fact") for text in ("one", "two", "three")]
        assert subjects(repo) == []
        repo.write(receipts[0].path, repo.read(receipts[0].path) + b"\nAnd this is from a person.\n")
    assert subjects(repo) == ["memory: add 3 leaves"]
    assert held(repo) == {receipt.path for receipt in receipts}
    assert "from a person" in git(repo, "show", f"HEAD:{receipts[0].path}"), "a file is committed as it is"
    assert status(repo) == "?? mine.md\n?? notes/fact/hand.md\n"


async def test_log_entries_forgotten_and_restored(repo: World) -> None:
    async with repo.engine(git=QUICK) as engine:
        first = await engine.append("Ada is in Vienna", kind="log")
        await engine.append("Ada is in Graz", kind="log")
        await clean(engine)
        await engine.forget(first.id)
        await clean(engine)
        await engine.forget(first.id, restore=True)
        await clean(engine)
    assert subjects(repo)[-2:] == ["memory: forget 1 log entry", "memory: restore 1 log entry"]


async def test_it_waits_for_a_person_says_so_and_goes_on(repo: World) -> None:
    async with repo.engine(git=QUICK) as engine:
        (repo.root / ".git" / "MERGE_HEAD").write_text(git(repo, "rev-parse", "HEAD"))
        receipt = await engine.append("one", kind="fact")
        assert receipt.outcome == "created"
        await eventually(lambda: engine.health.commits().why)
        facts = engine.upkeep.status()
        assert facts["git"]["waiting"] == 1
        assert facts["git"]["why"] == f"a merge is in progress in {repo.root}"
        assert facts["problems"] == 0
        (finding,) = [each for each in examine(engine) if "committed" in each.what]
        assert finding.what == f"1 file is not committed yet: a merge is in progress in {repo.root}"
        assert (subjects(repo), finding.remedy) == ([], "nothing to do: it is committed afterwards")
        (repo.root / ".git" / "MERGE_HEAD").unlink()
        await clean(engine)
        assert engine.upkeep.status()["git"]["why"] is None
    assert subjects(repo) == ["memory: add leaf notes/fact/one.md"]


async def test_what_a_crash_left_is_committed_at_the_next_start(repo: World) -> None:
    (repo.root / ".git" / "MERGE_HEAD").write_text(git(repo, "rev-parse", "HEAD"))
    async with repo.engine(git=AT_THE_END) as engine:
        receipt = await engine.append("one", kind="fact")
        assert str(receipt.path) in (repo.state / "uncommitted").read_text(), "before the answer"
    assert subjects(repo) == []
    with (repo.state / "uncommitted").open("a") as torn:
        torn.write('"notes/fact/ha')
    (repo.root / ".git" / "MERGE_HEAD").unlink()
    repo.write("notes/fact/hand.md", "Written by hand.")
    async with repo.engine(git=QUICK) as engine:
        await clean(engine)
    assert held(repo) == {receipt.path}
    assert not (repo.state / "uncommitted").exists()


async def test_off_unless_wanted_and_no_error_without_a_repository(repo: World) -> None:
    async with repo.engine() as engine:
        await engine.append("one", kind="fact")
        assert engine.upkeep.status()["git"] is None
    assert subjects(repo) == []
    shutil.rmtree(repo.root / ".git")
    async with repo.engine(git=QUICK) as engine:
        assert (await engine.append("two", kind="fact")).outcome == "created"
        await eventually(lambda: engine.health.commits().why)
        assert engine.health.commits().why == f"{repo.root} is in no git repository"
        assert "git init" in engine.health.commits().remedy


async def test_a_change_during_a_commit_is_not_lost(tmp_path: Path) -> None:
    pending = Pending(tmp_path / "uncommitted")
    pending.add(NotePath("a.md"))
    pending.add(NotePath("b.md"))
    done = pending.snapshot()
    pending.add(NotePath("a.md"))
    pending.settle(done)
    assert list(pending.snapshot()) == ["a.md"]
    assert list(Pending(tmp_path / "uncommitted").snapshot()) == ["a.md"]


async def test_a_full_disk_is_no_reason_to_refuse_a_note(tmp_path: Path) -> None:
    pending = Pending(tmp_path / "a-file" / "uncommitted")
    (tmp_path / "a-file").touch()
    pending.add(NotePath("a.md"))
    assert len(pending) == 1
