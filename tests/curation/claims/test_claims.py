"""Claims: what notes say together about a subject; no guesses, and nothing that is forgotten or another's."""

from __future__ import annotations

from collections.abc import Mapping
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
        ids = await stocked(engine)
        about = await claims_about(engine, "petra", "shop")
        assert sorted(about) == ["Ask Petra about the logo.", "Petra leads the design team now."], "not billing's"
        leads = about["Petra leads the design team now."]
        assert [one["session"] for one in leads["evidence"]] == ["s2", "s1"]
        assert leads["certainty"] == "noted 2 times by codex, 2026-11-21"
        shop = await claims_about(engine, "shop")
        newer = shop["The API listens on port 8090 now."]
        assert not shop[PORT]["holds"] and shop[PORT]["replaced_by"]["id"] == ids["The API listens on port 8090 now."]
        assert newer["earlier"][0]["text"] == PORT and newer["certainty"] == "noted once by codex, 2026-11-21"
        with pytest.raises(NotFound, match="nothing is known"):
            await engine.perform("claims", {"subject": "Nobody"})


async def test_agents_get_claims_by_a_question_and_by_a_path(world: World) -> None:
    async with world.engine() as engine:
        ids = await stocked(engine)
        told = await engine.recall("What do we know about Petra?", project="shop")
        assert "2 claims about Petra" in told and "noted 2 times by codex" in told and "Mondays" not in told
        assert told.count("leads the design team") == 1
        hits = (await engine.search("which port does the API listen on", path="@claims", project="shop")).hits
        assert [hit.id for hit in hits][:1] == [ids["The API listens on port 8090 now."]] and "%" not in hits[0].snippet
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
        assert "1 contradiction to decide" in world.read("INDEX.md").decode()
        (open_conflict,) = (await engine.perform("claim_problems", {}))["problems"]
        assert "8087 → 8090" in open_conflict["why"]
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
        assert "confirmed: ['2026-11-21']" in world.read(str(_path(engine, newer))).decode().replace('"', "'")


def _path(engine: KeywordEngine, note_id: str) -> NotePath:
    return next(note.path for note in records(engine) if note.id == note_id)


async def kinds_of(engine: KeywordEngine) -> dict[str, str]:
    return {one["name"]: one["kind"] for one in (await engine.perform("claims", {}))["subjects"]}


