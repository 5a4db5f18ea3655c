"""Claims: what notes say together, with evidence and what is against it; nothing that is forgotten or another's."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mcp_memory.curation.claims.claim import Claim, Evidence
from mcp_memory.curation.claims.statements import statements
from mcp_memory.errors import NotFound
from mcp_memory.models import Chunk, Etag, NoteId, NotePath, NoteRecord, NoteState, Passage
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import NOON, World, records

pytestmark = pytest.mark.anyio

PORT = "The API listens on port 8087."
LEADS = "Petra leads the design team."


async def stocked(engine: KeywordEngine) -> dict[str, str]:
    """Ids by text: two facts about Petra said twice, in two sessions, and a port that changed."""
    ids: dict[str, str] = {}
    for content, project, session in [
        (LEADS, "shop", "s1"), ("Petra leads the design team now.", "shop", "s2"),
        ("Ask Petra about the logo.", "shop", "s1"),
        ("Invoices are checked by Petra on Mondays.", "billing", "s3"), (PORT, "shop", "s1"),
        ("The API listens on port 8090 now.", "shop", "s2"),
    ]:  # fmt: skip
        receipt = await engine.append(content, kind="fact", project=project, session=session, source="codex")
        ids[content] = receipt.id
    await engine.conflicts()
    return ids


async def claims_about(engine: KeywordEngine, name: str, project: str | None = None) -> dict[str, dict[str, object]]:
    (found,) = (await engine.perform("claims", {"subject": name, "project": project}))["subjects"]
    return {one["text"]: one for one in found["claims"]}


def note(day: int, session: str | None, *, source: str | None = "codex", **rest: object) -> NoteRecord:
    at = datetime(2026, 11, day, tzinfo=UTC)
    place = NotePath(f"n{day}.md"), NoteId(f"{day}"), Etag(""), ""
    return NoteRecord(*place, "Ports", "fact", NoteState.ACTIVE, session=session, source=source, created=at, **rest)


def sure(*notes: NoteRecord, as_of: datetime = NOON) -> float:
    return Claim(tuple(Evidence(one, "x", 1) for one in notes), as_of).confidence


def test_independent_evidence_adds_up_and_age_takes_away() -> None:
    assert sure(note(2, "a"), note(1, "b")) > sure(note(2, "a"), note(1, "a")) == sure(note(2, "a"))
    assert sure(note(1, None, source=None)) > sure(note(1, "a")) > sure(note(1, "a", is_log=True))
    assert sure(note(1, "a", meta={"confirmed": ["2026-11-02"]})) == 0.95
    assert sure(note(1, "a"), as_of=datetime(2027, 12, 1, tzinfo=UTC)) < sure(note(1, "a"))


def test_a_statement_stands_alone_and_knows_its_line() -> None:
    text = "The API listens on 8410. It moved in May.\n\n- Metrics are on 9410.\n- Rejected:\n- Admin is on 8411."
    passage = Passage(1, 0, Chunk(text, 0, len(text), 9, 13), note(1, None))
    found = list(statements([passage]))
    assert found[0] == ("The API listens on 8410. It moved in May.", 9)
    assert found[1:] == [("Ports: Metrics are on 9410.", 11), ("Ports: Admin is on 8411.", 13)]


def test_reasons_and_what_was_rejected_are_no_claims() -> None:
    text = "The API listens on 8410.\n\nWhy: 80 was taken.\n\nRejected:\n- Port 443: needs root.\n- Port 8080: Jenkins."
    passages = [
        Passage(1, at, Chunk(part, 0, len(part), 9 + at, 9 + at), note(1, None))
        for at, part in enumerate((text, "- Sockets: no Windows.\n\nClients read it from DNS."))
    ]
    assert [said for said, _ in statements(passages)] == [
        "The API listens on 8410.",
        "Ports: Clients read it from DNS.",
    ]


async def test_a_subject_has_what_holds_with_evidence_and_what_is_against_it(world: World) -> None:
    async with world.engine() as engine:
        ids = await stocked(engine)
        about = await claims_about(engine, "petra", "shop")
        assert sorted(about) == ["Ask Petra about the logo.", "Petra leads the design team now."], "not billing's"
        leads = about["Petra leads the design team now."]
        assert [one["session"] for one in leads["evidence"]] == ["s2", "s1"] and leads["confidence"] == 0.91
        shop = await claims_about(engine, "shop")
        assert not shop[PORT]["holds"] and shop[PORT]["refuted_by"]["id"] == ids["The API listens on port 8090 now."]
        assert shop["The API listens on port 8090 now."]["contradicts"][0]["text"] == PORT
        (by_words,) = (await engine.perform("claims", {"subject": "invoices Petra"}))["subjects"]
        assert (by_words["kind"], [one["text"] for one in by_words["claims"]]) == (
            "mentions", ["Invoices are checked by Petra on Mondays."],
        )  # fmt: skip
        with pytest.raises(NotFound, match="nothing is known"):
            await engine.perform("claims", {"subject": "Nobody"})


async def test_agents_get_claims_by_a_question_and_by_a_path(world: World) -> None:
    async with world.engine() as engine:
        ids = await stocked(engine)
        told = await engine.recall("What do we know about Petra?", project="shop")
        assert "2 claims about Petra" in told and "91% sure" in told and "Mondays" not in told
        assert told.count("leads the design team") == 1
        hits = (await engine.search("which port does the API listen on", path="@claims", project="shop")).hits
        assert [hit.id for hit in hits][:1] == [ids["The API listens on port 8090 now."]] and "80% of" not in hits[
            0
        ].snippet
        assert not any(hit.id == ids[PORT] for hit in hits), "what is contradicted holds no more"
        await engine.forget(ids["Ask Petra about the logo."])
        assert "logo" not in await engine.recall("What do we know about Petra?", project="shop")
        assert not (await engine.search("logo", path="@claims")).hits


async def test_beside_claims_about_a_person_nothing_is_told_of_others(world: World) -> None:
    async with world.engine() as engine:
        await stocked(engine)
        both = "Who does what in the shop:\n- Petra approves the drafts.\n- Jonas runs the design printers."
        await engine.append(both, kind="fact", project="shop", session="s4", source="codex")
        await engine.append("The design team meets at nine.", kind="fact", project="shop", session="s4")
        told = await engine.recall("What do we know about Petra?", project="shop")
        assert "3 claims about Petra" in told and told.count("approves the drafts") == 1
        assert "printers" not in told and "nine" not in told, "the one is in her note, the other near to it"
        assert "printers" in await engine.recall("Who runs the design printers?", project="shop")


async def test_a_decision_goes_into_the_notes_and_the_pages_follow(world: World) -> None:
    async with world.engine() as engine:
        ids = await stocked(engine)
        await engine.organize()
        dashboard = world.read("entities/_dashboard.md").decode()
        assert "## Open conflicts (1)" in dashboard and "8087 → 8090" in dashboard
        newer = ids["The API listens on port 8090 now."]
        await engine.settle("keep", newer)
        await engine.review("confirm", f"claim-{newer}")
        await engine.review("drop", f"claim-{ids[LEADS]}")
        about = await claims_about(engine, "shop")
        assert "Petra leads the design team now." not in about and LEADS not in about
        assert about["The API listens on port 8090 now."]["confidence"] == 0.95
        assert (await engine.perform("claim_problems", {}))["problems"][0]["kind"] == "orphan", (
            "until pages are written"
        )
        await engine.organize()
        assert "Nothing needs a decision." in world.read("entities/_dashboard.md").decode()
        assert "confirmed: ['2026-11-21']" in world.read(str(_path(engine, newer))).decode().replace('"', "'")


def _path(engine: KeywordEngine, note_id: str) -> NotePath:
    return next(note.path for note in records(engine) if note.id == note_id)
