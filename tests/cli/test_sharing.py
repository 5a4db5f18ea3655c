"""changes with commits, and share, from the command line, also where there is nothing to show."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place, eventually
from tests.support.topics import BREAD, SETTINGS

AUTO = {**KEYWORDS_ONLY, **SETTINGS, "MCP_MEMORY_GIT_AUTO_COMMIT": "true", "MCP_MEMORY_GIT_QUIET_S": "0.05"}


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Place]:
    """A daemon over a vault in a git repository."""
    if not shutil.which("git"):
        pytest.skip("there is no git here")
    place = Place(tmp_path, tmp_path / "models", AUTO).make()
    place.vault.mkdir()
    git(place, "init", "-q")
    with place.started():
        yield place


def git(place: Place, *arguments: str) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": str(place.home)}
    return subprocess.run(
        ["git", *arguments], cwd=place.vault, env=environ, check=True, capture_output=True, text=True
    ).stdout


def test_a_session_its_history_and_a_topic_shared(kept: Place, tmp_path: Path):
    note = kept.run("append", "--json", "-k", "fact", BREAD[0]).ok().json
    eventually(lambda: kept.run("status", "--json").ok().json["git"]["waiting"] == 0)
    assert git(kept, "log", "-1", "--format=%s") == f"memory: add note {note['path']}\n"
    assert "git       everything is committed, most recently " in kept.run("status").ok().out
    kept.run("forget", note["id"]).ok()
    eventually(lambda: kept.run("status", "--json").ok().json["git"]["waiting"] == 0)
    kept.run("restore", note["id"]).ok()
    told = kept.run("changes", note["path"]).ok().out
    assert kept.run("changes", *BREAD[0].split()[:4]).ok().out.endswith(told), "a few words name it, too"
    assert "  forgotten " in told and "  stored " in told
    for unknown in "../x.md", "01M7Z3HPR77M1K414E2NKABTV4":
        assert kept.run("changes", unknown).code == 4

    # Sharing, with the same daemon and, at last, without one.
    topic = kept.vault / "topics" / "01-bread"
    topic.mkdir(parents=True)
    for number, text in enumerate(BREAD):
        (topic / f"{number}.md").write_text(
            f"{text}\n\nSee [the oven](../../oven.md) and [another](./{1 - number}.md).\n"
        )
    kept.run("doctor", "--reindex").ok()
    to = tmp_path / "shared" / "bread"
    dry = kept.run("share", "01-bread", "--to", str(to), "--dry-run").ok().out
    assert dry.splitlines()[-1].startswith(f"would share topics/01-bread with {to}: 3 new, 4 links")
    assert not to.exists()
    told = kept.run("share", "topics/01-bread", "--to", str(to)).ok().out
    assert (
        told.splitlines()[-1]
        == f"shared topics/01-bread with {to}: 3 new, 4 links out of the topic made into plain text"
    )
    assert (to / "1.md").read_text() == f"{BREAD[1]}\n\nSee the oven and [another](./0.md).\n"
    (to / "1.md").write_text("mine")
    for command, code, said in (
        (["01-bread", "--to", str(kept.vault / "x")], 1, "in one another"),
        (["02-none", "--to", str(to)], 4, "no topic"),
    ):
        ran = kept.run("share", *command)
        assert (ran.code, said in ran.err) == (code, True), ran
    kept.run("stop").ok()
    (topic / "0.md").write_text("Other bread.\n")
    (topic / "2.md").unlink()
    again = kept.run("share", "01-bread", "--to", str(to), "--json").ok().json
    assert again["files"] == {"0.md": "updated", "1.md": "kept", "2.md": "removed"}
    assert again["links_cut"] == 1
