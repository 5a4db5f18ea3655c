"""What the page of a topic says of its notes: every rule in whole sentences, the newest first, then what it changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from mcp_memory.text.markdown import frontmatter
from mcp_memory.topics.page import CHILDREN, PAGE, summary_text
from tests.support.topics import ALL_AT_ONCE
from tests.support.world import World, embedded

pytestmark = pytest.mark.anyio

Note = tuple[str, str, str]
"""Kind, title and text."""


async def page_of(world: World, notes: Sequence[Note]) -> str:
    """The page of the topic of these notes, stored day by day."""
    async with world.engine(topics=ALL_AT_ONCE) as engine:
        for kind, title, text in notes:
            world.later(days=1)
            await engine.append(text, title=title, kind=kind, project="harbor")
        await embedded(engine)
        await engine.compact()
    (path,) = world.root.glob(f"topics/*/{PAGE}")
    return frontmatter.parse(path.read_text()).body


def lines_of(page: str) -> list[str]:
    lines = summary_text(page).splitlines()
    return [line.removeprefix("- ") for line in lines if line and not line.startswith("#")]


DEPLOYS = [
    ("workflow", "How to deploy", "Tag the release, push the tag, then run `just ship`."),
    ("decision", "Deploy days", "We deploy only on Tuesdays and Thursdays, because Ada is there."),
    ("lesson", "Deploy without smoke test", "A deploy without `just smoke` broke the station search for 40 minutes. "
     "Run `just smoke` before every deploy."),
    ("decision", "Deploy days", "Thursday was too close to the weekend. We deploy on Wednesdays only, from now on."),
]  # fmt: skip


async def test_a_page_says_each_rule_and_below_it_the_earlier_rule_that_it_may_change(toy_world: World) -> None:
    page = await page_of(toy_world, DEPLOYS)
    assert lines_of(page) == [
        "Deploy without smoke test: Run `just smoke` before every deploy.",
        "How to deploy: Tag the release, push the tag, then run `just ship`.",
        "Deploy days: We deploy on Wednesdays only, from now on.",
        "  - earlier (2026-11-23): Deploy days: We deploy only on Tuesdays and Thursdays, because Ada is there.",
    ]
    listed = [line for line in page.partition(CHILDREN)[2].splitlines() if line.startswith("- ")]
    assert len(listed) == len(DEPLOYS) and [line.endswith(", replaced)") for line in listed].count(True) == 1


async def test_what_may_be_changed_has_its_day_below_the_offhand_note_that_may_change_it(toy_world: World) -> None:
    notes = [
        ("decision", "Greasing the main bearing", "Every six months, 400 g of Klüber."),
        ("decision", "Blade bearings", "The cartridge is filled on the visit."),
        ("decision", "Storm", "Lightning within 30 km: everybody down."),
        (
            "note",
            "Visit of the maker",
            "Anders came. The main bearing needs four months between greasing, fine.",
        ),
    ]
    lines = lines_of(await page_of(toy_world, notes))
    at = next(at for at, line in enumerate(lines) if line.startswith("Visit of the maker: Anders came."))
    assert lines[at + 1] == "  - 2026-11-22: Greasing the main bearing: Every six months, 400 g of Klüber."


async def test_a_note_that_joins_a_topic_is_compared_with_its_notes(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        for part in (DEPLOYS[:3], DEPLOYS[3:]):
            for kind, title, text in part:
                toy_world.later(days=1)
                await engine.append(text, title=title, kind=kind, project="harbor")
            await embedded(engine)
            await engine.compact()
    (path,) = toy_world.root.glob(f"topics/*/{PAGE}")
    assert "now on.\n  - earlier (2026-11-23): Deploy days: We deploy only on Tuesdays" in path.read_text()


async def test_notes_of_one_day_have_no_order(toy_world: World) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        for hours in (4, 2, 1):
            await engine.append(f"Parcels wait {hours} hours at the depot.", title="Parcels", project="harbor")
        await embedded(engine)
        await engine.compact()
    (path,) = toy_world.root.glob(f"topics/*/{PAGE}")
    assert "earlier" not in path.read_text()


async def test_a_line_is_clear_without_its_note(toy_world: World) -> None:
    page = await page_of(
        toy_world,
        [
            ("decision", "telemetry is protobuf now", "nanopb frames over UDP port 9870; the CSV lines are gone."),
            ("preference", "PlatformIO, no Arduino IDE", "One platformio.ini per robot, as pinned versions differ."),
            ("decision", "Cloud robots?", "We looked at them for a week. Too dear, we leave it."),
            ("lesson", "~~~ the elbow shook", "Put 2200 uF across the supply of the elbow."),
            ("fact", "Battery", "The battery lasts two hours."),
            ("note", "Spare parts", "Kasia brings the spare parts of the robots on Sunday."),
        ],
    )
    assert lines_of(page) == [
        "Put 2200 uF across the supply of the elbow.",
        "Cloud robots? We looked at them for a week. Too dear, we leave it.",
        "PlatformIO, no Arduino IDE: One platformio.ini per robot, as pinned versions differ.",
        "Telemetry is protobuf now: nanopb frames over UDP port 9870; the CSV lines are gone.",
        "The battery lasts two hours.",
    ]


async def test_of_a_long_note_the_page_says_its_rules(toy_world: World) -> None:
    story = "The team met in the old hall and spoke about the harbor and the trams for two long hours. " * 2
    notes: list[Note] = [
        ("decision", f"Rule of {place}", f"{story}\n\nBoats at {place} never leave before noon. {story}")
        for place in ("Oslo", "Bergen", "Turku")
    ]
    assert lines_of(await page_of(toy_world, notes)) == [
        f"Rule of {place}: Boats at {place} never leave before noon." for place in ("Turku", "Bergen", "Oslo")
    ]


async def test_a_page_above_topics_says_the_rules_of_each_newest_first(toy_world: World) -> None:
    rules = {"payments": "The card of a {} is never charged twice.", "deploy": "A rollback of the {} needs two people."}
    things = ("ferry", "tram", "crane", "gate", "pier", "lock")
    async with toy_world.engine(topics=replace(ALL_AT_ONCE, by_subject=True, leaf_cosine=0.0)) as engine:
        for thing in things:
            for subject, rule in rules.items():
                toy_world.later(days=1)
                await engine.append(rule.format(thing), tags=["backend", subject, thing], project="harbor")
        await embedded(engine)
        await engine.compact()
    page = frontmatter.parse((toy_world.root / "topics/01-harbor" / PAGE).read_text()).body
    assert lines_of(page) == [
        f"{subject.capitalize()}: {' '.join(map(rules[subject].format, newest))}"
        for subject, newest in (("deploy", things[:2:-1]), ("payments", things[::-1]))
    ]


async def test_a_page_above_topics_keeps_the_subject_that_their_notes_share(toy_world: World) -> None:
    facts = ("opens at {}", "closes at {}", "costs {} coins", "seats {} people", "was built {} years ago")
    async with toy_world.engine(topics=replace(ALL_AT_ONCE, by_subject=True, leaf_cosine=0.0)) as engine:
        for number, fact in enumerate(facts, 3):
            for subject in ("food", "hotels"):
                toy_world.later(days=1)
                await engine.append(f"One {fact.format(number)}, {subject}.", tags=["japan-trip", subject])
        await embedded(engine)
        await engine.compact()
    pages = toy_world.root.glob(f"topics/**/{PAGE}")
    titles = sorted(str(frontmatter.parse(page.read_text()).meta["title"]) for page in pages)
    assert titles == ["Food", "Hotels", "Japan trip"]
