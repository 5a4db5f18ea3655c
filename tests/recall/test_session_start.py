"""What every session starts with: each part has its share, the newest first, and nothing comes twice."""

from __future__ import annotations

import pytest

from mcp_memory.recall.config import RecallConfig
from mcp_memory.recall.session_start import MOST_OF_KINDS
from mcp_memory.text.tokens import count_tokens
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.vault.journals.tombstones import Caller
from tests.support.briefings import begun
from tests.support.world import World

pytestmark = pytest.mark.anyio

LONG = "# Ours\n\n" + "".join(f"- The heron of day {day} nests in alder number {day}.\n" for day in range(500))


async def test_a_long_memory_file_leaves_no_part_out(world: World) -> None:
    world.write("MEMORY.md", LONG)
    async with world.engine() as engine:
        for number in range(12):
            await engine.append(f"We chose mill {number}: {'it grinds finer ' * 5}.", kind="decision", project="mill")
            world.later(hours=1)
        await engine.append("We chose barges.", kind="decision", project="harbor")
        await engine.append("Answers are short.", kind="preference")
        await engine.append("The sluice was oiled.", kind="log")
        await engine.append("The miller is Ada.", kind="fact", project="mill")
        told = await engine.recall(project="mill")
        assert count_tokens(told) <= 4000 and 'memory_recall path="MEMORY.md" lines="' in told
        assert [f"mill {number}:" in told for number in range(12)] == [True] * 12
        assert all(words in told for words in ("heron of day 0", "Answers are short", "sluice was oiled", "is Ada"))
        assert "barges" not in told, "another project's"
        assert told.index("mill 11:") < told.index("mill 0:")
        alone = await engine.recall(project="other")
        assert alone.count("heron") > told.count("heron"), "what one part leaves goes to the others"


async def test_nothing_is_listed_twice(world: World) -> None:
    words = "We decided to grind rye on Mondays only."
    world.write("MEMORY.md", f"# Ours\n\n- {words}\n")
    async with world.engine() as engine:
        await engine.append(words, kind="decision")
        await engine.append(words, kind="log")
        await engine.append("The mill stands at Bohus by the ford.", kind="fact")
        await engine.append("Rye is stored dry, above the wheel.", kind="preference")
        told = await engine.recall()
        assert told.count("rye on Mondays") == told.count("by the ford") == told.count("above the wheel") == 1


async def test_an_agent_that_asks_gets_statements_of_decisions_and_beginnings_of_notes(world: World) -> None:
    async with world.engine(recall=RecallConfig(start_budget_tokens=500)) as engine:
        for number in range(8):
            why = f"Mill {number} grinds finer than the others. " * 20
            await engine.append(f"We chose mill {number}.\n\n{why}", kind="decision")
            world.later(hours=1)
        await engine.append("How to grind.\n\n" + "- Then turn the wheel once more.\n" * 300, kind="workflow")
        told = await engine.recall()
        assert count_tokens(told) <= 500
        assert [f"mill {number}." in told for number in range(8)] == [True] * 8 and "finer" not in told
        assert "How to grind." in told and 5 < told.count("turn the wheel") < 25
        assert "; files in " in told and ".md:" in told, "the rest is a file away"


async def test_the_last_five_notes_and_no_imported_ones(world: World) -> None:
    async with world.engine() as engine:
        for number in range(7):
            await engine.append(f"Fact {number} is about weir {number}.", kind="fact")
            world.later(days=1)
        world.write("elsewhere.md", "---\ncreated: 2026-12-24\nid: 01ELSEWHERE\nsource: import\n---\nFrom elsewhere.\n")
        told = await engine.recall()
        assert [f"weir {number}." in told for number in range(7)] == [False] * 2 + [True] * 5
        assert told.index("weir 6.") < told.index("weir 2.")


async def test_a_hook_tells_little_of_many_notes_but_all_that_is_curated(world: World) -> None:
    kinds = ("preference", "decision", "fact", "fix", "log")
    async with world.engine() as engine:
        for number in range(150):
            said = f"Heron {number} is always counted at weir {number * 7} by Ada{number}, never by Bo{number}."
            await engine.append(said, kind=kinds[number % len(kinds)], project="mill")
        usual = await begun(engine, project="mill")
        assert 200 < count_tokens(usual) <= 250 and ".md" not in usual and "2026" not in usual
        assert count_tokens(await engine.recall(project="mill")) > 1000, "who asks gets more"
        world.write("MEMORY.md", "".join(f"- Curated fact {number} about the sluice.\n" for number in range(60)))
        await engine.sweep()
        curated = await begun(engine, project="mill")
        assert "Curated fact 59" in curated and "Heron" in curated and 400 < count_tokens(curated) < 1000


