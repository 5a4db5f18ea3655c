"""Commits of what the engine changes: which files, in which parts, under which names; behind the answer, and once."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from mcp_memory.commits.config import GitConfig
from mcp_memory.commits.feature import UncommittedFiles
from mcp_memory.models import NotePath
from mcp_memory.vault.config import VaultConfig
from tests.support.keyword_engine import KeywordEngine
from tests.support.topics import ALL_AT_ONCE, RAIL, TEA, told, topic_of
from tests.support.world import World, until

pytestmark = pytest.mark.anyio

T = TypeVar("T")

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


async def clean(engine: KeywordEngine) -> None:
    """When all is committed."""
    await until(engine, lambda status: status["git"]["waiting"] == 0)


async def test_each_kind_of_work_is_a_commit_of_its_own(repo: World) -> None:
    async def commits_of(work: Callable[[KeywordEngine], Awaitable[T]]) -> tuple[T, list[str]]:
        """What the work gives, and the commits that are made of it."""
        before = len(subjects(repo))
        async with repo.engine(git=AT_THE_END, topics=ALL_AT_ONCE) as engine:
            given = await work(engine)
        assert status(repo) == ""
        return given, subjects(repo)[before:]

    ids, said = await commits_of(lambda engine: told(engine, TEA + RAIL))
    assert said == ["memory: add 8 notes"]
    log, said = await commits_of(lambda engine: engine.append("Ada is in Vienna", kind="log"))
    assert said == ["memory: add 1 log entry"]
    _, said = await commits_of(lambda engine: engine.forget(log.id))
    assert said == ["memory: forget 1 log entry"]
    _, said = await commits_of(lambda engine: engine.forget(log.id, restore=True))
    assert said == ["memory: restore 1 log entry"]
    _, said = await commits_of(lambda engine: engine.compact())
    tea, rail = (topic_of(repo, word) for word in ("green-tea", "night-train"))
    names = sorted(folder.removeprefix("topics/") for folder in (tea, rail))
    assert said == [f"memory: compact 4 notes into {name}/" for name in names]
    for number, name in enumerate(names):
        folders = {path.rpartition("/")[0] for path in held(repo, f"HEAD~{1 - number}")}
        assert folders - {"topics"} == {"topics/_fresh", f"topics/{name}"}
    assert "topics/_index.md" in held(repo)
    note, said = await commits_of(lambda engine: engine.forget(ids[0]))
    assert (said, held(repo)) == ([f"memory: forget note {note.path}"], {note.path})
    _, said = await commits_of(lambda engine: engine.compact())
    assert (said, held(repo)) == (
        [f"memory: re-summarise {tea.removeprefix('topics/')}/"],
        {f"{tea}/_summary.md", "topics/_index.md"},
    )
    _, said = await commits_of(lambda engine: engine.forget(ids[0], restore=True))
    assert said == [f"memory: restore note {note.path}"]
    old, said = await commits_of(lambda engine: engine.append("Trains are late", kind="fact"))
    marked = f"memory: re-summarise {tea.removeprefix('topics/')}/"
    assert said == ["memory: add note notes/fact/trains-are-late.md", marked], "the page is out of date, and says so"
    _, said = await commits_of(lambda engine: engine.append("Trains are on time", kind="fact", supersedes=old.id))
    assert said == [
        "memory: add note notes/fact/trains-are-on-time.md",
        "memory: update note notes/fact/trains-are-late.md",
    ]
    _, said = await commits_of(lambda engine: engine.perform("erase", {"target": old.id, "sure": True}))
    assert (said, held(repo)) == (["memory: erase note notes/fact/trains-are-late.md"], {old.path})
    _, said = await commits_of(lambda engine: engine.compact())

    async def undone(engine: KeywordEngine) -> None:
        for run in reversed(await engine.runs()):
            await engine.undo_run(run)

    _, said = await commits_of(undone)
    assert said[-1] == "memory: move 8 notes to topics/_fresh/"
    assert len({path for path in held(repo) if path.endswith(".md")}) >= 16, "from where they were to where they are"


async def test_a_topic_that_is_shared_with_a_session_is_a_commit(repo: World) -> None:
    async def share(**rest: bool) -> None:
        async with repo.engine(git=AT_THE_END, topics=ALL_AT_ONCE) as engine:
            await engine.perform("grants", {"topic": topic_of(repo, "green-tea"), "session": "chat-7", **rest})

    async with repo.engine(git=AT_THE_END, topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        await engine.compact()
    tea = topic_of(repo, "green-tea").removeprefix("topics/")
    await share()
    assert (subjects(repo)[-1], held(repo)) == (f"memory: share {tea} with chat-7", {"_sessions.json"})
    await share(revoke=True)
    assert (subjects(repo)[-1], held(repo)) == (f"memory: stop sharing {tea} with chat-7", {"_sessions.json"})
    assert status(repo) == ""


async def test_new_notes_that_are_filed_before_any_commit_and_topics_within_a_topic(repo: World) -> None:
    near = replace(ALL_AT_ONCE, topic_cosine=0, condensed_min_fanout=2)
    async with repo.engine(git=AT_THE_END, topics=near) as engine:
        await told(engine, TEA + RAIL)
        await engine.compact()
    (top,) = {path.split("/")[1] for path in held(repo) if path.startswith("topics/")} - {"_index.md"}
    assert subjects(repo) == [f"memory: compact 8 notes into {top}/"]
    assert len(held(repo)) == 8 + 3 + 1, "and their pages, and the map"
    assert status(repo) == ""


async def test_appends_of_a_moment_are_one_commit_and_a_person_keeps_theirs(repo: World) -> None:
    repo.write("mine.md", "My own.")
    repo.write("notes/fact/hand.md", "Written by hand.")
    async with repo.engine(git=AT_THE_END) as engine:
        receipts = [await engine.append(text, kind="fact") for text in ("one", "two", "three")]
        assert subjects(repo) == []
        repo.write(receipts[0].path, repo.read(receipts[0].path) + b"\nAnd this is from a person.\n")
    assert subjects(repo) == ["memory: add 3 notes"]
    assert held(repo) == {receipt.path for receipt in receipts}
    assert "from a person" in git(repo, "show", f"HEAD:{receipts[0].path}"), "a file is committed as it is"
    assert status(repo) == "?? mine.md\n?? notes/fact/hand.md\n"


async def test_it_waits_for_a_person_says_so_and_goes_on(repo: World) -> None:
    async with repo.engine(git=QUICK) as engine:
        (repo.root / ".git" / "MERGE_HEAD").write_text(git(repo, "rev-parse", "HEAD"))
        receipt = await engine.append("one", kind="fact")
        assert receipt.outcome == "created"
        await until(engine, lambda status: status["git"]["why"])
        facts = await engine.status()
        assert facts["git"]["waiting"] == 1
        assert facts["git"]["why"] == f"a merge is in progress in {repo.root}"
        assert facts["problems"] == 0
        (finding,) = [each for each in await engine.doctor() if "committed" in each.what]
        assert finding.what == f"1 file is not committed yet: a merge is in progress in {repo.root}"
        assert (finding.severity, finding.remedy) == ("info", "nothing to do: your notes are committed afterwards")
        assert subjects(repo) == []
        (repo.root / ".git" / "MERGE_HEAD").unlink()
        await clean(engine)
        assert (await engine.status())["git"]["why"] is None
    assert subjects(repo) == ["memory: add note notes/fact/one.md"]


async def test_what_is_staged_or_holds_a_secret_waits_and_the_rest_does_not(
    repo: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("MOST_FILES", 1), ("FIRST_RETRY_S", 0.2), ("LAST_RETRY_S", 0.2)):
        monkeypatch.setattr(f"mcp_memory.commits.feature.{name}", value)
    async with repo.engine(git=AT_THE_END) as engine:
        key, staged, free = [await engine.append(text, kind="fact") for text in ("a key", "staged", "the rest")]
        written = repo.read(key.path)
        repo.write(key.path, written + f"ghp_{'a1B2c3D4e5F6g7H8i9J0' * 2}"[:40].encode() + b"\n")
        git(repo, "add", staged.path)
        repo.write(staged.path, repo.read(staged.path) + b"And more.\n")
    assert subjects(repo) == [f"memory: add note {free.path}"], "of more files than one attempt takes"
    async with repo.engine(git=QUICK) as engine:
        await until(engine, lambda status: status["git"]["why"])
        (finding,) = [each for each in await engine.doctor() if "committed" in each.what]
        assert finding.what.startswith(f"2 files are not committed yet: {key.path} seems to hold a secret (GitHub")
        assert finding.remedy == 'take it out, or set vault.secrets = "allow"'
        repo.write(key.path, written)
        await until(engine, lambda status: status["git"]["passes"])
        facts = (await engine.status())["git"]
        assert (facts["waiting"], facts["why"]) == (1, f"{staged.path} is staged, in another version")
        git(repo, "commit", "-q", "-m", "theirs")
        await clean(engine)
    assert status(repo) == ""
    assert "And more." in git(repo, "show", f"HEAD:{staged.path}")


async def test_a_secret_that_is_allowed(repo: World) -> None:
    async with repo.engine(git=AT_THE_END, vault=VaultConfig(secrets="allow")) as engine:
        await engine.append(f"ghp_{'a1B2c3D4e5F6g7H8i9J0' * 2}"[:40], kind="fact")
    assert (len(subjects(repo)), status(repo)) == (1, "")


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
    assert not (repo.state / "uncommitted").read_bytes()


async def test_off_unless_wanted_and_no_error_without_a_repository(repo: World) -> None:
    async with repo.engine() as engine:
        await engine.append("one", kind="fact")
        assert (await engine.status())["git"] is None
    assert subjects(repo) == []
    shutil.rmtree(repo.root / ".git")
    async with repo.engine(git=QUICK) as engine:
        assert (await engine.append("two", kind="fact")).outcome == "created"
        await until(engine, lambda status: status["git"]["why"])
        facts = (await engine.status())["git"]
        assert facts["why"] == f"{repo.root} is not in a git repository" and "git init" in facts["remedy"]


async def test_a_change_during_a_commit_is_not_lost(tmp_path: Path) -> None:
    pending = UncommittedFiles(tmp_path / "uncommitted")
    pending.add(NotePath("a.md"))
    pending.add(NotePath("b.md"))
    done = pending.snapshot()
    pending.add(NotePath("a.md"))
    pending.settle(done)
    assert list(pending.snapshot()) == ["a.md"]
    assert list(UncommittedFiles(tmp_path / "uncommitted").snapshot()) == ["a.md"]
