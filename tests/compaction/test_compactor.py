"""Compaction: notes are filed into topics, never changed, never lost, and all of it can be taken back."""

from __future__ import annotations

import os
from dataclasses import replace

import anyio
import pytest

from mcp_memory.errors import Busy, NotFound, Refused
from mcp_memory.runs.execute_job import apply_step
from mcp_memory.runs.journal import RunJournal
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.topics.page import MAP, PAGE
from tests.support.topics import ALL_AT_ONCE, NESTED, RAIL, TEA, leaves, told, topic_of, tree_of
from tests.support.world import World, embedded, eventually, found, paths, records

pytestmark = pytest.mark.anyio


async def test_notes_are_filed_with_their_bytes_and_found_at_once(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA + RAIL)
        before = leaves(toy_world.files())
        report = await engine.compact()
        after = leaves(toy_world.files())
        assert sorted(after.values()) == sorted(before.values()) and not report.left
        tea, rail = topic_of(toy_world, "green-tea"), topic_of(toy_world, "night-train")
        assert tea != rail and {path.rpartition("/")[0] for path in after} == {tea, rail}
        assert all(path.startswith(rail) for path in (await found(engine, "sleeping car"))[:4])
        pages = [path for path in toy_world.files() if path.endswith(PAGE)]
        linked = {resolve(link.target, p) for p in pages for link in find_links(toy_world.read(p).decode())}
        assert linked == set(after)
        assert not (await engine.compact()).done
        assert sorted(paths(engine)) == sorted(p for p in toy_world.files() if p.endswith(".md"))


async def test_a_page_is_in_no_answer_but_can_be_read(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        await engine.compact()
        (page,) = [record for record in records(engine) if record.path.endswith(PAGE)]
        assert page.path not in await found(engine, "green tea Uji", include_archived=True)
        shown = await engine.recall(ids=[page.id])
        assert "Green tea from Uji" in shown and f"Links: {topic_of(toy_world, 'green-tea')}/" in shown


async def test_new_notes_join_their_topic_and_the_others_stay(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA + RAIL)
        await engine.compact()
        before = leaves(toy_world.files())
        await told(engine, ["Green tea from Uji needs water of 80 degrees and a warm pot, says Ada."])
        report = await engine.compact()
        after = leaves(toy_world.files())
        assert set(before) < set(after) and len(report.done) == 2
        assert "says Ada" in toy_world.read(f"{topic_of(toy_world, 'green-tea')}/{PAGE}").decode()


async def test_the_fresh_tail_and_single_notes_wait(toy_world: World) -> None:
    async with toy_world.engine(topics=replace(ALL_AT_ONCE, fresh_tail_count=4)) as engine:
        await told(engine, ["A lonely remark about kettles.", *TEA, *RAIL])
        assert len((await engine.perform("compact", {"dry_run": True}))["plan"]) == 1
        report = await engine.compact()
        assert report.waiting == 5 and len(report.done) == 1


async def test_a_run_is_taken_back_to_the_byte(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA + RAIL)
        before = toy_world.files()
        report = await engine.compact()
        assert toy_world.files() != before
        undone = await engine.undo_run(report.run)
        assert toy_world.files() == before and not undone.left
        assert [each.name for each in (toy_world.root / "topics").glob("[!.]*")] == ["_fresh"]
        assert sorted(paths(engine)) == sorted(p for p in before if p.endswith(".md"))
        assert all("night-train" in path for path in (await found(engine, "sleeping car"))[:4])
        with pytest.raises(NotFound, match="no change 'never'"):
            await engine.undo_run("never")


async def test_a_note_moved_by_hand_is_told_by_both_pages(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA + RAIL)
        await engine.compact()
        tea, rail = topic_of(toy_world, "green-tea"), topic_of(toy_world, "night-train")
        note = next((toy_world.root / rail).glob("0*.md"))
        note.rename(toy_world.root / tea / note.name)
        report = await engine.compact()
        assert len(report.done) == 2
        assert note.name in toy_world.read(f"{tea}/{PAGE}").decode()
        assert note.name not in toy_world.read(f"{rail}/{PAGE}").decode()


async def test_a_deleted_page_is_made_again(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        await engine.compact()
        page = toy_world.root / topic_of(toy_world, "green-tea") / PAGE
        page.unlink()
        await engine.compact()
        assert "Green tea" in page.read_text()


async def test_a_folder_that_a_person_made_is_not_touched(toy_world: World) -> None:
    for number, text in enumerate(TEA):
        toy_world.write(f"topics/01-mine/{number}.md", text)
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, ["Green tea from Uji needs water of 99 degrees and a warm pot."])
        report = await engine.compact()
        assert not report.done and not (toy_world.root / "topics/01-mine" / PAGE).exists()


async def test_a_strangers_note_among_the_fresh_ones_stays(toy_world: World) -> None:
    toy_world.write("topics/_fresh/000-strange.md", TEA[0])
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA[1:])
        await engine.compact()
        assert (toy_world.root / "topics/_fresh/000-strange.md").exists()
        assert len(list((toy_world.root / "topics/_fresh").iterdir())) == 1


