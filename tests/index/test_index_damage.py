"""I2: damage, foreign files, full disks and kills cost freshness, never truth."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from mcp_memory.errors import IndexReplaced, IndexUnavailable, McpMemoryError
from mcp_memory.index.base import Delete
from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from mcp_memory.index.vectors.store import quantise
from mcp_memory.models import Filters, NotePath
from tests.support.index_contract import DIMENSION, make_upsert, start, text_hash, texts_of, vector_of

NOTES = [make_upsert(f"{at}.md", [f"alpha {at}", f"beta {at}", "gamma delta"]) for at in range(60)]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    index = SqliteIndex(folder)
    start(index, NOTES)
    every_answer(index)
    index.close()
    assert sorted(path.name for path in folder.iterdir()) == ["index.db"]
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "index"))


def every_answer(index: SqliteIndex) -> list[object]:
    """A call of each reading verb."""
    rows = index.lexical(["alpha", "gamma"], 20, Filters())
    found = index.get([row.chunk_id for row in rows])
    sections = index.lexical(["beta"], 20, Filters(), by="section")
    dense = index.dense(vector_of("alpha 3"), 20, Filters())
    notes = index.notes(Filters())
    return [
        list(rows),
        found,
        list(sections),
        list(dense),
        notes,
        index.passages(NotePath("3.md")),
        index.frequencies(["alpha"]),
    ]


def damaged_copies(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if ".corrupt-" in path.name and path.name[-1].isdigit())


@pytest.mark.parametrize(
    "content",
    [b"not a database at all" * 100, b"SQLite format 3\0", b"\0" * 8192, b"x"],
    ids=["text", "header", "zeros", "byte"],
)
def test_a_file_that_is_no_database_is_moved_aside(folder: Path, content: bytes) -> None:
    (folder / "index.db").write_bytes(content)
    index = SqliteIndex(folder)
    assert index.generations() == []
    assert [problem.path for problem in index.problems] == ["index.db"]
    assert [path.read_bytes() for path in damaged_copies(folder)] == [content]
    start(index, NOTES[:2])
    assert len(index.lexical(["gamma"], 9, Filters())) == 6
    index.close()


def test_another_programs_database_is_moved_aside_whole(folder: Path) -> None:
    (folder / "index.db").unlink()
    with sqlite3.connect(folder / "index.db") as foreign:
        foreign.execute("CREATE TABLE precious (thing)")
    foreign.close()
    index = SqliteIndex(folder)
    assert index.generations() == [] and len(index.problems) == 1
    with sqlite3.connect(damaged_copies(folder)[0]) as kept:
        assert kept.execute("SELECT count(*) FROM precious").fetchone() == (0,)
    kept.close()
    index.close()


def test_another_schema_is_built_anew_without_a_fuss(folder: Path) -> None:
    with sqlite3.connect(folder / "index.db") as older:
        older.execute("PRAGMA user_version = 999")
    older.close()
    index = SqliteIndex(folder)
    assert (index.generations(), index.problems, damaged_copies(folder)) == ([], [], [])
    index.close()


def test_at_most_two_damaged_files_are_kept(folder: Path) -> None:
    for turn in range(4):
        (folder / "index.db").write_bytes(b"garbage %d" % turn * 100)
        SqliteIndex(folder).close()
    assert [path.read_bytes()[:9] for path in damaged_copies(folder)] == [b"garbage 2", b"garbage 3"]


def test_a_truncated_database_is_noticed_and_replaced(folder: Path) -> None:
    size = (folder / "index.db").stat().st_size
    for length in (4096, size // 2 // 4096 * 4096, size // 2 + 17, size - 5000):
        copy = shutil.copytree(folder, folder.with_name(f"cut-{length}"))
        os.truncate(copy / "index.db", length)
        index = SqliteIndex(copy)
        assert index.generations() == [], length
        assert len(index.problems) == 1
        start(index, NOTES[:1])
        assert texts_of(index, index.lexical(["beta"], 9, Filters()))
        index.close()


@pytest.mark.parametrize("blank", [b"\0" * 4096, b"\x0d\0\0\0\0\x10\0\0", b"\x0a\0\0\0\0\x10\0\0"])
def test_whichever_page_is_lost_a_check_notices(folder: Path, blank: bytes) -> None:
    """A page of zeros, or one that is valid and empty, of a table or an index."""
    index = SqliteIndex(folder)
    before = every_answer(index)
    index.close()
    pristine = (folder / "index.db").read_bytes()
    noticed = 0
    for start_of in range(4096, len(pristine), 4096):
        damaged = pristine[:start_of] + blank.ljust(4096, b"\0") + pristine[start_of + 4096 :]
        (folder / "index.db").write_bytes(damaged)
        index = SqliteIndex(folder)
        with suppress(IndexReplaced):
            index.check()
        noticed += bool(index.problems)
        assert index.problems or every_answer(index) == before, f"page {start_of // 4096 + 1}"
        index.close()
        for other in folder.iterdir():
            other.unlink()
    assert noticed > 10


def test_flipped_pages_never_crash_and_a_rebuild_always_works(folder: Path) -> None:
    """60 files with a page of noise or zeros, or one flipped byte: each call answers or is IndexUnavailable."""
    chance = random.Random(11)
    pristine = (folder / "index.db").read_bytes()
    pages = len(pristine) // 4096
    reset = 0
    for turn in range(60):
        data = bytearray(pristine)
        at = chance.randrange(pages) * 4096
        if turn % 3 == 2:
            data[at + chance.randrange(4096)] ^= 0xFF
        else:
            data[at : at + 4096] = chance.randbytes(4096) if turn % 3 else bytes(4096)
        victim = folder.with_name(f"flip-{turn}")
        victim.mkdir()
        (victim / "index.db").write_bytes(data)
        index = SqliteIndex(victim)
        for work in (
            every_answer,
            lambda index: index.apply(1, [*NOTES[:20], Delete(NotePath("40.md"))]),
            every_answer,
        ):
            with suppress(McpMemoryError):
                work(index)
        if index.problems:
            reset += 1
            assert index.generations() == []
            start(index, NOTES)
            assert len(index.lexical(["alpha"], 100, Filters())) == 100
        index.close()
        shutil.rmtree(victim)
    assert reset > 20, "the damage did something"


def test_damage_under_a_running_index_is_replaced_while_readers_read(folder: Path) -> None:
    index = SqliteIndex(folder)
    every_answer(index)
    with (folder / "index.db").open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom((folder / "index.db").stat().st_size - 4096))
    index.database.close_connections()  # what is cached in memory would hide the damage for a while
    unexpected: list[BaseException] = []

    def read() -> None:
        for _ in range(20):
            try:
                every_answer(index)
            except IndexUnavailable:
                pass
            except BaseException as error:
                unexpected.append(error)

    readers = [Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert unexpected == []
    assert len(index.problems) == 1 and len(damaged_copies(folder)) == 1
    token = index.watermark().token
    start(index, NOTES[:3])
    assert index.watermark().token > token
    assert len(index.lexical(["alpha"], 9, Filters())) == 9
    index.close()
    again = SqliteIndex(folder)
    assert again.watermark().notes == 3, "the new file's log was not taken away with the old one"
    again.close()


def test_vectors_of_another_database_are_never_mixed_in(folder: Path, tmp_path: Path) -> None:
    """A file that is ahead of its database, or another's, is thrown away before its numbers are used again."""
    index = SqliteIndex(folder)
    saved = {path.name: path.read_bytes() for path in folder.iterdir() if path.name == "index.db"}
    index.close()
    index = SqliteIndex(folder)
    start_over = [make_upsert(f"later/{at}.md", [f"later {at}"]) for at in range(50)]
    index.apply(1, start_over)
    waiting = index.missing_vectors(1, 100)
    index.put_vectors(1, [key for key, _ in waiting], np.stack([vector_of(text) for _, text in waiting]))
    index.dense(vector_of("later"), 5, Filters())
    index.close()
    # A power cut: the file has the last words, the database has not.
    (folder / "index.db").write_bytes(saved["index.db"])
    index = SqliteIndex(folder)
    index.apply(1, [make_upsert(f"other/{at}.md", [f"other {at}"]) for at in range(60)])
    waiting = index.missing_vectors(1, 100)
    index.put_vectors(1, [key for key, _ in waiting], np.stack([vector_of(text) for _, text in waiting]))
    rows = index.dense(vector_of("other 7"), 500, Filters())
    assert len(rows) == 180 + 60
    assert texts_of(index, rows)[:1] == ["other 7"]
    assert list(index.lexical(["later"], 500, Filters())) == []
    assert len(index.lexical(["other"], 500, Filters())) == 60
    for row, text in zip(rows, texts_of(index, rows), strict=True):
        assert row.score == pytest.approx(float(vector_of(text) @ vector_of("other 7")), abs=0.02)
    index.close()


def test_purge_leaves_no_byte_of_what_is_gone(folder: Path) -> None:
    index = SqliteIndex(folder)
    index.apply(1, [make_upsert("secret.md", ["the canary sings"])])
    index.put_vectors(1, [text_hash("the canary sings")], vector_of("the canary sings")[None])
    every_answer(index)
    vector = quantise(vector_of("the canary sings")[None], DIMENSION).tobytes()

    def traces() -> list[str]:
        return [path.name for path in folder.iterdir() for trace in (b"canary", vector) if trace in path.read_bytes()]

    assert traces()
    index.apply(1, [Delete(NotePath("secret.md"))])
    index.purge()
    assert traces() == []
    every_answer(index)
    index.close()
    assert traces() == []


def test_a_closed_index_says_so(folder: Path) -> None:
    index = SqliteIndex(folder)
    index.close()
    with pytest.raises(IndexUnavailable, match="closed"):
        index.lexical(["alpha"], 5, Filters())
    with pytest.raises(IndexUnavailable, match="closed"):
        index.apply(1, [])


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(IndexUnavailable):
        SqliteIndex(tmp_path / "file" / "index")
