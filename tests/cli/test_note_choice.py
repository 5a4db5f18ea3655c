"""A few words name a note where one has them; where several do, a person chooses and a script is told the ids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place
from tests.support.terminal import answered

NOTES = {"red": "The red buoy lies off the pier.", "green": "The green buoy lies off the quay."}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Place]:
    """A vault of its own: words must name no note of another test."""
    made = Place(tmp_path, tmp_path / "models", KEYWORDS_ONLY).make()
    with made.started():
        yield made


@pytest.fixture
def ids(served: Place) -> dict[str, str]:
    notes = {name: served.run("append", "--json", "-k", "fact", text).ok().json for name, text in NOTES.items()}
    notes["entry"] = served.run("append", "--json", "-k", "log", "Painted the bollard.").ok().json
    return {name: note["id"] for name, note in notes.items()}


def test_words_that_one_note_has_stand_for_it(served: Place, ids: dict[str, str]):
    assert served.run("show", "red", "buoy", "--json").ok().json["id"] == ids["red"]
    assert served.run("show", "QUAY buoy", "--json").ok().json["id"] == ids["green"]
    for words in (["red buoy"], [ids["red"][-6:].lower()], ["the", "buoy", "off", "the", "pier"]):
        assert served.run("forget", "--yes", *words, "--json").ok().json["id"] == ids["red"]
        assert served.run("restore", *words, "--json").ok().json["id"] == ids["red"]
    assert served.run("archive", "red", "buoy", "--json").ok().json["status"] == "archived"
    assert served.run("show", "red", "buoy", "--json").ok().json["id"] == ids["red"], "what is archived can be read"
    assert served.run("restore", "red", "buoy", "--json").ok().json["status"] == "active"
    edited = served.run("edit", "red", "buoy", "--json", stdin=b"The red buoy lies off the long pier.").ok().json
    assert (edited["id"], edited["outcome"]) == (ids["red"], "updated")
    assert served.run("mute", "red", "buoy", "--json").ok().json["id"] == ids["red"]
    assert served.run("mute", "--undo", "red buoy", "--json").ok().json["muted"] == []
    assert "this is deleted for good" in answered(served, ["erase", "red", "buoy"], ["n\n"]).out
    assert served.run("erase", "--yes", "red", "buoy").code == 4, "without a look, only what is named exactly"
    assert served.run("forget", "painted bollard", "--yes", "--json").ok().json["id"] == ids["entry"]


def test_a_script_is_told_which_notes_fit_and_nothing_is_done(served: Place, ids: dict[str, str]):
    ran = served.run("forget", "buoy")
    assert ran.code == 2
    assert "2 notes have the words 'buoy'" in ran.err
    lines = ran.err.splitlines()[2:]
    assert {line.rpartition("  ")[2] for line in lines} == {ids["red"][-6:], ids["green"][-6:]}
    assert served.run("edit", "buoy", stdin=b"x").code == 2
    as_json = served.run("show", "buoy", "--json")
    assert (as_json.code, as_json.json["code"]) == (2, "invalid_input")
    assert served.run("forget", "zebra").code == 4
    assert served.run("forget", "notes/fact/buoy.md").code == 4, "a path is a path"
    assert served.run("restore", "buoy").code == 4, "none is forgotten"
    for note in (ids["red"], ids["green"]):
        served.run("show", note).ok()


def test_words_that_stand_in_a_text_alone_name_no_note(served: Place, ids: dict[str, str]):
    text = "The crane is red.\n\nIts driver reads AGENTS.md before each lift."
    crane = served.run("append", "--json", "-k", "fact", text).ok().json["id"]
    ran = served.run("forget", "driver")
    assert ran.code == 2
    assert "one note has, in its text, the words 'driver'" in ran.err and crane[-6:] in ran.err
    assert "yes" not in answered(served, ["forget", "driver"], ["1\n"]).out
    served.run("restore", crane).ok()
    assert "README" not in served.run("forget", "AGENTS").err
    assert served.run("forget", "memory").code == 4, "the vault's README isn't a note"
    ran = served.run("forget", "crane", "is", "red")
    assert ran.code == 2 and "one note has the words 'crane is red'" in ran.err and crane[-6:] in ran.err
    assert "forgotten" not in answered(served, ["forget", "crane", "is", "red"], ["0\n"]).out
    assert "forgotten" in answered(served, ["forget", "crane", "is", "red"], ["1\n"]).out


def test_on_a_terminal_you_choose_by_number(served: Place, ids: dict[str, str]):
    ran = answered(served, ["forget", "buoy"], ["0\n"], COLUMNS="60")
    assert ran.code == 130
    assert "forgotten" not in ran.out
    rows = [line for line in ran.out.splitlines() if line.startswith("  ") and "buoy" in line]
    assert [row.split()[0] for row in rows] == ["1", "2"]
    assert all(len(row) <= 60 for row in rows)
    ran = answered(served, ["forget", "buoy"], ["7\n", "2\n"])
    assert ran.code == 0
    assert f"restore {rows[1].split()[-1]}" in ran.out
    for note in (ids["red"], ids["green"]):
        served.run("forget", note)  # one is forgotten already
    ran = answered(served, ["restore", "buoy"], ["1\n"], COLUMNS="60")
    assert "2 notes have the words 'buoy'" in ran.out
    assert "restored  notes/fact/the-" in ran.out
    assert [line for line in ran.out.splitlines() if len(line) > 60 and "): " not in line] == []
    served.run("restore", "buoy").ok()
    ran = answered(served, ["show", "lighthouse buoy"], ["1\n"])
    assert ran.code == 0
    assert "no note has the words 'lighthouse buoy'; the nearest are:" in ran.out
