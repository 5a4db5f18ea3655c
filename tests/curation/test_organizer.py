"""Pages of projects, people and services: what holds now, each fact once, and nothing that may not be told."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_memory.models import NoteState
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, found, paths

pytestmark = pytest.mark.anyio

DEPLOY = "We deploy the shop with Nomad, to eu-central-1."


async def stocked(engine: KeywordEngine, world: World) -> None:
    """Of two projects, with a person and a service in several facts."""
    for content, kind, project in [
        (DEPLOY, "decision", "shop"),
        ("Petra leads the design team.", "fact", "shop"),
        ("Petra chooses the logo, so ask Petra first.", "preference", None),
        ("Petra checks the invoices on Mondays.", "fact", "billing"),
        ("The queue is behind Nomad.", "fact", "billing"),
        ("A task restarts if Nomad needs memory.", "fix", "shop"),
        ("Renew the certificate.", "task", "shop"),
    ]:
        world.later(days=content.startswith("Petra checks"))
        await engine.append(content, kind=kind, project=project)


def page(world: World, path: str) -> str:
    return world.read(path).decode()


async def test_a_page_for_each_project_and_name_and_an_index_of_them(world: World):
    async with world.engine() as engine:
        await stocked(engine, world)
        await engine.append("Moved the database to port 5433.", kind="log", title="Database moved", project="shop")
        written = await engine.organize()
        assert sorted(written) == [
            "INDEX.md", "entities/names/petra.md", "entities/projects/billing.md",
            "entities/projects/shop.md",
        ]  # fmt: skip
        shop = page(world, "entities/projects/shop.md")
        file = "../../notes/decision/we-deploy-the-shop-with-nomad-to-eu-central-1.md"
        assert f"- {DEPLOY} (said once by you, 2026-11-21; [" in shop and f"]({file}), line 9)" in shop
        logged = "Moved the database to port 5433. (said once by you, 2026-11-22; ["
        assert f"- {logged}" in shop.rpartition("\n- ")[1] + shop.rpartition("\n- ")[2] and "logo" not in shop
        assert page(world, "entities/names/petra.md").count("Petra") >= 4
        index = page(world, "INDEX.md")
        assert len(index.encode()) <= 2000 and "Nomad, to" not in index
        assert "[Petra](./entities/names/petra.md) (names, 3)" in index
        assert await engine.organize() == [], "nothing new writes nothing"
        assert not [path for path in await found(engine, "Petra design") if path.startswith("entities")]
        assert "entities/names/petra.md" in await found(engine, "Petra design", path="entities")
        assert "MEMORY.md" not in world.files()


async def test_pages_appear_once_three_subjects_have_two_claims_and_stay_away_without_their_index(world: World):
    async with world.engine() as engine:
        for content in ("Dora Pelikan leads design.", "Dora Pelikan is in on Mondays.", "Dora Pelikan is kind."):
            await engine.append(content, kind="fact", project="shop")
            world.later(days=1)
        for content in ("Jonas Ferrant leads sales.", "Jonas Ferrant is off."):
            await engine.append(content, kind="fact")
        assert (await engine.run_job("pages"))["changed"] == [], "a project and a name have two claims"
        await engine.append("Jonas Ferrant is in on Fridays.", kind="fact")
        assert (await engine.run_job("pages"))["changed"] == []
        world.later(days=1)
        await engine.append("Jonas Ferrant has a key.", kind="fact")
        assert "entities/names/jonas-ferrant.md" in (await engine.run_job("pages"))["changed"]
        (world.root / "INDEX.md").unlink()
        await engine.sweep()
        await engine.append("Dora Pelikan chooses the fonts.", kind="fact", project="shop")
        assert (await engine.run_job("pages"))["changed"] == [] and "INDEX.md" not in world.files()


async def test_only_what_holds_and_may_be_told_is_on_a_page(world: World):
    async with world.engine() as engine:
        await stocked(engine, world)
        old = await engine.append("The API listens on port 8087.", kind="fact", project="shop")
        await engine.append("The API listens on port 8090.", kind="fact", project="shop", supersedes=old.id)
        await engine.append("The salary of Petra is secret.", kind="fact", project="shop", tags=["private"])
        await engine.append("A stranger said that Petra left.", kind="fact", project="channel:x")
        await engine.append("Petra sees a doctor.", kind="log", project="shop", tags=["private"])
        await engine.organize()
        text = "".join(data.decode() for path, data in world.files().items() if path.startswith("entities"))
        assert "8090" in text and "8087" not in text
        assert "salary" not in text and "stranger" not in text and "doctor" not in text


@pytest.mark.parametrize(("one", "other", "is_same"), [
    ("The nightly backup runs at 02:15 on the old server", "The nightly backup runs at 02:15 on the old servers", True),
    ("The nightly backup runs at 02:15 on the old server", "The nightly backup runs at 02:45 on the old server", False),
    ("The nightly backup runs on the server of Petra", "The nightly backup runs on the server of Jonas", False),
    ("The nightly backup runs on the old server", "The nightly backup does not run on the old server", False),
])  # fmt: skip
async def test_facts_are_one_only_if_numbers_names_and_negations_agree(
    world: World, one: str, other: str, is_same: bool
):
    async with world.engine() as engine:
        for content in (one, other):
            await engine.append(content, kind="fact", project="shop")
        await engine.organize()
        assert page(world, "entities/projects/shop.md").count("\n- The nightly") == (1 if is_same else 2)


async def test_a_forgotten_fact_is_withheld_at_once_and_gone_with_the_next_run(world: World):
    async with world.engine() as engine:
        await stocked(engine, world)
        log = await engine.append("Moved the database.", kind="log", title="Database moved", project="shop")
        await engine.organize()
        for target in (log.id, "notes/decision/we-deploy-the-shop-with-nomad-to-eu-central-1.md"):
            await engine.forget(target)
            assert "withheld" in await engine.recall(path="entities/projects/shop.md")
            assert not await found(engine, "deploy database", path="entities/projects")
            assert "entities/projects/shop.md" in await engine.organize()
            assert "withheld" not in await engine.recall(path="entities/projects/shop.md")
        assert "eu-central-1" not in page(world, "entities/projects/shop.md")


async def test_a_page_that_you_change_or_delete_stays_so_and_one_without_facts_says_so(world: World):
    async with world.engine() as engine:
        await stocked(engine, world)
        await engine.organize()
        world.write("entities/projects/shop.md", "# Mine\n")
        (world.root / "entities/names/petra.md").unlink()
        await engine.sweep()
        for path in paths(engine, NoteState.ACTIVE):
            if path.startswith("notes"):
                await engine.forget(path)
        await engine.organize()
        assert page(world, "entities/projects/shop.md") == "# Mine\n" and "petra.md" not in str(world.files())
        assert "Nothing that is stored holds now." in page(world, "entities/projects/billing.md")
        assert "billing" not in page(world, "INDEX.md")


STATEMENTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["Petra leads {}.", "We run {} on Nomad.", "{} listens on port 5433.", "Never touch {} `x`[1]|."]
        ),
        st.sampled_from(["design", "the api", "böck & söhne", "sales"]),
        st.sampled_from(["fact", "decision", "task", "log"]),
        st.sampled_from(["shop", "Blog 2", None]),
    ),
    max_size=12,
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(statements=STATEMENTS, gone=st.integers(0, 3))
async def test_the_same_facts_make_the_same_bytes(
    world: World, statements: list[tuple[str, str, str, str | None]], gone: int
):
    async with world.engine() as engine:
        for form, about, kind, project in statements:
            world.later(minutes=1)
            await engine.append(form.format(about), kind=kind, project=project)
        for path in [path for path in paths(engine, NoteState.ACTIVE) if path.startswith("notes/")][:gone]:
            await engine.forget(path)
        await engine.organize()
        before = world.files()
        assert await engine.organize() == [] and world.files() == before
        ours = {path for path in before if path.startswith("entities") or path == "INDEX.md"}
        assert ours == set(paths(engine, NoteState.SUMMARY))
