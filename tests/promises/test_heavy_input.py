"""Heavy bad input never makes others wait: whatever a file, a model or a disk does, the others are answered."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest

from mcp_memory.embedders import guards
from mcp_memory.errors import EmbedderUnavailable
from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from mcp_memory.indexing.index_rows import BATCH_CHUNKS
from mcp_memory.indexing.rebuild import TRIES
from mcp_memory.search import embedder_lifecycle as models
from mcp_memory.search import retrievers, searcher
from mcp_memory.text.chunking import chunker
from mcp_memory.vault.config import VaultConfig
from mcp_memory.vault.journals.ledger import Ledger, LedgerEntry
from tests.daemon.place import Place
from tests.daemon.wire import Wire
from tests.support.toy import OPENING
from tests.support.world import EXHAUSTIVE, World, embedded, eventually, found, python, until

pytestmark = pytest.mark.anyio

WORDS = "violet words stand here and there"

NOTES = 100
"""Of 30 passages each, which makes a dozen batches."""


# -- heavy notes -----------------------------------------------------------------------------------------------------

HEAVY: dict[str, Callable[[], str]] = {
    "headings": lambda: "".join(f"# heading{n} violet\n" for n in range(100_000)),
    "large": lambda: "firstword\n\n" + f"{WORDS}\n\n" * 1_430_000,
    "line": lambda: "firstword " + "violet word " * 850_000,
    "table": lambda: "| a | b |\n|---|---|\n" + "".join(f"| cell{n} | other{n} |\n" for n in range(100_000)),
    "lists": lambda: "".join("  " * min(n, 1000) + f"- item{n}\n" for n in range(4000)),
    "quotes": lambda: "".join(">" * min(n, 2000) + f" quote{n}\n" for n in range(4000)),
    "bullets": lambda: "- firstword\n" + "- b\n" * 1_000_000,
    "marks": lambda: "# \u0301" + "e\u0301" * 1_000_000,
    "memory/2026-11-20": lambda: (
        "# 2026-11-20\n" + "".join(f"## 10:{n % 60:02} t\n- entry{n}\n" for n in range(60_000))
    ),
}
SHAPES = HEAVY if EXHAUSTIVE else {name: HEAVY[name] for name in ("large", "table", "marks", "memory/2026-11-20")}
MEMORY_MB = 160
"""What a whole round over all of them may add: a file of 8 MB is read and decoded before it is cut."""

INDEX_HEAVY = """
import sys
from pathlib import Path
import anyio
from tests.support.world import World, found, index_of

def peak_kb():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))

