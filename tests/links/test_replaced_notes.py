"""A line `- replaces: [[note]]` of an agent supersedes the note, as `supersedes` does."""

from __future__ import annotations

import pytest

from tests.support.world import World

pytestmark = pytest.mark.anyio


async def test_an_agents_note_supersedes_what_its_line_replaces(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append("Invoices go through Mollie.", kind="decision")
        new = await engine.append(f"Invoices go through Stripe.\n\n- replaces: [[{old.id[-6:]}]]", kind="decision")
        assert new.superseded and new.superseded["id"] == old.id
        said = await engine.recall("what do invoices go through")
        assert "Stripe" in said and "Mollie" not in said
        (hit,) = [one for one in (await engine.search("invoices", include_archived=True)).hits if one.id == old.id]
        assert (hit.status, hit.superseded_by) == ("superseded", new.id)
        assert (await engine.perform("lint", {}))["found"] == []
        await engine.forget(new.id)
        assert "Mollie" in await engine.recall("what do invoices go through"), "active again, as after `supersedes`"


async def test_what_a_persons_line_replaces_is_named_by_the_check_until_it_is_retired(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append("The newsletter goes out on Mondays.", kind="decision")
        world.write("plans/newsletter.md", f"The newsletter goes out on Fridays.\n\n- replaces: [[{old.id[-6:]}]]\n")
        await engine.sweep()
        (found,) = (await engine.perform("lint", {}))["found"]
        assert (found["kind"], found["path"], found["leads_to"]) == ("active", "plans/newsletter.md", [old.path])
        await engine.forget(old.id)
        assert "active" not in [one["kind"] for one in (await engine.perform("lint", {}))["found"]]


async def test_a_persons_note_stays_as_it_is_and_the_check_names_it(world: World) -> None:
    path, text = "plans/invoices.md", "Invoices go through Mollie.\n"
    world.write(path, text)
    async with world.engine() as engine:
        await engine.append("Invoices go through Stripe.\n\n- replaces: [[plans/invoices]]", kind="decision")
        assert world.read(path).decode() == text
        (found,) = (await engine.perform("lint", {}))["found"]
        assert (found["kind"], found["leads_to"], found["why"]) == (
            "active",
            [path],
            f"to retire it: mcp-memory forget {path}",
        )


async def test_a_start_shows_no_remains_of_a_line_of_links(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append("Stripe charges more for cards.", kind="fact")
        await engine.append(f"Invoices always go through Mollie.\n- because: [[{old.id[-6:]}]]", kind="decision")
        assert "Mollie.\n" in f"{(await engine.brief('codex/s')).text}\n"
