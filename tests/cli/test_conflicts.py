"""Which of two notes holds, decided with keys and by scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.daemon.conftest import KEYWORDS_ONLY
from tests.daemon.place import Place
from tests.support.terminal import answered, typed


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, tmp_path / "models", KEYWORDS_ONLY).make()


def stored(place: Place, *arguments: str) -> str:
    return json.loads(place.run("append", *arguments, "--json").ok().out)["id"]


def opposed(place: Place) -> tuple[str, str]:
    old = stored(place, "-k", "fact", "The billing gateway listens on port 8087.")
    said = place.run("append", "-k", "fact", "The billing gateway listens on port 8090 now.").ok().out
    assert f"contradicts  8087 → 8090  {old[-6:]}\n  The billing gateway listens on port 8087.\n" in said
    return old, said.rpartition("review --keep ")[2].strip()


def test_scripts_list_and_decide(place: Place):
    with place.started():
        old, new = opposed(place)
        (listed,) = json.loads(place.run("conflicts", "--json").ok().out)["conflicts"]
        newer, older = listed["newer"], listed["older"]
        assert (older["id"], listed["why"]) == (old, "8087 → 8090") and newer["id"].endswith(new)
        (waiting,) = json.loads(place.run("review", "--json").ok().out)["waiting"]
        assert (waiting["id"], waiting["notes"]) == (listed["id"], [newer, older])
        assert [each["name"] for each in waiting["choices"]] == ["keep", "keep", "both"]
        assert "1 item waiting for your decision" in place.run("doctor").out
        assert "1 item waiting (mcp-memory review)" in place.run("status").ok().out
        for listing in (["review", "--conflicts"], ["review"]):
            shown = place.run(*listing).ok().out
            assert "8087 → 8090" in shown and "review --keep ID" in shown and "--accept" not in shown
        assert "8087 → 8090" in place.run("review", "--conflicts", "-p", "shop").ok().out
        kept = place.run("review", "--keep", new).ok().out
        assert (
            f"{old[-6:]}\nkept:  8087 → 8090" in kept and "retires  The billing gateway listens on port 8087." in kept
        )
        assert "1 change undone" in place.run("undo", new, "--yes").ok().out
        assert "both apply" in place.run("review", "--both", new.lower(), "--with", old[-6:].lower()).ok().out
        assert "no contradiction waits" in place.run("review", "--conflicts").ok().out
        assert place.run("review", "--keep", old).code == 4
        assert place.run("review", "--with", old).code == 2


def test_a_title_that_its_text_lacks_is_shown(place: Place):
    with place.started():
        stored(place, "-k", "fact", "--title", "Gateway port of billing", "The billing gateway listens on port 8087.")
        stored(place, "-k", "fact", "The billing gateway listens on port 8090 now.")
        listed = place.run("review", "--conflicts").ok().out
        assert "Gateway port of billing: The billing gateway listens on port 8087." in listed


def test_keys_decide_on_a_terminal(place: Place):
    with place.started():
        old, new = opposed(place)
        refused = answered(place, ["review", "--keep", new], ["\n"])
        assert refused.code == 130 and "retires  The billing gateway listens on port 8087." in refused.out
        assert "1 item left" in typed(place, "review --conflicts", "s")
        assert "1 item left" in typed(place, "review", "q")
        both = typed(place, "review", "?t")
        assert "o  keep older: the newer note is retired" in both and "both apply:  8087 → 8090" in both
        place.run("undo", new, "--yes").ok()
        shown = typed(place, "review --conflicts", "xn")
        assert "kept:  8087 → 8090" in shown and "0 items left" in shown
        assert old not in place.run("search", "billing gateway").ok().out


SAID = "From now on the bakery delivers bread to Malmö on Tuesdays."
COPY = "On Tuesdays the bakery delivers bread to Malmö."
FULLEST = f"{SAID} Petra drives the van."


def test_doubles_are_merged_with_a_key_or_by_a_script(place: Place):
    with place.started():
        said, copy, fullest = (stored(place, "-k", "fact", text) for text in (SAID, COPY, FULLEST))
        shown = " ".join(typed(place, "review", "k").split())
        assert f"say the same: keeps {fullest[-6:]}, supersedes" in shown
        assert shown.index(FULLEST) < shown.index(COPY) and "0 items left" in shown
        assert "2 changes undone" in place.run("undo", fullest, "--yes").ok().out
        assert "1 item waiting" in place.run("status").ok().out
        kept = place.run("review", "--keep", said, "--yes").ok().out
        assert [line.split()[-1] for line in kept.splitlines() if line.startswith("retires")] == [
            fullest[-6:], copy[-6:],
        ]  # fmt: skip
        assert place.run("review", "--keep", copy).code == 4