async def main(world):
    async with world.engine() as engine:
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now on
        before = peak_kb()
        for file in sorted((world.root.parent / "heavy").rglob("*.md")):
            target = world.root / file.relative_to(world.root.parent / "heavy")
            target.parent.mkdir(exist_ok=True)
            target.hardlink_to(file)
            await engine.sweep()
            path = target.relative_to(world.root)
            with index_of(engine) as index:
                print(path, len(index.passages(str(path))), flush=True)
        problems = set(await engine.problems())
        print("problems", *sorted(problems))
        print("found", *(await found(engine, "plain")))
        print("grown", (peak_kb() - before) // 1024)

folder = Path(sys.argv[1])
anyio.run(main, World(folder / "vault", folder / "state", folder / "models"))
"""


def test_heavy_notes_are_indexed_up_to_the_limit_in_bounded_memory(world: World) -> None:
    world.with_home("")
    for number in range(20):
        world.write(f"plain/{number}.md", f"plain note number {number}")
    heavy = world.root.parent / "heavy"
    (heavy / "memory").mkdir(parents=True)
    for name, content in SHAPES.items():
        (heavy / f"{name}.md").write_text(content(), encoding="utf-8")
    sizes = {file: file.stat().st_size for file in heavy.rglob("*.md")}
    assert sizes[heavy / "large.md"] > 50_000_000
    with python(INDEX_HEAVY, world.root.parent) as process:
        said = {line.split()[0]: line.split()[1:] for line in process.communicate(timeout=120)[0].splitlines()}
    assert process.returncode == 0
    for name in SHAPES:
        assert 500 <= int(said[f"{name}.md"][0]) <= chunker.MAX_CHUNKS, name
    assert {f"{name}.md" for name in SHAPES} == set(said["problems"])
    assert len(set(said["found"])) == 20
    assert int(said["grown"][0]) < MEMORY_MB
    assert {file: file.stat().st_size for file in heavy.rglob("*.md")} == sizes


async def test_what_stands_above_the_limit_is_found_and_the_problem_says_where_it_ends(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunker, "MAX_LINES", 2000)
    monkeypatch.setattr(chunker, "FINE_CHUNKS", 50)
    content = "".join(f"# heading{n}\n\nword{n} stands here\n" for n in range(1000))
    file = world.write("long.md", content)
    async with world.engine() as engine:
        (reason,) = (await engine.problems()).values()
        assert "line 2,001" in reason and "2,000 lines" in reason
        for number in (0, 49, 50, 300, 665):
            hits = (await engine.search(f"word{number}")).hits
            assert any(f"word{number} stands here" in hit.snippet for hit in hits)
        assert await found(engine, "word700") == []
        assert file.read_text() == content
    async with world.engine() as engine:
        assert [*await engine.problems()] == ["long.md"]  # also after a start that reads nothing
        file.write_text("short")
        await engine.sweep()
        assert await engine.problems() == {}


async def test_an_own_heavy_note_is_reported_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunker, "MAX_LINES", 100)
    async with world.engine() as engine:
        receipt = await engine.append("line\n\n" * 100, kind="fact")
        assert receipt.indexed == "keywords"
        assert [*await engine.problems()] == [receipt.path]


async def test_the_beginning_of_a_file_over_the_size_limit_is_searched_and_no_character_is_halved(
    world: World,
) -> None:
    sizes = range(40, 48)
    for size in sizes:
        world.write(f"n{size}.md", f"violet {'x' * size} " + "é🎈" * 100)
    world.write("memory/2026-11-20.md", "# D\n## 10:00 a\nviolet\n## 10:01 b\n" + "scarlet " * 100)
    async with world.engine(vault=VaultConfig(max_note_bytes=100)) as engine:
        assert len(await found(engine, "violet")) == len(sizes) + 1
        # Half an entry has another hash: it could be shown although it was forgotten.
        assert await found(engine, "scarlet") == []
        said = (await engine.problems()).items()
        problems = [reason for path, reason in said if path[:2] == "n4" or "memory/" in path]
        assert len(problems) == len(sizes) + 1
        assert all("100 bytes" in reason and "UTF-8" not in reason for reason in problems)
        text = await engine.recall(path="n40.md")
        assert "🎈" in text and "\ufffd" not in text


# -- fairness --------------------------------------------------------------------------------------------------------


async def test_a_small_note_does_not_wait_until_a_heavy_one_is_cut(world: World) -> None:
    heavy = "".join(f"# h{n}\n\nx\n" for n in range(60_000))
    async with world.engine() as engine:
        answered: list[str] = []

        async def say(name: str, content: str) -> None:
            receipt = await engine.append(content, kind="fact", title=name)
            answered.append(name)
            assert receipt.indexed in {"keywords", "pending"}

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(say, "heavy", heavy)
            await eventually(lambda: any(world.root.rglob("heavy*.md")))
            for number in range(3):
                await say(f"small {number}", f"freshword{number}")
                assert await found(engine, f"freshword{number}")
        assert answered[0] == "small 0" and "heavy" in answered


async def test_a_sweep_writes_in_small_batches_and_notes_of_agents_come_between(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(NOTES):
        paragraphs = "\n\n".join(f"{WORDS} {number} {n} " + "x" * 300 for n in range(30))
        world.write(f"bulk/n{number}.md", paragraphs)
    async with world.engine() as engine:
        for number in range(NOTES):
            with (world.root / f"bulk/n{number}.md").open("a") as file:
                file.write("changed\n")
        batches: list[int] = []
        real = SqliteIndex.apply

        def apply(index: SqliteIndex, generation: int, changes: list) -> int:
            batches.append(sum(len(getattr(change, "chunks", ())) for change in changes))
            return real(index, generation, changes)

        monkeypatch.setattr(SqliteIndex, "apply", apply)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.sweep)
            await eventually(lambda: len(batches) >= 2)
            receipt = await engine.append("freshword", kind="fact")
            # Notes written meanwhile took their turn while most of the sweep was still to come.
            assert 0 < sum(batches) < NOTES * 30
            assert await found(engine, "freshword") == [receipt.path]
        assert max(batches) < BATCH_CHUNKS + 40


async def test_a_long_question_is_read_beside_the_event_loop(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write("a.md", f"- Ada: {WORDS} in 2023")
    readers: dict[str, set[int]] = {}

    def spied(module: object, name: str) -> None:
        real = getattr(module, name)

        def spying(*given: object) -> object:
            readers.setdefault(name, set()).add(threading.get_ident())
            return real(*given)

        monkeypatch.setattr(module, name, spying)

    for module, name in (
        (searcher, "read_question"),
        (searcher, "terms"),
        (retrievers, "parts_of"),
        (retrievers, "possible_names"),
    ):
        spied(module, name)
    async with world.engine() as engine:
        assert (await engine.search("violet words in 2023 " * 480)).hits
    assert set(readers) == {"read_question", "terms", "parts_of", "possible_names"}
    assert not any(threading.get_ident() in threads for threads in readers.values())


# -- models ----------------------------------------------------------------------------------------------------------


def stuck(gate: threading.Event) -> Callable[[object], object]:
    def hang(_: object) -> object:
        assert gate.wait(60)
        raise EmbedderUnavailable("back again")

    return hang


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "PATIENCE_S", 0.1)
    monkeypatch.setattr(guards, "PAUSE_S", 0.3)
    monkeypatch.setattr(models, "RETRY_S", 0.05)


async def test_a_model_that_hangs_costs_vectors_and_few_threads(toy_world: World, impatient: None) -> None:
    gate = threading.Event()
    async with toy_world.engine() as engine:
        await engine.append("violet teapot", kind="fact")
        toy = OPENING.toy
        real = toy.embed_query, toy.embed_documents
        toy.embed_query = toy.embed_documents = stuck(gate)
        before = threading.active_count()
        async with anyio.create_task_group() as tasks:
            for number in range(3):
                tasks.start_soon(engine.search, f"violet question {number}")
        for number in range(20):
            result = await engine.search(f"violet teapot {number}")
            assert result.hits and "not answering" in (result.degraded or ""), result.degraded
            receipt = await engine.append(f"crimson kettle {number}", kind="fact")
            assert receipt.indexed == "keywords"
            assert receipt.path in await found(engine, f"kettle {number}")
        assert "not answering" in (await engine.status())["model_state"]
        # Those who asked before the model was overdue, its backlog, and the pool that all the others share.
        assert threading.active_count() - before < guards.AT_ONCE + 1 + 12
        toy.embed_query, toy.embed_documents = real
        gate.set()
        await until(engine, lambda status: status["model_state"] == "ready")
        await engine.sweep()
        await embedded(engine)
        assert await found(engine, "kettle", mode="semantic")


async def test_an_engine_closes_although_its_model_hangs(toy_world: World, impatient: None) -> None:
    gate = threading.Event()
    try:
        with anyio.fail_after(20):
            async with toy_world.engine() as engine:
                OPENING.toy.embed_query = OPENING.toy.embed_documents = stuck(gate)
                await engine.append("violet teapot", kind="fact")
                await engine.search("violet")
    finally:
        gate.set()


async def test_a_model_that_raises_anything_costs_vectors_alone(toy_world: World, impatient: None) -> None:
    def raising(_: object) -> object:
        raise RuntimeError("canary in the words")

    async with toy_world.engine() as engine:
        OPENING.toy.embed_query = OPENING.toy.embed_documents = raising
        receipt = await engine.append("violet teapot", kind="fact")
        assert receipt.indexed == "keywords"
        result = await engine.search("violet")
        assert [hit.path for hit in result.hits] == [receipt.path]
        assert "RuntimeError" in result.degraded and "canary" not in result.degraded
        assert "canary" not in str(await engine.status())


async def test_a_text_that_the_model_refuses_does_not_block_those_behind_it(toy_world: World, impatient: None) -> None:
    async with toy_world.engine() as engine:
        toy = OPENING.toy
        real, asked = toy.embed_documents, []

        def choosy(texts: list[str]) -> object:
            asked.extend(text for text in texts if "poison" in text)
            if any("poison" in text for text in texts):
                raise EmbedderUnavailable("400 (content_filter)")
            return real(texts)

        toy.embed_documents = choosy
        file = toy_world.write("a.md", "poison is refused")
        for number in range(30):
            toy_world.write(f"b{number}.md", f"violet note {number}")
        await engine.sweep()
        await until(engine, lambda status: status["pending"] == 1)
        await until(engine, lambda status: any("1 passages are refused" in each for each in status["errors"]))
        assert (await found(engine, "poison"))[0] == "a.md"
        assert (await engine.status())["model_state"] == "ready"
        tried = len(asked)
        assert tried <= 2 * TRIES
        receipt = await engine.append("violet once more", kind="fact")
        await until(engine, lambda status: status["pending"] == 1)
        assert receipt.path in await found(engine, "once more", mode="semantic")
        assert len(asked) == tried  # it was given up
        file.unlink()
        await engine.sweep()
        await until(engine, lambda status: not status["problems"])


# -- a slow disk -----------------------------------------------------------------------------------------------------


async def test_notes_wait_side_by_side_for_a_slow_disk_and_searches_do_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.engine() as engine:
        await engine.append("violet teapot", kind="fact")
        together = threading.Barrier(5)
        real = os.fsync

        def fsync(descriptor: int) -> None:
            target = Path(f"/proc/self/fd/{descriptor}").readlink()
            if target.is_relative_to(world.root) and not target.is_dir():
                together.wait(20)  # all four notes are in the middle of their fsync, or none gets on
            real(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)
        receipts: list[str] = []

        async def say(number: int) -> None:
            receipts.append((await engine.append(f"slowword {number}", kind="fact", title=f"n {number}")).outcome)

        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(say, number)
            await eventually(lambda: together.n_waiting == 4)
            assert (await engine.search("violet teapot")).hits
            assert await engine.recall(query="violet teapot")
            assert receipts == []
            await anyio.to_thread.run_sync(together.wait, 20)
        assert receipts == ["created"] * 4


async def test_notes_that_wait_for_the_ledger_go_to_disk_together(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.engine() as engine:
        await engine.append("violet teapot", kind="fact")
        gate, syncs, ledgers = threading.Event(), [], list[Ledger]()
        real, record = os.fsync, Ledger.record

        def fsync(descriptor: int) -> None:
            if Path(f"/proc/self/fd/{descriptor}").readlink() == world.state / "ledger.jsonl":
                syncs.append(descriptor)
                assert gate.wait(20)
            real(descriptor)

        def recording(ledger: Ledger, *entries: LedgerEntry) -> None:
            ledgers.append(ledger)
            record(ledger, *entries)

        monkeypatch.setattr(os, "fsync", fsync)
        monkeypatch.setattr(Ledger, "record", recording)
        async with anyio.create_task_group() as tasks:
            for number in range(6):
                tasks.start_soon(lambda n=number: engine.append(f"slowword {n}", kind="fact"))
            await eventually(lambda: ledgers and len(ledgers[0].waiting) == 5)
            gate.set()
        assert len(syncs) == 2
    async with world.engine() as engine:
        for number in range(6):
            assert (await engine.append(f"slowword {number}", kind="fact")).outcome == "duplicate"


# -- over HTTP -------------------------------------------------------------------------------------------------------


def test_a_heavy_call_keeps_no_other_client_waiting(tmp_path: Path) -> None:
    place = Place(tmp_path, tmp_path / "models", {"MCP_MEMORY_EMBEDDER_PROVIDER": "none"}).make()
    with place.started() as daemon, Wire(daemon, client="heavy") as heavy, Wire(daemon, client="other") as other:
        heavy.text("memory_search", {"query": "warm"})
        many = heavy.tool("memory_search", {"query": "violet", "kinds": [1] * 1_000_000})
        assert many["isError"] and "1,000,000 items" in many["content"][0]["text"]
        unknown = heavy.tool("memory_search", {"query": "violet", **{f"k{n}": 1 for n in range(100_000)}})
        assert unknown["isError"] and "Too many arguments: 100,001" in unknown["content"][0]["text"]

        content = "".join(f"# h{n}\n\nx\n" for n in range(70_000))
        with ThreadPoolExecutor(1) as pool:
            under_way = pool.submit(heavy.tool, "memory_append", {"content": content, "kind": "fact", "title": "heavy"})
            answered = 0
            while not under_way.done():
                said = other.tool("memory_append", {"content": f"freshword{answered} is here", "kind": "fact"})
                assert said["structuredContent"]["indexed"] == "keywords"
                hits = other.tool("memory_search", {"query": f"freshword{answered}"})["structuredContent"]["hits"]
                assert hits[0]["path"] == said["structuredContent"]["path"]
                answered += not under_way.done()
            assert under_way.result()["structuredContent"]["indexed"] in {"keywords", "pending"}
        assert answered >= 2