@pytest.mark.parametrize(("notes", "subjects"), [
    ({
        "Invoices": "Dora Pelikan approves the invoices. She is in from seven.", "Dora": "Dora Pelikan prefers calls.",
        "Landlord": "Our landlord is Hugh Ferrant.", "Payments": "Our payment provider is Quintpay.",
        "Bread": "Tarrow Bakery Ltd delivers on Fridays.", "Leeds": "The Leeds office closes at 6.",
        "New": "May Lindholm is our new auditor.", "May": "May Lindholm is off on Tuesdays.",
        "route-svc": "route-svc plans the tours, and keeps them for a day.",
        "The tracker": "The tracker is called Helix.",
        "Nodes": "Helix got two more nodes.", "Depot": "Depot 9 takes parcels until four. Ring twice.",
        "August": "In August nothing ships.", "Orion": "Readings go to the database Orion, table Values.",
        "Postgres": "Telemetry goes into Postgres.", "MongoDB": "Somebody suggested MongoDB. No.",
        "Tests": "Tests run at night.", "Lunch": "Lunch is at noon.",
        "Cover": "While the auditor is on leave, Eva Stolz stands in.", "Key": "The spare key is with Hugo.",
        "Van": "The van was sold by Hugo.", "Power": "The forecast is delivered in MW.", "Unit": "MW is what we use.",
        "CI": "GitHub Actions caches the models. The key is the lock file.", "Steps": "Three actions are pinned.",
    }, {
        "Dora Pelikan": "people", "Hugh Ferrant": "people", "May Lindholm": "people", "Quintpay": "services",
        "route-svc": "services", "Helix": "services", "Tarrow Bakery Ltd": "organizations", "Leeds office": "places",
        "Depot 9": "places", "Eva Stolz": "people", "Hugo": "people", "GitHub Actions": "things",
    }),
    ({
        "Einkauf": "Sabine Kuhn leitet den Einkauf. Montags ist sie nicht da.",
        "Haus": "Der Hausmeister ist Cem Aydin.",
        "Brot": "Bäckerei Sandhorst liefert die Brötchen. Bestellt wird bis 17 Uhr.",
        "Filiale": "Filiale Nordring, Hafenstraße 7. Geöffnet ab acht.", "messdienst": "messdienst läuft im Keller.",
        "Mai": "Im Mai ist Inventur.", "Zeiten": "Die Zeiten stehen in der Datenbank Orion.",
        "Belege": "Die Rechnungen liegen in Belegfix.",
    }, {
        "Sabine Kuhn": "people", "Cem Aydin": "people", "Bäckerei Sandhorst": "organizations", "messdienst": "services",
        "Filiale Nordring": "places",
    }),
    ({
        "Appels": "Sylvie Marchand préfère les appels.", "Sylvie": "Sylvie Marchand ne travaille pas le lundi.",
        "Compta": "La comptable est Odile Ferrand.",
        "Affiches": "Imprimerie Dufour imprime les affiches. Délai : 3 jours.",
        "La Ruche": "La boutique La Ruche appartient à Odile Ferrand.", "janvier": "En janvier, rien.",
        "Base": "La base de données Orion est sur srv2.",
    }, {
        "Sylvie Marchand": "people", "Odile Ferrand": "people", "Imprimerie Dufour": "organizations",
        "La Ruche": "organizations",
    }),
    ({
        "Cuentas": "Lucía Ortega lleva la contabilidad. Los viernes no está.", "Puerta": "El conserje es Paco Molina.",
        "Pan": "Panadería Soto reparte el pan. Llega a las siete.", "agosto": "En agosto no hay nadie.",
        "Base": "La base de datos Orion corre en srv2.",
    }, {"Lucía Ortega": "people", "Paco Molina": "people", "Panadería Soto": "organizations"}),
])  # fmt: skip
async def test_what_statements_are_about_is_a_subject_and_months_databases_and_objects_are_none(
    world: World, notes: Mapping[str, str], subjects: dict[str, str]
) -> None:
    async with world.engine() as engine:
        for title, content in notes.items():
            await engine.append(content, title=title, kind="fact")
        assert await kinds_of(engine) == subjects


async def test_titles_and_surnames_show_people_and_names_of_firms_organizations(world: World) -> None:
    async with world.engine() as engine:
        for title, content in {
            "Schlüssel": "Frau Thamsen hat den Schlüssel.", "Thamsen": "Thamsen kommt dienstags.",
            "Tern": "Brenwick Elevator Cooperative maintains the lift.",
            "Lift": "Brenwick Elevator Cooperative is due in May.",
        }.items():  # fmt: skip
            await engine.append(content, title=title, kind="fact")
        assert await kinds_of(engine) == {"Thamsen": "people", "Brenwick Elevator Cooperative": "organizations"}
        assert len(await claims_about(engine, "Thamsen")) == 2


async def test_a_newer_claim_comes_to_every_page_of_the_older_one(world: World) -> None:
    older, newer = "Dora Pelikan and Hugo Lind share the ledger export at desk 4.", "Dora Pelikan is at desk 9 now."
    async with world.engine() as engine:
        for content in (older, newer, "Hugo Lind is in on Mondays."):
            await engine.append(content, kind="fact", session=content[:9])
            world.later(days=3)
        for name in ("Dora Pelikan", "Hugo Lind"):
            about = await claims_about(engine, name)
            assert older not in about, "the newest statement on its point is at the top level"
            assert [one["text"] for one in about[newer]["earlier"]] == [older]
        await engine.organize()
        page = world.read("entities/people/hugo-lind.md").decode()
        assert page.index(newer) < page.index("  - earlier (") < page.index(older)


