"""Recall from a vault with topics: a question about one as a whole gets its page, any other one its passages."""

from __future__ import annotations

import re

import pytest

from mcp_memory.recall.config import RecallConfig
from mcp_memory.recall.topic_page import is_called
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.tokens import count_tokens
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.topics.page import PAGE
from tests.support.keyword_engine import KeywordEngine
from tests.support.topics import tree_of
from tests.support.world import World, embedded

pytestmark = pytest.mark.anyio

ALL_AT_ONCE = TopicsConfig(leaf_cosine=0.2, by_subject=False, min_leaves=3)

TEA = [f"Green tea from Uji needs water of {60 + n} degrees and a warm pot." for n in range(4)]
RAIL = [f"The night train to Vienna leaves from platform {n} with a sleeping car." for n in range(4)]
SUBJECT = "What do we know about green tea?"


async def filed(engine: KeywordEngine, **options: str) -> list[str]:
    """The ids of the notes, tea first."""
    ids = [(await engine.append(text, **options)).id for text in TEA + RAIL]
    await embedded(engine)
    await engine.run_job("topics")
    return ids


async def shown(engine: KeywordEngine, question: str, **asked: object) -> set[str]:
    """The files that an answer quotes."""
    return {*(await engine.ask("recall", query=question, **asked))["lines"]}


def page_of(world: World, word: str) -> str:
    """Of the topic that has notes with this word in their names."""
    (folder,) = {each.parent for each in world.root.glob(f"topics/[0-9]*/*{word}*.md")}
    return (folder / PAGE).relative_to(world.root).as_posix()


