"""Links on the command line: what a note hangs together with, what is broken, and the repair."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place
from tests.support.terminal import answered


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, tmp_path / "models", KEYWORDS_ONLY).make()


def test_what_a_rename_broke_is_shown_repaired_and_taken_back(place: Place):
    with place.started():
        port = json.loads(place.run("append", "-k", "fact", "--title", "A port", "8080", "--json").ok().out)["path"]
        place.run("append", "-k", "decision", "--title", "Why", "- because: [[a-port]]").ok()
        (place.vault / "mine.md").write_text("See [it](notes/fact/a-port.md)\n")
        place.run("doctor", "--reindex").ok()
        shown = place.run("links", port).ok().out
        assert "linked from 2 (link 1, because 1):" in shown and "← because  Why " in shown
        (place.vault / port).rename(place.vault / "notes/fact/the-port.md")
        place.run("doctor", "--reindex").ok()
        assert "→ because  a-port broken" in place.run("links", "notes/decision/why.md").ok().out
        assert "2 links lead nowhere" in place.run("links", "--check").ok().out
        fixed = place.run("links", "--repair").ok().out
        assert "1 link repaired" in fixed and "a personal note: pass --personal" in fixed
        assert "change 1 link?" in answered(place, ["links", "--repair", "--personal"], ["n\n"]).out
        assert "fact/a-port.md" in (place.vault / "mine.md").read_text()
        assert place.run("links", "--repair", "--personal", "--json").code == 2, "a script has to say --yes"
        assert place.run("links", "--check", "--personal").code == 2
        done = json.loads(place.run("links", "--repair", "--personal", "--yes", "--json").ok().out)
        assert done["repaired"] == 1 and "fact/the-port.md" in (place.vault / "mine.md").read_text()
        place.run("undo", done["run"], "--yes").ok()
        assert "fact/a-port.md" in (place.vault / "mine.md").read_text()
        assert place.run("links", "no such note").code == 4
