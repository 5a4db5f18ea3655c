"""Proposals, retired notes and ideas that incubate: an answer has them only if it is asked for them."""

from __future__ import annotations

import pytest

from tests.support.world import World

pytestmark = pytest.mark.anyio

QUESTION = "which port does the sluice gate use"


@pytest.mark.parametrize(
    ("folder", "wanted"), [("_inbox", "include_inbox"), ("_archive", "include_archived")], ids=["inbox", "archive"]
)
async def test_search_and_recall_cover_a_reserved_folder_on_request(world: World, folder: str, wanted: str) -> None:
    world.with_home("").write(f"{folder}/gate.md", "The sluice gate uses port 9141.\n")
    async with world.engine() as engine:
        assert not (await engine.search(QUESTION)).hits
        assert "9141" not in await engine.recall(QUESTION)
        assert [hit.path for hit in (await engine.search(QUESTION, **{wanted: True})).hits] == [f"{folder}/gate.md"]
        assert "9141" in await engine.recall(QUESTION, **{wanted: True})


async def test_an_idea_that_incubates_is_found_but_begins_no_session(world: World) -> None:
    world.with_home("").write("_idea-incubator/gate.md", "---\nkind: decision\n---\nThe sluice gate could be solar.\n")
    async with world.engine() as engine:
        await engine.append("The weir keeper has a boat.", kind="decision")
        found = await engine.search("could the sluice gate be solar")
        start = await engine.recall()
    assert [hit.path for hit in found.hits][:1] == ["_idea-incubator/gate.md"]
    assert "boat" in start
    assert "solar" not in start
