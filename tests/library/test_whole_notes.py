"""Whole notes by the library: read, found, deleted, dumped and loaded; and the examples print their trees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mcp_memory import Memory
from mcp_memory.errors import InvalidInput, NotFound
from tests.daemon.place import CHECKOUT, Place


def test_notes_are_read_deleted_restored_dumped_and_loaded(vault: Path, tmp_path: Path) -> None:
    with Memory.open(vault) as memory:
        tea = memory.append("Green tea wants 80 degrees.", kind="fact", tags=["tea"], project="kitchen").id
        rail = memory.append("The night train leaves at six.", kind="decision").id
        log = memory.append("Bought a kettle.", kind="log").id
        assert memory.get(log).text.endswith("Bought a kettle.")
        note = memory.get(tea)
        assert note.text == "Green tea wants 80 degrees." and note.properties["tags"] == ["tea"] and note.id == tea
        assert {one.id for one in memory.get_all()} == {tea, rail}
        for wanted in ({"kinds": ["fact"]}, {"tags": ["tea"]}, {"project": "kitchen"}, {"path": "notes/fact"}):
            assert [one.id for one in memory.get_all(**wanted)] == [tea]
        (best,) = memory.find("night train", top_k=1)
        assert best.id == rail and best.score and best.text == "The night train leaves at six."
        assert len(memory.search("tea train", top_k=1).hits) == 1
        before = {path: path.read_bytes() for path in vault.rglob("*.md")}
        assert memory.dump(tmp_path / "all.jsonl") == len(before)
        with pytest.raises(InvalidInput, match="2 notes"):
            memory.delete_all()
        gone = memory.delete_all(confirm=True, kinds=["fact"])
        assert gone.deleted == [tea] and not gone.left and [one.id for one in memory.get_all()] == [rail]
        with pytest.raises(NotFound):
            memory.get("01ARZ3NDEKTSV4RRFFQ69G5FAV")
        assert memory.load(tmp_path / "all.jsonl") == {"restored": 1, "unchanged": len(before) - 1}
        assert memory.get(tea).text == "Green tea wants 80 degrees."
        memory.delete_all(confirm=True)
        assert memory.get_all() == [] and memory.load(tmp_path / "all.jsonl")["restored"] == 2
        assert {path: path.read_bytes() for path in vault.rglob("*.md")} == before
    with Memory.open(tmp_path / "copy") as memory:
        assert memory.load(tmp_path / "all.jsonl")["new"] >= 3
        assert memory.get(tea).text == "Green tea wants 80 degrees." and memory.get(log).text.endswith("kettle.")
        (tmp_path / "all.jsonl").write_text('{"path": "x.md"\n')
        with pytest.raises(InvalidInput, match="line 1"):
            memory.load(tmp_path / "all.jsonl")


@pytest.mark.with_model
@pytest.mark.parametrize(
    ("example", "printed"),
    [
        ("small_tree", ["Sourdough bread  (3)", "Telescope  (3)", "answer: Sourdough bread: bakes 45 minutes"]),
        (
            "deep_tree",
            ["shop, 9 notes, at the top", "blog, 6 notes, at the top", "Japan trip, 3 notes", "below topics/"],
        ),
    ],
)
def test_an_example_prints_its_tree(example: str, printed: list[str], place: Place) -> None:
    done = subprocess.run(
        [sys.executable, CHECKOUT / "configs" / "examples" / f"{example}.py"],
        env=place.environ, cwd=place.root, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert all(line in done.stdout for line in printed), done.stdout
