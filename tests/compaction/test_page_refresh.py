"""Pages that tell the truth: marked where they are out of date, linked soundly wherever things move, a person's own
respected, and gone with the last note."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_memory.compaction import job_builder
from mcp_memory.models import Outcome
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.topics.page import CHILDREN, MAP, PAGE
from tests.support.topics import ABOUT, ALL_AT_ONCE, NESTED, RAIL, TEA, dangling, told, topic_of, tree_of
from tests.support.world import World

pytestmark = pytest.mark.anyio

MAPPED = f"topics/{MAP}"
PLACES = ("Uji", "Yame", "Kyoto", "Shizuoka")


def grown(places: tuple[str, ...] = PLACES) -> list[str]:
    text = "Green green tea tea tea of {0} number {1}: {0} {0} water water water."
    return [text.format(place, n) for place in places for n in range(3)]


def is_marked(world: World, folder: str) -> bool:
    return frontmatter.parse(world.read(f"{folder}/{PAGE}").decode()).meta.get("stale") is True


async def test_the_map_names_every_topic_and_is_made_anew_with_them(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA + RAIL)
        first = (await engine.compact()).run
        text = toy_world.read(MAPPED).decode()
        assert {resolve(link.target, MAPPED) for link in find_links(text)} == {
            f"{topic_of(toy_world, word)}/{PAGE}" for word in ("green-tea", "night-train")
        }
        assert "4 notes · 2026-11-21 — " in text and "Green tea from Uji needs water" in text
        assert not (again := await engine.compact()).kept and not again.done
        toy_world.later(minutes=1)
        await told(engine, ["Green tea from Uji needs water of 80 degrees and a warm pot."])
        second = (await engine.compact()).run
        assert "5 notes" in toy_world.read(MAPPED).decode()
        await engine.undo_run(second)
        assert toy_world.read(MAPPED).decode() == text
        await engine.undo_run(first)
        assert not (toy_world.root / MAPPED).exists()


async def test_a_map_that_a_person_edited_is_left_alone_and_a_deleted_one_made_anew(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        await engine.compact()
        mine = toy_world.read(MAPPED) + b"\nMy own words.\n"
        toy_world.write(MAPPED, mine)
        await told(engine, RAIL)
        await engine.compact()
        assert toy_world.read(MAPPED) == mine
        (toy_world.root / MAPPED).unlink()
        assert (await engine.compact()).kept
        assert "2026-11-21" in toy_world.read(MAPPED).decode()


async def test_an_edited_note_marks_its_page_and_those_above_to_the_byte(toy_world: World) -> None:
    async with toy_world.engine(topics=NESTED) as engine:
        await told(engine, grown())
        await engine.compact()
        (parent,) = await tree_of(engine)
    before = toy_world.files()
    note = parent.topics[0].leaves[0]
    original = toy_world.read(note.path)
    toy_world.write(note.path, original + b"And a biscuit.\n")
    async with toy_world.engine(topics=NESTED):
        marked = [topic.folder for topic in parent.walk() if is_marked(toy_world, topic.folder)]
    assert marked == [parent.topics[0].folder, parent.folder]
    for folder in marked:
        page = toy_world.read(f"{folder}/{PAGE}")
        assert page.replace(b"stale: true\n", b"stale: false\n", 1) == before[f"{folder}/{PAGE}"]
    toy_world.write(note.path, original)  # as it was: so are the pages
    async with toy_world.engine(topics=NESTED) as engine:
        assert toy_world.files() == before
        await engine.forget(note.id)
    async with toy_world.engine(topics=NESTED) as engine:
        assert is_marked(toy_world, parent.folder)
        assert not (await engine.compact()).left
        assert not any(is_marked(toy_world, topic.folder) for topic in parent.walk())


async def test_a_note_that_expires_marks_its_page_though_no_file_changed(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await engine.append("Green tea from Uji needs water of 99 degrees and a warm pot.", expires="2026-11-22")
        await told(engine, TEA)
        await engine.compact()
    folder = topic_of(toy_world, "green-tea")
    async with toy_world.engine(topics=ALL_AT_ONCE):
        assert "99 degrees" in toy_world.read(f"{folder}/{PAGE}").decode() and not is_marked(toy_world, folder)
    toy_world.later(days=2)
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        assert is_marked(toy_world, folder)
        await engine.compact()
        folder = topic_of(toy_world, "green-tea")
        assert "99-deg" not in folder and "99 degrees" not in toy_world.read(f"{folder}/{PAGE}").decode()


async def test_a_run_is_taken_back_also_where_its_pages_are_marked_by_now(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        run = (await engine.compact()).run
        folder = topic_of(toy_world, "green-tea")
        note = next((toy_world.root / folder).glob("001-*.md"))
        note.write_text(note.read_text() + "And a biscuit.\n")
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        assert is_marked(toy_world, folder)
        assert not (await engine.undo_run(run)).left
        assert not (toy_world.root / folder).exists()


async def test_the_sweep_marks_by_itself(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        await engine.compact()
    folder = topic_of(toy_world, "green-tea")
    next((toy_world.root / folder).glob("001-*.md")).unlink()
    async with toy_world.engine(topics=ALL_AT_ONCE):
        assert is_marked(toy_world, folder)


async def test_links_follow_what_moves_and_every_other_byte_stays(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        ids = await told(engine, TEA)
        fresh = sorted((toy_world.root / "topics/_fresh").glob("*.md"))[0].name
        words = (
            f"See [tea](../../topics/_fresh/{fresh}#water 'title') and [[topics/_fresh/{fresh[:-3]}|that]], "
            f"not [this](nowhere.md) nor `[x](../../topics/_fresh/{fresh})`."
        )
        decision = await engine.append(words, kind="decision")
        pasted = f"Green tea from Uji needs water of 64 degrees, see [why](../../{decision.path}) and a [x](b.py)."
        await told(engine, [pasted])
        toy_world.write("mine.md", f"My [own](topics/_fresh/{fresh}) words.")
        toy_world.write("MEMORY.md", f"[Tea](topics/_fresh/{fresh}), [tea](./topics/_fresh/{fresh}).\n")
        await engine.sweep()
        before = toy_world.files()
        report = await engine.compact()
        tea = topic_of(toy_world, "green-tea")
        assert report.links == {"MEMORY.md": 2, "mine.md": 1}
        assert toy_world.read(decision.path) == before[decision.path].replace(
            f"(../../topics/_fresh/{fresh}#".encode(), f"(../../{tea}/{fresh}#".encode()
        ).replace(f"[[topics/_fresh/{fresh[:-3]}|".encode(), f"[[{tea}/{fresh[:-3]}|".encode())
        assert set(dangling(toy_world)) == {
            (decision.path, "nowhere.md"), ("mine.md", f"topics/_fresh/{fresh}"),
            ("MEMORY.md", f"topics/_fresh/{fresh}"), ("MEMORY.md", f"./topics/_fresh/{fresh}"),
            *((path, "b.py") for path in toy_world.files() if path.startswith(tea) and "64" in path),
        }  # fmt: skip
        # The same words again are the note that is there, although they are other ones by now.
        assert (await engine.append(words, kind="decision")).outcome is Outcome.DUPLICATE
        assert (await engine.append(pasted)).outcome is Outcome.DUPLICATE
        undone = await engine.undo_run(report.run)
        assert toy_world.files() == before and not undone.left
        assert (await engine.append(words, kind="decision")).outcome is Outcome.DUPLICATE
        assert len(ids) == 4


async def test_the_same_append_is_a_duplicate_after_two_moves_and_a_restart(toy_world: World) -> None:
    texts = grown()
    async with toy_world.engine(topics=replace(NESTED, condensed_min_fanout=9)) as engine:
        fact = (await engine.append("x", kind="fact")).path
        await told(engine, texts[1:])
        linked = f"{texts[0]} See [this](../../{fact})."
        await told(engine, [linked])
        await engine.compact()
    async with toy_world.engine(topics=NESTED) as engine:
        await engine.compact()
        assert len(await tree_of(engine)) == 1
        assert (await engine.append(linked)).outcome is Outcome.DUPLICATE
        assert not list(dangling(toy_world))


async def test_what_a_person_changed_on_a_page_stays_and_the_rest_is_made_anew(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA + RAIL)
        await engine.compact()
        folder = topic_of(toy_world, "green-tea")
        page = toy_world.root / folder / PAGE
        text = page.read_text()
        title = next(line for line in text.splitlines() if line.startswith("title: "))
        page.write_text(
            text.replace(title, "title: 'Tea: mine'").replace(CHILDREN, f"Bought at **Ada's**.\n\n{CHILDREN}")
        )
        await told(engine, ["Green tea from Uji needs water of 99 degrees and a warm pot."])
        report = await engine.compact()
        now = page.read_text()
        assert "title: 'Tea: mine'\n" in now and "\nBought at **Ada's**.\n\n" in now and report.left == []
        assert "99-degrees" in now and "99 degrees" in now.partition(CHILDREN)[0]
        (topic,) = [topic for topic in await tree_of(engine) if topic.folder == folder]
        assert topic.title == "Tea: mine" and topic.edited and not topic.stale
        before = toy_world.files()
        assert not (await engine.compact()).done and toy_world.files() == before
        ids = [note.id for note in topic.leaves]
        for note_id in ids[:2]:
            await engine.forget(note_id)
        await engine.compact()
        now = page.read_text()
        assert "title: 'Tea: mine'\n" in now and "\nBought at **Ada's**.\n\n" in now and "60 degrees" not in now


async def test_a_run_over_an_edited_page_is_taken_back_to_the_byte(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        await engine.compact()
        page = toy_world.root / topic_of(toy_world, "green-tea") / PAGE
        page.write_text(page.read_text().replace(CHILDREN, f"Mine.\n\n{CHILDREN}"))
        await told(engine, ["Green tea from Uji needs water of 99 degrees and a warm pot."])
        before = toy_world.files()
        report = await engine.compact()
        assert page.read_text() != before[page.relative_to(toy_world.root).as_posix()].decode()
        assert not (await engine.undo_run(report.run)).left
        assert toy_world.files() == before
        report = await engine.compact()
        assert report.left == []
        assert "99 degrees" in page.read_text() and "\nMine.\n" in page.read_text()


async def test_a_persons_words_stay_on_the_page_of_a_topic_without_notes(toy_world: World) -> None:
    toy_world.with_home("").write("about.md", ABOUT)
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        await engine.compact()
        folder = topic_of(toy_world, "green-tea")
        page = toy_world.root / folder / PAGE
        page.write_text(page.read_text().replace(CHILDREN, f"Mine.\n\n{CHILDREN}"))
        for note in (toy_world.root / folder).glob("0*.md"):
            note.rename(toy_world.root / note.name)
        await engine.compact()
        assert "\nMine.\n" in page.read_text() and "60 degrees" not in page.read_text()


async def test_a_topic_without_notes_goes_with_its_folder_and_comes_back(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA + RAIL)
        await engine.compact()
        folder = topic_of(toy_world, "green-tea")
        for note in (toy_world.root / folder).glob("0*.md"):
            note.rename(toy_world.root / note.name)
        before = toy_world.files()
        report = await engine.compact()
        assert not list((toy_world.root / folder).glob("[!.]*")) and not list(dangling(toy_world))
        await engine.undo_run(report.run)
        after = toy_world.files()
        assert b"0 notes" in after.pop("topics/_index.md") and before.pop("topics/_index.md") and after == before


async def test_related_topics_are_linked_and_stay_so_when_they_move(toy_world: World) -> None:
    config = replace(NESTED, condensed_min_fanout=9)
    async with toy_world.engine(topics=config) as engine:
        await told(engine, grown())
        await engine.compact()
        pages = {topic.page_path: toy_world.read(topic.page_path).decode() for topic in await tree_of(engine)}
        assert all(text.partition("## Related")[2].count("- [") == 3 for text in pages.values())
        assert not list(dangling(toy_world))
        before = toy_world.files()
        assert not (await engine.compact()).kept and toy_world.files() == before
    async with toy_world.engine(topics=NESTED) as engine:
        report = await engine.compact()
        (parent,) = await tree_of(engine)
        assert not list(dangling(toy_world)) and len(parent.topics) == 4
        assert "## Related" not in toy_world.read(parent.page_path).decode()
        await engine.undo_run(report.run)
        assert toy_world.files() == before
        gone = topic_of(toy_world, "uji")
        for file in (toy_world.root / gone).iterdir():
            file.unlink()
        await engine.sweep()
    async with toy_world.engine(topics=config) as engine:
        await engine.compact()
        assert not list(dangling(toy_world))


async def test_the_notes_of_a_topic_whose_name_fits_are_not_read_for_another_one(
    toy_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[str]()

    def reading(name: str, *_: object) -> bool:
        read.append(name)
        return False

    monkeypatch.setattr(job_builder, "_has_foreign_word", reading)
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA)
        assert (await engine.compact()).done and topic_of(toy_world, "green-tea")
    assert read == []


async def test_a_folder_is_not_called_after_what_was_erased(toy_world: World) -> None:
    zebra = [f"Zebra zebra zebra tea number {n} of zebra." for n in range(3)]
    plain = ["Zebra tea number 8 of horse, horse.", "Zebra tea number 9 of horse, horse."]
    async with toy_world.engine(topics=replace(ALL_AT_ONCE, leaf_cosine=-1)) as engine:
        ids = await told(engine, [*(text.replace("ebra", "ephyr") for text in zebra), *plain])
        await engine.compact()
        (topic,) = await tree_of(engine)
        assert "zephyr" in topic.name
        for note_id in ids[:3]:
            await engine.perform("erase", {"target": note_id, "sure": True})
        await engine.compact()
        (now,) = await tree_of(engine)
        assert "zephyr" not in now.name and now.ours and not now.stale and now.notes == 2
        assert not [path for path, data in toy_world.files().items() if b"zephyr" in (path.encode() + data).lower()]
        assert not list(dangling(toy_world))
        before = toy_world.files()
        assert not (again := await engine.compact()).done and not again.kept and toy_world.files() == before


async def test_an_erased_note_leaves_no_word_on_the_pages_beside_its_own(toy_world: World) -> None:
    async with toy_world.engine(topics=replace(NESTED, condensed_min_fanout=9)) as engine:
        ids = await told(engine, grown())
        await engine.compact()
        assert sum(b"Kyoto" in data for path, data in toy_world.files().items() if path.endswith(PAGE)) == 4
        for note_id in ids[6:9]:
            await engine.perform("erase", {"target": note_id, "sure": True})
        assert not [path for path, data in toy_world.files().items() if b"kyoto" in data.lower()]
        await engine.compact()
        assert not list(dangling(toy_world))