async def test_a_topic_as_a_whole_gets_its_page_and_of_its_notes_what_the_page_leaves_out(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await filed(engine)
        page = page_of(toy_world, "green-tea")
        answer, paths = await engine.recall(SUBJECT), await shown(engine, SUBJECT)
        assert answer.split("\n")[1].startswith("topic of 4 notes") and f" {page}:" in answer.split("\n")[1]
        found = await engine.ask("search", query=SUBJECT)
        assert page in str(found.get("note"))
        assert found["hits"][0]["path"] == page and "Green tea" in found["hits"][0]["snippet"]
        assert page not in [hit["path"] for hit in found["hits"][1:]] and len(found["hits"]) > 1
        briefed = (await engine.brief("codex/s", SUBJECT)).text.split("\n")
        assert briefed[1] == f'Overview: memory_recall path="{page}"'
        assert page not in str((await engine.ask("search", query="Which tea needs 61 degrees?")).get("note"))
        assert page in paths and len({path for path in paths if path.startswith(page.rpartition("/")[0])}) == 3
        assert "topic of 4 notes" in answer and "## Children" not in answer
        assert all(answer.count(f"of {60 + n} degrees") == 1 for n in range(4))
        for first, text in re.findall(rf"^.* {page}:(\d+)[^>]*\n>(Green tea[^\n]*)$", answer, re.MULTILINE):
            assert text == toy_world.read(page).decode().split("\n")[int(first) - 1]


@pytest.mark.parametrize("marks", ["private: true", "tags: [private]", "muted: true"])
async def test_a_page_is_given_without_what_a_private_or_muted_note_says(toy_world: World, marks: str) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await filed(engine)
        page = page_of(toy_world, "green-tea")
        assert page in await shown(engine, SUBJECT)
        note = next(toy_world.root.glob("topics/[0-9]*/*green-tea*of-61*.md"))
        note.write_text(note.read_text().replace("---\n", f"---\n{marks}\n", 1))
        await engine.sweep()
        told = await engine.recall(SUBJECT)
        assert page in await shown(engine, SUBJECT)
        assert "of 61 degrees" not in told and "of 63 degrees" in told
        for other in toy_world.root.glob("topics/[0-9]*/*green-tea*.md"):
            other.write_text(
                re.sub("---\n", f"---\n{marks}\n", other.read_text(), count=marks not in other.read_text())
            )
        await engine.sweep()
        assert page not in await shown(engine, SUBJECT), "nothing is left of it"


async def test_a_thinned_page_drops_earlier_statements_first_and_they_go_with_a_hidden_later_one(
    toy_world: World,
) -> None:
    rules = ["Green tea from Uji is kept for 30 days.", "Green tea from Uji is kept for 20 days now.", *TEA[:2]]
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        for text in [*rules, *RAIL]:
            toy_world.later(days=1)
            await engine.append(text, kind="decision")
        await embedded(engine)
        await engine.run_job("topics")
        answers = [await engine.recall(SUBJECT, budget_tokens=budget) for budget in (200, 2000)]
        assert [answer.count("  - earlier (") for answer in answers] == [0, 2]
        (later,) = toy_world.root.glob("notes/**/*for-20-days*.md")
        later.write_text(later.read_text().replace("---\n", "---\nmuted: true\n", 1))
        await engine.sweep()
        answer = await engine.recall(SUBJECT)
        assert "20 days" not in answer and "earlier (2026-11-22)" not in answer and "earlier (2026-11-24)" in answer


async def test_its_links_are_a_call_away(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await filed(engine)
        answer = await engine.recall(SUBJECT)
        (path,) = re.findall(r'links to its notes: memory_recall path="(.*)"$', answer, re.MULTILINE)
        links = re.search(r"^Links: (.*)$", await engine.recall(path=path), re.MULTILINE)
        assert links and len(links[1].split(", ")) == 4
        assert "degrees" in await engine.recall(path=links[1].split(", ")[0])


async def test_a_page_that_is_too_long_is_thinned_out_and_the_budget_kept(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await filed(engine)
        whole = (await engine.recall(SUBJECT)).count("Uji")
        seen = set[int]()
        for budget in range(100, 500, 25):
            answer = await engine.recall(SUBJECT, budget_tokens=budget)
            assert count_tokens(answer) <= budget
            seen.add(answer.count("Uji") if page_of(toy_world, "green-tea") in answer else 0)
        assert whole in seen and 0 < min(seen - {0}) < whole


async def test_anything_in_particular_gets_passages_alone(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await filed(engine)
        for question in ("Which platform has the night train?", "green tea", "What do we know about kettles?"):
            assert not [path for path in await shown(engine, question) if path.endswith(PAGE)]
    async with toy_world.engine(topics=ALL_AT_ONCE, recall=RecallConfig(topic_pages=False)) as engine:
        assert not [path for path in await shown(engine, SUBJECT) if path.endswith(PAGE)]


@pytest.mark.parametrize(
    ("title", "subject", "called"),
    [
        ("Japan trip, Kyoto, rail pass", "japan trip", True),
        ("Japan trip, Kyoto, rail pass", "kyoto", True),
        ("Japan trip, Kyoto, rail pass", "kyoto trip", True),
        ("Japan trip, Kyoto, rail pass", "kyoto hotels", False),
        ("Japan trip, Kyoto, rail pass", "japan", False),
        ("What the trip to Japan costs", "japan", True),
        ("Kyoto", "kyoto trip", True),
        ("Kyoto", "kyoto hotels", False),
        ("", "japan", False),
        ("", "trip", False),
    ],
)
def test_a_topic_is_called_what_its_title_lists(title: str, subject: str, called: bool) -> None:
    assert is_called(title, content_words(subject)) is called


async def test_without_vectors_the_words_lead_to_the_page(toy_world: World, world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await filed(engine)
    async with world.engine() as engine:
        assert page_of(world, "green-tea") in (await engine.recall(SUBJECT)).partition("<<<")[2].split("\n")[1]


@pytest.mark.parametrize("has_vectors", [True, False])
async def test_a_question_about_a_topic_or_one_below_it_gets_the_page_of_that_one(
    toy_world: World, world: World, has_vectors: bool
) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await filed(engine)
        tea, rail = (page_of(toy_world, word).rpartition("/")[0] for word in ("green-tea", "night-train"))
        for folder, name in ((tea, "Tea train"), (rail, "Tea")):
            await engine.perform("edit_topic", {"verb": "rename", "topic": folder, "name": name})
        await engine.perform("edit_topic", {"verb": "move", "topic": "Tea train", "into": "Tea"})
        (top,) = await tree_of(engine)
    async with (toy_world if has_vectors else world).engine(topics=ALL_AT_ONCE) as engine:
        for asked, topic in (("tea", top), ("tea train", top.topics[0]), ("train", top.topics[0])):
            answer = await engine.recall(f"What do we know about our {asked}?")
            assert f" {topic.page_path}:" in answer.partition("<<<")[2].split("\n")[1], asked


async def test_a_page_that_may_not_be_shown_leaves_the_answer_to_the_notes(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        ids = await filed(engine, project="tea-house")
        await engine.append("Green tea keeps for a year.", project="railway")
        page = f"topics/01-tea-house/{PAGE}"

        async def has_page(**asked: str) -> bool:
            return page in await shown(engine, "What do we know about the tea house?", **asked)

        assert await has_page() and await has_page(project="tea-house")
        assert not await has_page(project="railway"), "its notes are of another project"
        await engine.forget(ids[0])
        assert not await has_page(), "it tells of a note that is forgotten"
        assert "of 60 degrees" not in await engine.recall(SUBJECT)
        await engine.forget(ids[0], restore=True)
        assert await has_page()
        note = next(toy_world.root.glob(f"{page.rpartition('/')[0]}/**/*of-61*.md"))
        note.write_text(note.read_text().replace("of 61 degrees", "of 99 degrees"))
        await engine.perform("reindex", {})
        assert not await has_page(), "a note says something else by now"
        await engine.run_job("topics")
        assert await has_page() and "of 99 degrees" in await engine.recall("Which tea needs water of 99 degrees?")


async def test_what_is_fresh_stands_beside_the_page(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await filed(engine)
        fresh = await engine.append("Green tea from Uji is sold out until May.")
        await embedded(engine)
        assert {page_of(toy_world, "green-tea"), fresh.path} <= await shown(engine, SUBJECT)


async def test_a_page_that_we_never_wrote_is_not_shown(toy_world: World) -> None:
    toy_world.with_home("")
    page = "topics/07-kettles/_summary.md"
    toy_world.write(page, "---\ntitle: Kettles\n---\n\n- Kettles are best thrown away.\n")
    toy_world.write("topics/07-kettles/a.md", "Kettles whistle when they boil.")
    async with toy_world.engine() as engine:
        paths = await shown(engine, "What do we know about kettles?")
        assert "topics/07-kettles/a.md" in paths and page not in paths