RULES = (
    ("decision", "Insulin pens are never stored above 25 degrees on the ward."),
    ("fact", "Schriftsätze gehen nie ohne Freigabe von Frau Kern raus."),
    ("lesson", "Console builds go through Perforce, without exceptions, always."),
    ("decision", "Le levain ne doit jamais dépasser 28 degrés."),
    ("fact", "Los precios del catálogo siempre van con IVA incluido."),
    ("decision", "Every recipe file names its allergens in the head."),
)
MOMENTS = (
    ("fact", "Until Friday always use the backup oven in the cellar."),
    ("fact", "Heute nie ohne Handschuhe an den Ofen, ab morgen wieder normal."),
    ("decision", "It must never go there again, they said."),
    ("decision", "Should the oven always be cleaned by the baker?"),
    ("fact", "The third delivery of rye was never weighed by the driver."),
    ("fact", "The rye delivery of the northern mill arrived at noon."),
    ("fix", "The oven never starts without its fuse; a new fuse mended it."),
)


async def test_a_start_has_preferences_and_rules_and_no_reports_of_the_moment(world: World) -> None:
    async with world.engine() as engine:
        for kind, text in (*RULES, *MOMENTS, ("preference", "Answers are short and in full sentences.")):
            await engine.append(text, kind=kind, project="mill")
        told = await begun(engine, project="mill")
    assert [text for _, text in RULES if text not in told] == []
    assert [text for _, text in MOMENTS if text in told] == []
    assert told.index("Answers are short") < told.index("Every recipe"), "preferences first, then the newest"
    assert count_tokens(told) <= 250


async def test_a_rule_stands_once_and_a_long_one_is_cut_to_its_sentence(world: World) -> None:
    rule = "Reminders never go out without Ada's approval."
    async with world.engine() as engine:
        await engine.append("Without Ada's approval, reminders never go out.", kind="fact")
        world.later(hours=1)
        await engine.append(
            f"{'The office was asked about it for a long time. ' * 5}{rule} Bo agreed.", kind="decision"
        )
        told = await begun(engine)
    assert told.count("Reminders") == 1 and rule in told and "for a long time" not in told