async def test_a_statement_without_a_name_is_about_the_subject_of_its_note(world: World) -> None:
    async with world.engine() as engine:
        for title, content in {
            "Import": "Room B2 houses the scanner. Access with the yellow badge only.",
            "Who does what": "Petra approves the drafts. Jonas runs the printers. Petra is in on Mondays.",
        }.items():
            await engine.append(content, title=title, kind="fact")
        assert list(await claims_about(engine, "Room B2")) == [
            "Room B2 houses the scanner.", "Room B2: Access with the yellow badge only.",
        ]  # fmt: skip
        assert not any("printers" in text for text in await claims_about(engine, "Petra"))


@pytest.mark.parametrize("guess", [
    "Dora Pelikan is perhaps a lawyer.", "Dora Pelikan seems to be a lawyer. Inferred from her mails.",
    "Dora Pelikan is a lawyer. Just my guess.", "Vermutlich ist Dora Pelikan Anwältin.",
    "Dora Pelikan est sans doute avocate.", "Supongo que Dora Pelikan es abogada.",
    "Assistant: Dora Pelikan is a lawyer, I will note that.", "Dora Pelikan could be a lawyer. I haven't checked.",
    "Dora Pelikan könnte Anwältin sein. Belege habe ich keine.", "They say Dora Pelikan is a lawyer.",
    "Dora Pelikan will marry whoever fixes the printer, lol.", "Dora Pelikan says she'd rather be a pirate.",
])  # fmt: skip
async def test_guesses_jokes_and_an_assistants_words_are_no_evidence(world: World, guess: str) -> None:
    told = ["Dora Pelikan approves the invoices.", "Dora Pelikan is in on Mondays."]
    async with world.engine() as engine:
        for content in told:
            await engine.append(content, kind="fact")
        await engine.append(guess, kind="fact", source="codex", session="s1")
        assert sorted(await claims_about(engine, "Dora Pelikan")) == told


@pytest.mark.parametrize(("older", "newer", "left"), [
    ("Dora Pelikan has extension 214.", "Dora Pelikan moved desks, she has extension 231 now.", None),
    ("Hotel Anker has a standing order of 120 rolls, they pay by quarter.",
     "Hotel Anker raised the order to 150 rolls.", "Hotel Anker: they pay by quarter."),
    ("Builds run on Hudsonix, version 2.440.", "Hudsonix is at version 2.492 since last night.",
     "Builds run on Hudsonix"),
    ("Dora Pelikan prüft Rechnungen montags.", "Dora Pelikan prüft Rechnungen jetzt dienstags.", None),
    ("Sylvie Marchand a le poste 214.", "Sylvie Marchand a désormais le poste 231.", None),
    ("Lucía Ortega tiene la extensión 214.", "Lucía Ortega tiene ahora la extensión 231.", None),
    ("Leeds hub has 3 sorters and 118 docks.", "Leeds hub grew, it's 130 docks since Monday.",
     "Leeds hub has 3 sorters"),
    ("Dora Pelikan wants reports as TSV.", "Dora Pelikan now wants PDF, the TSVs weren't read.", None),
    ("Sylvie Marchand préfère le téléphone.", "Sylvie Marchand ne veut plus d'appels, mail uniquement.", None),
    ("Dora Pelikan curates the list, on parental leave until October.", "Dora Pelikan is back and reviews the markers.",
     "Dora Pelikan curates the list"),
    ("Lager Nord ist der Dachboden am Obermarkt 31.",
     "Lager Nord ist nicht mehr am Obermarkt, sondern in der Scheune.", None),
    ("Lager Süd: Schlüssel hängt bei der Nachbarin, Frau Zwerger.", "Lager Süd: Schlüssel jetzt nur bei mir.", None),
    ("Dora Pelikan isn't allowed on the tractor.", "Dora Pelikan can drive the tractor, she is allowed to.", None),
    ("Tarrow Bakery Ltd bakes our bread.", "Tarrow Bakery Ltd is closed, bread comes from the mill now.", None),
    ("Dora Pelikan is the owner of the clearing interface.",
     "Dora Pelikan hands the clearing interface over: since 1 August Hugh is the owner.", None),
    ("order-api runs on host lx07 and restarts on Sundays.", "order-api moved from lx07 to lx12.",
     "order-api: restarts on Sundays."),
])  # fmt: skip
async def test_a_newer_value_stands_and_the_older_one_is_its_history(
    world: World, older: str, newer: str, left: str | None
) -> None:
    async with world.engine() as engine:
        for content in (older, newer):
            await engine.append(content, kind="fact", session=content[:9])
            world.later(days=3)
        (subject,) = [one for one in (await engine.perform("claims", {}))["subjects"] if one["kind"] != "projects"]
        holding = {one["text"]: one for one in subject["claims"] if one["holds"]}
        assert set(holding) == {newer, left} - {None}
        assert [one["text"] for one in holding[newer]["earlier"]] == [older]


