"""Whole notes by the library: read, found, deleted, dumped and loaded; and the examples print their trees."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
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


@pytest.mark.with_model
def test_statements_and_what_is_stored_of_them_do_not_depend_on_when_the_model_is_loaded(place: Place) -> None:
    chat = [{"role": "user", "content": text} for text in ("Never put salt on the yeast.", "I prefer bills by e-mail.")]
    with Memory.open(place.vault) as memory:
        early = memory.extract_statements(chat)
        memory.settled()
        assert len(early) == 2 and memory.extract_statements(chat) == early


def test_a_statement_of_another_kind_is_not_stored_twice(vault: Path) -> None:
    with Memory.open(vault) as memory:
        (statement,) = memory.extract_statements(CHAT)
        kept = memory.add(statement)
        assert memory.add(replace(statement, kind="preference")).id == kept.id
        assert memory.append(statement.content, kind="preference").id != kept.id, "a note may be stored as both"


GUIDE = CHECKOUT / "mcp_memory/guide/library.md"
CHAT = [
    {"role": "user", "content": "We decided to drop RabbitMQ and use Postgres queues."},
    {"role": "assistant", "content": "Fine, I'll remove the broker."},
]


def test_each_verb_of_the_table_for_those_who_come_from_memos(vault: Path, tmp_path: Path) -> None:
    rows = [line.split("|") for line in GUIDE.read_text().partition("MemOS")[2].splitlines() if line.count("|") == 3]
    promised = {verb for row in rows for verb in re.findall(r"`(\w+)", row[2])}
    used: set[str] = set()

    class Recorded(Memory):
        def __getattribute__(self, name: str) -> object:
            used.add(name)
            return super().__getattribute__(name)

    with Recorded.open(vault, embedder__provider="none") as memory:
        (chunk,), (statement,) = memory.extract(CHAT), memory.extract_statements(CHAT, session="chat-1")
        assert (statement.kind, statement.session) == ("decision", "chat-1")
        kept, decided = memory.add(chunk), memory.add(statement)
        assert memory.add(statement).id == decided.id
        note = memory.append("The queue lives in Postgres 16.", kind="fact")
        memory.update(note.id, "The queue lives in Postgres 17.")
        assert memory.get(note.id).text == "The queue lives in Postgres 17."
        assert memory.find("which Postgres has the queue", top_k=1)[0].id in {note.id, decided.id}
        assert memory.search("queue").hits
        assert memory.compact().run
        assert isinstance(memory.tree(), list)
        assert isinstance(memory.tree_index(), str)
        everything = {one.id: one.text for one in memory.get_all()}
        assert everything.keys() == {kept.id, decided.id, note.id}
        memory.dump(tmp_path / "all.jsonl")
        memory.delete(note.id)
        memory.delete_all(confirm=True)
        assert not memory.get_all()
        memory.load(tmp_path / "all.jsonl")
        assert len(memory.drop(tmp_path / "dropped.jsonl").deleted) == 3
        assert not memory.get_all()
        assert memory.load(tmp_path / "dropped.jsonl") == {"restored": 3}
        assert {one.id: one.text for one in memory.get_all()} == everything
    assert len(promised) >= 15
    assert promised <= used, promised - used