async def test_a_line_leaves_the_reason_to_the_note(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("Never drop columns, because Bo reads them; adding is fine.", kind="decision")
        await engine.append("Wir nehmen immer PDF, weil Word die Tabellen zerreißt. Nie CSV.", kind="preference")
        told = await begun(engine)
    assert "Never drop columns; adding is fine." in told and "Wir nehmen immer PDF. Nie CSV." in told


async def test_what_holds_for_a_time_comes_first_and_ends(world: World) -> None:
    freeze = "The wall must not be deployed to until Friday 27 November 2026. Merging is fine."
    async with world.engine() as engine:
        await engine.append(freeze, kind="decision", project="wall")
        for rule in ("Answers are short.", "Tests run before every commit."):
            await engine.append(rule, kind="preference")
        assert (await begun(engine, "a", project="wall")).splitlines()[1].endswith(freeze)
        await engine.append("No deploys this week, code freeze.", kind="fact", project="wall", expires="2026-11-28")
        assert "No deploys this week" in await begun(engine, "b", project="wall")
        for what in ("Gel des mises en prod du 25 au 28 novembre.", "Die Seiten tragen bis Samstag ein Banner."):
            await engine.append(what, kind="decision", project="wall", expires="2026-11-28")
            assert what in (await begun(engine, what, project="wall")).partition("Tests run")[0]
        world.later(days=8)
        assert "deploy" not in await begun(engine, "c", project="wall")


async def test_duties_and_what_holds_for_a_time_leave_half_of_a_start_to_the_rules(world: World) -> None:
    timed = (
        "Until Friday 27 November 2026 Ann is away in the afternoons; what is urgent goes to Bo by telephone.",
        "Until Friday 27 November 2026 no reminder goes to the workshop; from Saturday on it gets them again.",
    )
    words = "On Sunday 22 November 2026 take the {} to the tax office before ten, and print its form before that"
    duties = [words.format(one) for one in ("forms", "letters", "cards")]
    async with world.engine() as engine:
        await engine.append("Ann wants short answers, without politeness.", kind="preference")
        for word in ("bread", "cakes", "wages", "ovens", "cats", "dogs"):
            await engine.append(f"Letters about {word} never begin with dear.", kind="decision")
        for text in timed:
            await engine.append(text, kind="decision", expires="2026-11-27")
        for number, text in enumerate(duties):
            await engine.append(text, kind="commitment", due=f"2026-11-{21 + number % 2}")
        await engine.append("Pay the bill of the mill.", kind="commitment", due="2026-11-10")
        told = await begun(engine)
        print(told)
        assert count_tokens(told) <= 250 and all(text in told for text in timed)
        assert "short answers" in told and told.count("Letters about") >= 3
        assert told.count("Due to") == 2 and told.count("Overdue") == 1 and "print its form" not in told
        assert "print its form" in await engine.recall("which form to print for the cards, and when")


async def test_a_projects_own_rules_and_those_for_everything_take_turns(world: World) -> None:
    words = ["bread", "cakes", "wages", "ovens", "cats"]
    async with world.engine() as engine:
        for word in words:
            await engine.append(f"Letters about {word} never begin with dear.", kind="workflow")
            await engine.append(f"The script for {word} must not run at night.", kind="workflow", project="mill")
        told = [
            line for line in (await begun(engine, project="mill")).splitlines() if "never" in line or "must" in line
        ]
    assert ["script" in line for line in told] == [True, False] * (len(told) // 2) + [True] * (len(told) % 2)
    assert len(told) >= 4


DEPLOY = "Never deploy the shop to production on Fridays."
USERS = "Never delete rows of the users table in production."


@pytest.mark.parametrize(
    ("curated", "newer"),
    [
        ("# Deploy\n", None),
        ("- shop\n", None),
        ("## Never deploy the shop to production on Fridays\n", None),
        ("", "Always deploy the shop to production on Fridays."),
        ("", "Deploy the shop to production on Fridays as a rule."),
        ("- Never deploy the shop to production.\n", None),
    ],
)
async def test_a_rule_is_not_dropped_for_a_heading_a_short_line_or_the_opposite(
    world: World, curated: str, newer: str | None
) -> None:
    world.write("MEMORY.md", curated)
    async with world.engine() as engine:
        for text in filter(None, (DEPLOY, USERS.replace("users", "orders"), USERS, newer)):
            await engine.append(text, kind="preference")
            world.later(hours=1)
        told = await begun(engine)
    assert DEPLOY in told and USERS in told and "orders table" in told


async def test_many_newer_facts_crowd_out_no_preference_and_no_decision(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(DEPLOY, kind="preference")
        await engine.append("Sessions are kept in Postgres, beside the accounts.", kind="decision")
        world.later(hours=1)
        for number in range(MOST_OF_KINDS + 1):
            await engine.append(f"Weir {number} was built of alder and oak.", kind="fact")
        told = await begun(engine)
    assert DEPLOY in told and "kept in Postgres" in told


async def test_a_decision_in_use_comes_before_a_newer_one(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("Sessions are kept in Postgres, beside the accounts.", kind="decision")
        await engine.append("Mail goes through the relay of the harbor office.", kind="decision")
        for _ in range(2):
            await engine.recall("where are sessions kept")
            world.later(days=1)
        told = await begun(engine)
    assert told.index("kept in Postgres") < told.index("relay")


async def test_many_preferences_fill_their_room_with_the_newest(world: World) -> None:
    async with world.engine() as engine:
        for number in range(60):
            await engine.append(f"Ada prefers paddle {number} for the wheel.", kind="preference")
            world.later(hours=1)
        told = await begun(engine)
    shown = [number for number in range(60) if f"paddle {number} for" in told]
    assert len(shown) > 5 and shown == list(range(60 - len(shown), 60)) and "left out" not in told


async def test_many_newer_notes_of_your_own_hide_none_that_agents_stored(world: World) -> None:
    """In a vault that you had before, where files of yours may claim any kind."""
    for number in range(MOST_OF_KINDS + 1):
        world.write(
            f"Daily/{number}.md", f"---\nkind: preference\ncreated: 2026-12-24\n---\nHeron {number} was seen.\n"
        )
    async with world.with_home("Agent").engine() as engine:
        await engine.append("Ada wants short answers.", kind="preference")
        for number in range(5):  # the last five stored
            world.later(days=1)
            await engine.append(f"Fact {number} is about weir {number}.", kind="fact")
        told = await engine.recall()
    assert "Ada wants short answers." in told and "Heron" not in told


async def test_a_fresh_tail_is_shown_whole_where_it_is_set(world: World) -> None:
    notes = [f"Day {day}: the kiln fired at cone {day}.\n\nThe glaze ran a little on shelf {day}." for day in range(5)]
    for count in (0, 3):
        async with world.engine(topics=TopicsConfig(automatic=False, fresh_tail_count=count)) as engine:
            for note in notes:
                await engine.append(note)
                world.later(hours=1)
            start = await begun(engine, f"session-{count}")
        told = [f"glaze ran a little on shelf {day}" in start for day in range(5)]
        assert told == [False, False, *[count > 0] * 3]


async def test_a_line_names_its_author_if_that_is_another_agent(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("From now on the starter is fed at five.", kind="decision", source="baker")
        await engine.append("The oven door always stays shut.", kind="decision", source="cli")
        for client, names_baker in (("orchestrator", True), ("baker", False)):
            told = (await engine.ask("recall", Caller(client)))["text"]
            assert "fed at five" in told and ("by baker: From now on" in told) is names_baker
            assert "The oven door" in told and "by cli" not in told, "a person's own"