async def test_a_successor_and_a_property_replace_what_the_notes_of_the_name_say(world: World) -> None:
    async with world.engine() as engine:
        for title, content in {
            "Rota": "Dora Pelikan is our ward manager.",
            "Prices": "Tarrow Mill Ltd, wholesale. Base price 9.10 per kg.",
            "Change": "Dora Pelikan left us for the flow team. Halina Wrona is acting ward manager as of today.",
            "Notice": "Tarrow Mill Ltd, notice of June. Base price from 1 July: 9.45 per kg.",
        }.items():
            await engine.append(content, title=title, kind="fact", session=title)
            world.later(days=3)
        dora = await claims_about(engine, "Dora Pelikan")
        left = next(one for text, one in dora.items() if "left us" in text)
        assert [one["text"] for one in left["earlier"]] == ["Dora Pelikan is our ward manager."]
        mill = await claims_about(engine, "Tarrow Mill Ltd")
        prices = {text: [before["text"] for before in one["earlier"]] for text, one in mill.items() if "price" in text}
        assert prices == {
            "Tarrow Mill Ltd: Base price from 1 July: 9.45 per kg.": ["Tarrow Mill Ltd: Base price 9.10 per kg."]
        }


async def test_two_values_of_one_name_that_do_not_replace_each_other_both_hold(world: World) -> None:
    async with world.engine() as engine:
        for content in (
            "Dora Pelikan has extension 214.", "Dora Pelikan is in room 12.", "Dora Pelikan has two kids since May.",
            "Dora Pelikan does the tickets on Mondays.", "Since June the lunch with Dora Pelikan is on Fridays.",
        ):  # fmt: skip
            await engine.append(content, kind="fact")
            world.later(days=1)
        assert all(one["holds"] for one in (await claims_about(engine, "Dora Pelikan")).values())


@pytest.mark.parametrize(("older", "newer"), [
    ("Heike Lamm hat den Brief am 2. Dezember zur Post gebracht.",
     "Mirjam Olthoff bekommt 9 % statt 8 %, das hat Heike Lamm am 3. Dezember gesagt."),
    ("Gerd Moll sits five metres from the wall of the control room.",
     "The exercise in the control room ends on Friday, as Gerd Moll said, so the wall is free from Friday on."),
    ("Inés Robledo lleva la oficina del despacho.",
     "El despacho ya no usa el nombre viejo en la oficina, lo ha dicho Inés Robledo."),
])  # fmt: skip
async def test_news_about_something_else_leaves_what_is_said_of_a_name(world: World, older: str, newer: str) -> None:
    async with world.engine() as engine:
        for content in (older, newer):
            await engine.append(content, kind="fact", session=content[:9])
            world.later(days=3)
        claims = [one for each in (await engine.perform("claims", {}))["subjects"] for one in each["claims"]]
        assert {one["text"] for one in claims if one["holds"]} == {older, newer}


async def test_a_search_finds_the_claims_about_the_subject_that_it_names(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("Ryokan Asano in Kanazawa is booked for April.", kind="fact", project="trip")
        await engine.append("The key of Ryokan Asano is at the desk.", kind="fact", project="trip")
        await engine.append("Asano wrote that check-in is possible until nine.", kind="fact", project="trip")
        by_name = (await engine.search("Ryokan Asano", path="@claims")).hits
        assert [hit.snippet.partition(" (")[0] for hit in by_name] == [
            "The key of Ryokan Asano is at the desk.", "Ryokan Asano in Kanazawa is booked for April.",
            "Asano wrote that check-in is possible until nine.",
        ]  # fmt: skip
        assert len((await engine.search("trip", path="@claims")).hits) == 3, "a project is a subject, too"