async def test_topics_side_by_side_come_under_a_parent(toy_world: World) -> None:
    texts = [f"Green tea of {place} number {n}: {place} {place} water." for place in
             ("Uji", "Yame", "Kyoto", "Shizuoka") for n in range(3)]  # fmt: skip
    async with toy_world.engine(topics=NESTED) as engine:
        await told(engine, texts)
        before = leaves(toy_world.files())
        report = await engine.compact()
        (parent,) = await tree_of(engine)
        assert parent.notes == 12 and len(parent.topics) == 4 and not report.left
        assert sorted(leaves(toy_world.files()).values()) == sorted(before.values())
        assert not any(topic.stale for topic in parent.walk())
        page = toy_world.read(parent.page_path).decode()
        targets = {resolve(link.target, parent.page_path) for link in find_links(page)}
        assert targets == {topic.page_path for topic in parent.topics}
        undone = await engine.undo_run(report.run)
        assert leaves(toy_world.files()) == before and not undone.left


async def test_a_run_whose_notes_a_later_one_moved_on_is_undone_after_that_one(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        before, first = toy_world.files(), (await engine.compact()).run
        edit = {"verb": "rename", "topic": topic_of(toy_world, "green-tea"), "name": "Hot water"}
        moved = (await engine.perform("edit_topic", edit))["run"]
        after = toy_world.files()
        (why,) = (await engine.undo_run(first)).left
        assert f"{moved} has changed 4 files" in why and f"mcp-memory undo {moved}" in why
        assert toy_world.files() == after
        for run in (moved, first):
            assert not (await engine.undo_run(run)).left
        assert toy_world.files() == before
        moved_ones = [one for one in (await engine.perform("changes", {}))["changes"] if one["kind"] == "moved"]
        assert len(moved_ones) == 16 and all(one["path"] != one["other"] for one in moved_ones)


async def test_what_a_crash_left_is_done_at_the_next_start(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        run = (await engine.compact()).run
        done = {path: data for path, data in toy_world.files().items() if not path.endswith(MAP)}
        journal = RunJournal(toy_world.state / "compaction")
        entry, _ = journal.read_run(run)  # the other one is the map
        await engine.undo_run(run)
    # As if the power had failed after two of the steps.
    journal.begin_job("later", entry)
    for step in entry.steps[:2]:
        apply_step(step, toy_world.vault())
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await eventually(lambda: not journal.unfinished_jobs())
        assert toy_world.files() == done
        assert sorted(paths(engine)) == sorted(path for path in done if path.endswith(".md"))


async def test_two_runs_at_once_are_one(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        refused: list[Busy] = []

        async def compact() -> None:
            try:
                await engine.compact()
            except Busy as error:
                refused.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(compact)
            tasks.start_soon(compact)
        assert len(refused) == 1


async def test_notes_of_one_name_both_find_a_place(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        await engine.compact()
        await told(engine, [TEA[0].replace("60", "61 or 62")])
        fresh = next((toy_world.root / "topics/_fresh").iterdir())
        taken = next((toy_world.root / topic_of(toy_world, "green-tea")).glob("001-*.md"))
        fresh.rename(fresh.with_name(taken.name))
        await engine.compact()
        assert len(leaves(toy_world.files())) == 5


async def test_a_name_that_we_would_not_give_waits_and_stops_nobody(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        note = next((toy_world.root / "topics/_fresh").glob("002-*.md"))
        note.rename(note.with_name("002-why so warm?.md"))
        assert len((await engine.compact()).done) == 1
        assert (toy_world.root / "topics/_fresh/002-why so warm?.md").exists()
        assert not (await engine.compact()).left


async def test_an_old_copy_that_a_sync_client_brings_back_is_not_filed_again(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        ids = await told(engine, TEA)
        original = next((toy_world.root / "topics/_fresh").glob("001-*.md"))
        data, name = original.read_bytes(), original.name
        await engine.compact()
        toy_world.write(f"topics/_fresh/{name}", data + b"Edited elsewhere.\n")
        assert not (await engine.compact()).done
        assert (await engine.forget(ids[0])).path.startswith(topic_of(toy_world, "green-tea"))


async def test_a_page_that_may_quote_a_forgotten_note_is_not_read_out(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        ids = await told(engine, TEA)
        report = await engine.compact()
        page = f"{topic_of(toy_world, 'green-tea')}/{PAGE}"
        assert "Green tea" in await engine.recall(path=page)
        await engine.forget(ids[0])
        withheld = await engine.recall(path=page)
        assert "forgotten" in withheld and "60 degrees" not in withheld and "61-degrees" in withheld
        shown = await engine.perform("show", {"target": page})
        tree = await engine.perform("tree", {})
        assert "60 degrees" not in f"{shown}{tree}{await engine.recall(ids=[page], budget_tokens=100_000)}"
        toy_world.later(minutes=1)
        later = await engine.compact()
        assert "61 degrees" in await engine.recall(path=page)
        undone = await engine.undo_run(later.run)
        assert "60 degrees" not in toy_world.read(page).decode() and "forgotten" in undone.left[0]
        assert report.run != later.run


async def test_pages_are_neither_appended_nor_forgotten(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        await engine.compact()
        with pytest.raises(Refused, match="page of a topic"):
            await engine.append("mine", path="topics/01-x/_summary.md")
        with pytest.raises(Refused, match="made from other notes"):
            await engine.forget(f"{topic_of(toy_world, 'green-tea')}/{PAGE}")


@pytest.mark.parametrize("what", ["note", "folder"])
async def test_a_topic_that_holds_something_of_a_persons_is_not_moved(toy_world: World, what: str) -> None:
    texts = [f"Green tea of {place} number {n}: {place} {place} water." for place in
             ("Uji", "Yame", "Kyoto", "Shizuoka") for n in range(3)]  # fmt: skip
    config = replace(NESTED, condensed_min_fanout=9)
    async with toy_world.engine(topics=config) as engine:
        await told(engine, texts)
        await engine.compact()
    uji = topic_of(toy_world, "uji")
    mine = toy_world.root / uji / "0 my todo.md"
    if what == "note":
        toy_world.write(f"{uji}/{mine.name}", "Buy tea.")
    else:
        mine = toy_world.root / uji / "my tea"
        mine.mkdir()
        next((toy_world.root / uji).glob("*number-1*")).rename(mine / "again.md")
    async with toy_world.engine(topics=replace(config, condensed_min_fanout=4)) as engine:
        report = await engine.compact()
        why = "is a note of yours" if what == "note" else "without a page it stays"
        assert mine.exists() and why in report.left[0]
        assert what == "note" or "(./my%20tea/again.md)" in toy_world.read(f"{uji}/{PAGE}").decode()


@pytest.mark.skipif(os.geteuid() == 0, reason="file modes do not bind root")
async def test_a_vault_that_cannot_be_written_says_so(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        toy_world.root.chmod(0o500)
        with pytest.raises(Refused, match="read-only"):
            await engine.compact()


async def test_a_projects_topic_is_found_by_the_subject_of_all_its_notes_until_it_has_two(toy_world: World) -> None:
    async with toy_world.engine(topics=replace(ALL_AT_ONCE, by_subject=True, leaf_cosine=0.0)) as engine:

        async def file(subject: str, text: str) -> set[str]:
            for number in range(6):
                said = f"{text} {number} minutes."
                await engine.append(said, title=said, tags=[subject], project="books", kind="fact")
            await embedded(engine)
            await engine.compact()
            return {topic.title for top in await tree_of(engine) for topic in top.walk()}

        assert await file("month-end", "The card is charged again after") == {"books, month end"}
        for question in ("how does month end work", "what do we know about books"):
            assert "01-books/_summary.md" in await engine.recall(question)
        assert await file("payroll", "A rollback takes") == {"books", "Month end", "Payroll"}
        assert "month-end/_summary.md" in await engine.recall("how does month end work")


async def test_a_plan_shows_what_a_run_files_first_and_a_subject_is_found_by_its_project(toy_world: World) -> None:
    async with toy_world.engine(topics=replace(ALL_AT_ONCE, by_subject=True, leaf_cosine=0.0)) as engine:
        for number in range(6):
            for subject, text in (("payments", "The card is charged again after"), ("deploy", "A rollback takes")):
                said = f"{text} {number} minutes."
                tags = ["backend", subject, f"x{number}"]
                await engine.append(said, title=said, tags=tags, project="harbor", kind="fact")
        await embedded(engine)
        (job,) = (await engine.perform("compact", {"dry_run": True}))["plan"]
        assert (job["topic"], job["parent"], len(job["notes"])) == (None, "", 12)
        await engine.compact()
        titles = {topic.title for top in await tree_of(engine) for topic in top.walk()}
        assert titles == {"harbor", "Payments", "Deploy"}

        async def page_for(question: str) -> str:
            lines = (await engine.recall(question)).splitlines()
            return next(line for line in lines if line.startswith("topic of"))

        assert "payments/_summary.md" in await page_for("what do we know about harbor payments")
        assert "payments/_summary.md" in await page_for("tell me everything about payments")
        assert "01-harbor/_summary.md" in await page_for("what do we know about harbor?")
