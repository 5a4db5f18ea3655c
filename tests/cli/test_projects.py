"""projects: lists the projects and their repositories, merges and splits them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.daemon.place import Place
from tests.support.repositories import repository

ORIGIN = "git@github.com:umbra/kiln-room.git"


def test_projects_are_listed_merged_and_split(served: Place, tmp_path: Path) -> None:
    def inside(folder: Path) -> Place:
        return Place(folder, served.models, served.environ)

    mine = inside(repository(tmp_path / "ada" / "kiln-room", "git@github.com:ada/kiln-room", upstream=ORIGIN))
    theirs = inside(repository(tmp_path / "kiln-room", ORIGIN))
    clone = inside(repository(tmp_path / "kiln-review", ORIGIN))
    theirs.run("append", "-k", "fact", "The kiln room has 7 shelves.").ok()
    assert "7 shelves" in clone.run("search", "kiln shelves").ok().out
    assert "7 shelves" not in mine.run("search", "kiln shelves").ok().out
    listed = served.run("projects").ok().out
    assert "kiln-room  1 note\n  from github.com/umbra/kiln-room\n" in listed
    assert "kiln-room (ada) is a fork of kiln-room: are they one project?" in listed
    assert "mcp-memory projects merge 'kiln-room (ada)' kiln-room" in listed
    found = served.run("projects", "--json").ok().json
    assert {"kiln-room", "kiln-room (ada)"} <= {one["label"] for one in found["projects"]}
    assert "also called kiln-room (ada)" in served.run("projects", "merge", "kiln-room (ada)", "kiln-room").ok().out
    assert "7 shelves" in mine.run("search", "kiln shelves").ok().out
    assert clone.run("projects", "split", "kiln-room", ".").ok().out.startswith("kiln-review\n")
    assert "7 shelves" not in clone.run("search", "kiln shelves").ok().out
    for wrong, code in ((("merge", "kiln-room"), 2), (("split", "nope", "."), 4), (("merge", "nope", "kiln-room"), 4)):
        assert clone.run("projects", *wrong).code == code


def test_a_search_in_a_repository_imports_no_slow_module_that_it_does_not_need(served: Place):
    at = repository(served.root / "quick")
    program = "import json, sys; from mcp_memory.cli import main; main(); print(json.dumps([*sys.modules]))"
    asked = [sys.executable, "-c", program, "search", "kiln"]
    done = subprocess.run(asked, env=served.environ, cwd=at, capture_output=True, text=True, timeout=60)
    assert "project: quick" in done.stderr
    slow = {"ulid", "dateparser", "mcp_memory.text.dates.spoken", "mcp_memory.core.requests"}
    assert slow.isdisjoint(json.loads(done.stdout.splitlines()[-1]))
