"""Claims: what notes say together about a subject; no guesses, and nothing that is forgotten or another's."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mcp_memory.curation.claims.claim import Claim, Evidence
from mcp_memory.curation.claims.statements import statements
from mcp_memory.errors import NotFound
from mcp_memory.models import Chunk, Etag, NoteId, NotePath, NoteRecord, NoteState, Passage
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, records

pytestmark = pytest.mark.anyio

PORT = "The API listens on port 8087."
LEADS = "Petra leads the design team."


async def stocked(engine: KeywordEngine, world: World) -> dict[str, str]:
    """Ids by text: facts about Petra, one of them said in two sessions, and a port that has two values."""
    ids: dict[str, str] = {}
    for content, project, session in [
        (LEADS, "shop", "s1"), ("Petra leads the design team now.", "shop", "s2"),
        ("Ask Petra about the logo.", "shop", "s1"),
        ("Invoices are checked by Petra on Mondays.", "billing", "s3"), (PORT, "shop", "s1"),
        ("The API listens on port 8090 now.", "shop", "s2"), ("Petra is in room 12.", "shop", "s4"),
    ]:  # fmt: skip
        world.later(days=content.startswith("Petra is"))
        receipt = await engine.append(content, kind="fact", project=project, session=session, source="codex")
        ids[content] = receipt.id
    await engine.conflicts()
    return ids


async def claims_about(engine: KeywordEngine, name: str, project: str | None = None) -> dict[str, dict[str, Any]]:
    (found,) = (await engine.perform("claims", {"subject": name, "project": project}))["subjects"]
    return {one["text"]: one for one in found["claims"]}


def note(day: int, session: str | None, *, source: str | None = "codex", **rest: object) -> NoteRecord:
    at = datetime(2026, 11, day, tzinfo=UTC)
    place = NotePath(f"n{day}.md"), NoteId(f"{day}"), Etag(""), ""
    return NoteRecord(*place, "Ports", "fact", NoteState.ACTIVE, session=session, source=source, created=at, **rest)


def certainty(*notes: NoteRecord) -> str:
    return Claim(tuple(Evidence(one, "x", 1) for one in notes)).certainty


def test_certainty_counts_sessions_voices_and_days_in_words() -> None:
    assert certainty(note(2, "a"), note(1, "a")) == "noted once by codex, on 2 days since 2026-11-01"
    assert certainty(note(1, None, source=None)) == "said once by you, 2026-11-01"
    four = [note(day, f"s{day}", source="codex" if day > 2 else "cli") for day in (4, 3, 2, 1)]
    assert certainty(*four) == "said 4 times by you and codex, on 4 days since 2026-11-01"
    assert certainty(note(1, "a", meta={"confirmed": ["2026-11-02"]})).endswith(", confirmed by you")
    assert certainty(note(1, "a", meta={"voice": "said"})) == "said once by you, 2026-11-01"


def test_a_statement_stands_alone_and_knows_its_line() -> None:
    text = "The API listens on 8410. It moved in May.\n\n- Metrics are on 9410.\n- Rejected:\n- Admin is on 8411."
    passage = Passage(1, 0, Chunk(text, 0, len(text), 9, 13), note(1, None))
    found = [(one.text, one.line) for one in statements(passage.note, [passage])]
    assert found[0] == ("The API listens on 8410. It moved in May.", 9)
    assert found[1:] == [("Ports: Metrics are on 9410.", 11), ("Ports: Admin is on 8411.", 13)]


def test_reasons_and_what_was_rejected_are_no_claims() -> None:
    text = "The API listens on 8410.\n\nWhy: 80 was taken.\n\nRejected:\n- Port 443: needs root.\n- Port 8080: Jenkins."
    passages = [
        Passage(1, at, Chunk(part, 0, len(part), 9 + at, 9 + at), note(1, None))
        for at, part in enumerate((text, "- Sockets: no Windows.\n\nClients read it from DNS."))
    ]
    assert [one.text for one in statements(note(1, None), passages)] == [
        "The API listens on 8410.",
        "Ports: Clients read it from DNS.",
    ]


async def test_a_subject_has_what_holds_with_evidence_and_what_is_against_it(world: World) -> None:
    async with world.engine() as engine:
        await stocked(engine, world)
        about = await claims_about(engine, "petra", "shop")
        room = "Petra is in room 12."
        assert sorted(about) == ["Ask Petra about the logo.", room, "Petra leads the design team now."], "not billing's"
        leads = about["Petra leads the design team now."]
        assert [one["session"] for one in leads["evidence"]] == ["s2", "s1"]
        assert leads["certainty"] == "noted 2 times by codex, 2026-11-21"
        shop = await claims_about(engine, "shop")
        newer = shop["The API listens on port 8090 now."]
        assert shop[PORT]["holds"] and newer["holds"] and not newer["earlier"], "which is right isn't decided"
        assert newer["certainty"] == "noted once by codex, 2026-11-21"
        with pytest.raises(NotFound, match="nothing is known"):
            await engine.perform("claims", {"subject": "Nobody"})


async def test_agents_get_claims_by_a_question_and_by_a_path(world: World) -> None:
    async with world.engine() as engine:
        ids = await stocked(engine, world)
        told = await engine.recall("What do we know about Petra?", project="shop")
        assert "3 claims about Petra" in told and "noted 2 times by codex" in told and "Mondays" not in told
        assert told.count("leads the design team") == 1
        hits = (await engine.search("which port does the API listen on", path="@claims", project="shop")).hits
        assert [hit.id for hit in hits][:1] == [ids["The API listens on port 8090 now."]] and "%" not in hits[0].snippet
        await engine.forget(ids["Ask Petra about the logo."])
        assert "logo" not in await engine.recall("What do we know about Petra?", project="shop")
        assert not (await engine.search("logo", path="@claims")).hits


async def test_beside_claims_about_a_person_nothing_is_told_of_others(world: World) -> None:
    async with world.engine() as engine:
        await stocked(engine, world)
        both = "Who does what in the shop:\n- Petra approves the drafts.\n- Jonas runs the design printers."
        await engine.append(both, kind="fact", project="shop", session="s4", source="codex")
        await engine.append("The design team meets at nine.", kind="fact", project="shop", session="s4")
        told = await engine.recall("What do we know about Petra?", project="shop")
        assert "4 claims about Petra" in told and told.count("approves the drafts") == 1
        assert "printers" not in told and "nine" not in told, "the one is in her note, the other near to it"
        assert "printers" in await engine.recall("Who runs the design printers?", project="shop")


async def test_a_decision_goes_into_the_notes_and_the_pages_follow(world: World) -> None:
    async with world.engine() as engine:
        ids = await stocked(engine, world)
        await engine.organize()
        assert "1 contradiction to decide" in world.read("INDEX.md").decode()
        (open_conflict,) = (await engine.perform("claim_problems", {}))["problems"]
        assert "8087 → 8090" in open_conflict["text"]
        newer = ids["The API listens on port 8090 now."]
        await engine.settle("keep", newer)
        await engine.review("confirm", f"claim-{newer}")
        await engine.review("drop", f"claim-{ids[LEADS]}")
        about = await claims_about(engine, "shop")
        assert "Petra leads the design team now." not in about and LEADS not in about
        assert about["The API listens on port 8090 now."]["certainty"].endswith("confirmed by you")
        assert (await engine.perform("claim_problems", {}))["problems"][0]["kind"] == "orphan", (
            "until pages are written"
        )
        await engine.organize()
        assert "0 contradictions to decide" in world.read("INDEX.md").decode()
        assert "confirmed: ['2026-11-22']" in world.read(str(_path(engine, newer))).decode().replace('"', "'")


def _path(engine: KeywordEngine, note_id: str) -> NotePath:
    return next(note.path for note in records(engine) if note.id == note_id)


async def stored(engine: KeywordEngine, world: World, *notes: str, **rest: Any) -> None:
    """Store a note a day."""
    for content in notes:
        await engine.append(content, kind="fact", session=content[:9], **rest)
        world.later(days=1)


async def names_of(engine: KeywordEngine) -> set[str]:
    return {one["name"] for one in (await engine.perform("claims", {}))["subjects"] if one["kind"] == "names"}


@pytest.mark.parametrize(("notes", "name"), [
    (("Dora Pelikan leads design.", "Dora Pelikan is in room 12.", "Dora is off on Mondays."), "Dora Pelikan"),
    (("Petra leads design.", "Petra is in room 12.", "Petra is off on Mondays. Ask Petra first."), "Petra"),
    (("route-svc2 plans tours.", "route-svc2 keeps them a day.", "route-svc2 runs on lx07."), "route-svc2"),
    (("`cuckoo` runs the playout.", "cuckoo's disk died.", "cuckoo is in rack 2."), "cuckoo"),
    (("Bäckerei Sandhorst liefert Brot.", "Bäckerei Sandhorst hat zu.", "Bäckerei Sandhorst ist teurer."),
     "Bäckerei Sandhorst"),
    (("La Ruche ferme à six heures.", "Odile Ferrand relit.", "Odile Ferrand signe.", "Odile Ferrand part."),
     "Odile Ferrand"),
])  # fmt: skip
async def test_a_name_that_three_notes_of_two_days_begin_with_is_a_subject(
    world: World, notes: tuple[str, ...], name: str
) -> None:
    async with world.engine() as engine:
        *others, last = notes
        await stored(engine, world, *others)
        assert await names_of(engine) == set()
        await stored(engine, world, last)
        assert await names_of(engine) == {name}


@pytest.mark.parametrize("notes", [
    ("The key is with Petra.", "Ask Petra about it.", "It was sold by Petra."),
    ("Invoices are due.", "Invoices are sent by mail.", "Invoices are kept. We keep invoices."),
    ("Kasse stimmt.", "Kasse bleibt bei Uwe.", "Kasse ist voll. Die Kasse ist leer."),
    ("In May nothing ships.", "May is full.", "May has holidays.", "May is over. See May."),
    ("Monday is free.", "Monday is full.", "Monday is long. Not Monday."),
    ("She is in.", "She is off.", "She is back."),
    ("pip install is slow.", "pip install fails.", "pip install works."),
    ("Encoder points to A.", "Encoder restarts.", "Encoder is old."),
])  # fmt: skip
async def test_names_in_passing_common_words_and_days_are_no_subjects(world: World, notes: tuple[str, ...]) -> None:
    async with world.engine() as engine:
        await stored(engine, world, *notes)
        assert await names_of(engine) == set()


async def test_three_notes_of_one_day_are_too_few_unless_a_person_tagged_or_linked_the_name(world: World) -> None:
    async with world.engine() as engine:
        for content in ("Dora Pelikan leads design.", "Dora Pelikan is in room 12.", "Dora Pelikan is off."):
            await engine.append(content, kind="fact")
        await engine.append("Cem Aydin has the key.", kind="fact", tags=["cem-aydin"])
        await engine.append("Hugo Lind is new here.", kind="fact")
        await engine.append("Ring [[Hugo Lind]] first.", kind="fact")
        await engine.append("Eva Stolz stands in.", kind="fact", tags=["eva-stolz"], source="codex")
        assert await names_of(engine) == {"Cem Aydin", "Hugo Lind"}


async def test_statements_are_whole_and_only_where_they_name_the_subject(world: World) -> None:
    long = f"Dora Pelikan has the list of {', '.join(f'room {number}' for number in range(50))}."
    async with world.engine() as engine:
        await stored(engine, world, "Dora Pelikan leads design, and sales.", "Dora Pelikan is off. Ring twice.", long)
        assert sorted(await claims_about(engine, "Dora Pelikan")) == [
            long, "Dora Pelikan is off.", "Dora Pelikan leads design, and sales.",
        ]  # fmt: skip


@pytest.mark.parametrize("guess", [
    "Dora Pelikan is perhaps a lawyer.", "Dora Pelikan seems to be a lawyer. Inferred from her mails.",
    "Dora Pelikan is a lawyer. Just my guess.", "Vermutlich ist Dora Pelikan Anwältin.",
    "Dora Pelikan est sans doute avocate.", "Supongo que Dora Pelikan es abogada.",
    "Assistant: Dora Pelikan is a lawyer, I will note that.", "Dora Pelikan could be a lawyer. I haven't checked.",
    "Dora Pelikan könnte Anwältin sein. Belege habe ich keine.", "They say Dora Pelikan is a lawyer.",
    "Dora Pelikan will marry whoever fixes the printer, lol.", "Dora Pelikan says she'd rather be a pirate.",
])  # fmt: skip
async def test_guesses_jokes_and_an_assistants_words_are_no_evidence(world: World, guess: str) -> None:
    told = ["Dora Pelikan approves the invoices.", "Dora Pelikan is in on Mondays.", "Dora Pelikan is kind."]
    async with world.engine() as engine:
        await stored(engine, world, *told)
        await engine.append(guess, kind="fact", source="codex", session="s1")
        assert sorted(await claims_about(engine, "Dora Pelikan")) == told


async def test_a_search_finds_the_claims_about_the_subject_that_it_names(world: World) -> None:
    async with world.engine() as engine:
        await stored(
            engine, world, "Ryokan Asano in Kanazawa is booked for April.", "Ryokan Asano has the key at the desk.",
            "Asano wrote that check-in is possible until nine.", project="trip",
        )  # fmt: skip
        by_name = (await engine.search("Ryokan Asano", path="@claims")).hits
        assert [hit.snippet.partition(" (")[0] for hit in by_name] == [
            "Ryokan Asano has the key at the desk.", "Ryokan Asano in Kanazawa is booked for April.",
            "Asano wrote that check-in is possible until nine.",
        ]  # fmt: skip
        assert len((await engine.search("trip", path="@claims")).hits) == 3, "a project is a subject, too"
