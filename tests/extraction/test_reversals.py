"""A person takes back what is in memory from an earlier session."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.models import NoteId, NoteRecord, NoteState
from tests.extraction.talks import assistant, ingest, person
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, paths, records

pytestmark = pytest.mark.anyio

CUTOFF, DOUBTED = "The order cutoff is 18:00.", "I think the order cutoff is 17:30 from now on."
SUPERSEDED, CONTESTED, ACTIVE = "superseded", "contested", "active"
BESIDE = ("The staging database is reset on Sundays.", "Das Logo wird nie verzerrt.", "Pia écrit les notes de version.")
TAKEN_BACK = [
    (
        "We decided against Redis after all, sessions stay in Postgres, ops don't want another service.",
        "ok scrap what I said about sessions, we go with Redis after all, ops agreed to run it",
        SUPERSEDED,
    ),
    (
        "Never merge a pull request without two reviews.",
        "Forget the rule about two reviews, one is enough from now on.",
        SUPERSEDED,
    ),
    ("Branches are named feat/DF-1.", "forget the thing about branch names btw, Marek dropped it", SUPERSEDED),
    ("Les rapports partent le mardi.", "oublie le truc sur les rapports du mardi", SUPERSEDED),
    ("Las facturas salen siempre en papel.", "Olvida lo de las facturas.", SUPERSEDED),
    ("The nightly backup goes to the Hetzner box.", "Please forget the plan about the nightly backup.", SUPERSEDED),
    (
        "Feature flags live in LaunchDarkly.",
        "I talked to Mia, so drop the decision about feature flags: we keep them in a config file.",
        SUPERSEDED,
    ),
    (
        "We use MySQL for the ledger.",
        "I changed my mind, we use Postgres for the ledger, MySQL locks too much.",
        CONTESTED,
    ),
    (
        "We decided not to support Internet Explorer in the portal.",
        "We support Internet Explorer in the portal after all, two clinics need it.",
        CONTESTED,
    ),
    (
        "Rechnungen gehen immer am Monatsersten raus.",
        "Streich bitte die Entscheidung zu den Rechnungen, die gehen jetzt sofort nach Lieferung raus.",
        SUPERSEDED,
    ),
    (
        "Die Sitzungen liegen in Postgres.",
        "Hab's mir anders überlegt, die Sitzungen legen wir in Redis, Postgres ist zu langsam.",
        CONTESTED,
    ),
    (
        "Die Mahnung geht nach 14 Tagen raus.",
        "Ich habe meine Meinung geändert, die Mahnung geht nach 21 Tagen raus, 14 Tage sind zu knapp.",
        CONTESTED,
    ),
    (
        "Les déploiements se font le mardi uniquement.",
        "Et oublie la règle sur les déploiements, à partir de décembre on déploie quand main est vert.",
        SUPERSEDED,
    ),
    (
        "Les messages d'erreur sont en anglais.",
        "oublie ce que j'ai dit sur les messages d'erreur, on les écrit en français",
        SUPERSEDED,
    ),
    (
        "On n'envoie pas de rappel aux clients de Lyon.",
        "Finalement on envoie un rappel aux clients de Lyon.",
        CONTESTED,
    ),
    (
        "Los despliegues salen solo los martes.",
        "Y olvida la regla de los despliegues, desde diciembre desplegamos cuando main está verde.",
        SUPERSEDED,
    ),
    (
        "Los comentarios del código van en español.",
        "olvida lo que dije sobre los comentarios, van en inglés",
        SUPERSEDED,
    ),
    ("El boletín no se envía a los clientes nuevos.", "Al final el boletín se envía a los clientes nuevos.", CONTESTED),
    (
        "Emails to customers are signed by the whole team.",
        "Scrap the rule about emails to customers, Pia signs them now.",
        SUPERSEDED,
    ),
    (
        "Tickets are closed after 30 days without an answer.",
        "ok, forget the decision about closing tickets, we leave them open.",
        SUPERSEDED,
    ),
    ("We don't ship to Switzerland.", "We ship to Switzerland after all.", CONTESTED),
    (
        "The price list is updated every Monday.",
        "On second thoughts the price list is updated every Friday.",
        CONTESTED,
    ),
    (
        "Tickets werden auf Englisch geschrieben.",
        "Vergiss die Regel zu den Tickets, Deutsch ist in Ordnung.",
        SUPERSEDED,
    ),
    ("Logs behalten wir 90 Tage.", "Ich hab's mir anders überlegt, Logs behalten wir 30 Tage.", CONTESTED),
    (
        "Die Diagramme zeichnen wir mit D3.",
        "Die Diagramme zeichnen wir doch mit Plotly, D3 dauert zu lange.",
        CONTESTED,
    ),
    (
        "Les tickets sont fermés après 30 jours.",
        "Annule la décision sur les tickets, on les laisse ouverts.",
        SUPERSEDED,
    ),
    (
        "The Norpost webhook answers 200 and logs a warning for parcels we don't know.",
        "Their support told me they stop after 24 h, so I changed my mind, answer 404 there after all, 200 hides bugs.",
        CONTESTED,
    ),
    ("On garde les logs 90 jours.", "J'ai changé d'avis, on garde les logs 30 jours.", CONTESTED),
    ("Les graphiques sont faits avec D3.", "Finalement les graphiques sont faits avec Plotly.", CONTESTED),
    ("Los correos los firma todo el equipo.", "Descarta la regla de los correos.", SUPERSEDED),
    ("No enviamos a Suiza.", "Al final sí enviamos a Suiza.", CONTESTED),
]
KEPT = [
    ("Deploys go out on Tuesdays and Thursdays only.", "Forget the rule about commit messages, write what you like."),
    (
        "The Norpost webhook answers 200 for unknown parcels.",
        "I changed my mind, the health check answers 404 before the start.",
    ),
    (
        "Rechnungen gehen immer am Monatsersten raus.",
        "Vergiss die Regel zu den Mahnungen, die schreibt jetzt die Buchhaltung.",
    ),
    ("Las sesiones se quedan en Postgres.", "Olvida la regla de los logs, los guardamos un mes."),
    ("The order list is sorted by date.", "The order list gets a search box after all."),
    ("Le rapport part le lundi.", "Finalement, le rapport a aussi une page pour Lyon."),
    ("Deploys go out on Tuesdays and Thursdays only.", "No deploys this week after all."),
    ("Never merge a pull request without two reviews.", "Forget the rule about two reviews for this hotfix."),
    ("Niemals direkt auf main pushen.", "Den Hotfix pushen wir doch direkt auf main."),
    ("Jamais de déploiement le vendredi.", "Finalement on déploie ce vendredi."),
    ("Never deploy on Fridays.", "We deploy the portal for Acme on Friday after all."),
    ("Sessions stay in Postgres.", "If ops agree, scrap what I said about sessions."),
    ("Deploys go out on Tuesdays and Thursdays only.", "Forget the rule about deploy days, haha, just kidding."),
    ("Les sessions restent dans Postgres.", "Peut-être que finalement les sessions vont dans Redis."),
    (
        "Deploys go out on Tuesdays and Thursdays only.",
        'Tom wrote: "forget the rule about deploy days, we deploy daily".',
    ),
    ("Deploys go out on Tuesdays and Thursdays only.", "Don't forget the rule about deploy days."),
    ("Sessions stay in Postgres.", "I changed my mind about lunch, sessions can wait."),
    ("Der Port ist 8087.", "Das weißt du doch, der Port ist frei."),
    ("Log files are kept for 90 days.", "I have changed my mind, crash dumps are kept for 30 days."),
    ("We don't ship to Switzerland.", "We ship to Norway after all."),
    ("Never touch the vendor folder.", "Fix the typo in the vendor folder after all."),
    ("The price list is updated every Monday.", "After all the trouble, the price list is updated every Monday."),
    ("Tickets are closed after 30 days without an answer.", "Close ticket 14 after all."),
    ("Sessions end after 20 minutes.", "I changed my mind, end the session now."),
    ("Die Preise runden wir auf fünf Cent.", "Vergiss nicht die Entscheidung zu den Preisen."),
    ("Niemals im Ordner vendor etwas ändern.", "Im Ordner vendor ändern wir doch die Lizenz."),
    ("Die Diagramme zeichnen wir mit D3.", "Kurt meint, vergiss die Regel zu den Diagrammen."),
    ("On garde les logs 90 jours.", "Finalement les logs sont vides."),
    ("Ne jamais toucher au dossier vendor.", "Finalement j'ai corrigé une faute dans le dossier vendor."),
    ("Guardamos los logs 90 días.", "Al final del mes guardamos los logs en el disco."),
    ("Nunca tocar la carpeta vendor.", "Al final corregí un error en la carpeta vendor."),
]


async def said(engine: KeywordEngine, world: World, *talk: TranscriptMessage, session: str = "s") -> None:
    world.later(days=1)
    spoken = [replace(one, turn=replace(one.turn, at=world.now)) for one in talk]
    await ingest(engine, f"{session}.jsonl", "claude-code", session, spoken, project="shop")


async def start(engine: KeywordEngine, world: World) -> str:
    world.later(hours=1)
    return (await engine.brief(f"start {world.now}", project="shop")).text


async def test_a_plain_reversal_takes_back_the_one_note_that_it_names_or_changes(world: World):
    wanted = [*TAKEN_BACK, *((note, words, ACTIVE) for note, words in KEPT)]
    made = list[list[NoteId]]()
    async with world.engine() as engine:
        for number, (note, _, _) in enumerate(wanted):
            stored = [await engine.append(text, kind="decision", project=f"p{number}") for text in (note, *BESIDE)]
            made.append([receipt.id for receipt in stored])
        world.later(days=2)
        for number, (_, words, _) in enumerate(wanted):
            talk = [person(words, at=world.now)]
            await ingest(engine, f"{number}.jsonl", "claude-code", f"s{number}", talk, project=f"p{number}")
        notes = {one.id: one for one in records(engine)}
    contested = {name for one in notes.values() for name in one.meta.get("contests", ())}
    states = [[_state(notes[note_id], contested) for note_id in ids] for ids in made]
    assert [(note, words, state) for (note, words, _), (state, *_) in zip(wanted, states, strict=True)] == wanted
    assert {state for _, *beside in states for state in beside} == {ACTIVE}


def _state(note: NoteRecord, contested: Collection[str]) -> str:
    if note.superseded_by or note.state is NoteState.DELETED:
        return SUPERSEDED
    return CONTESTED if note.id in contested else ACTIVE


async def test_a_reversal_concerns_only_its_own_project_and_the_person_s_own_words(world: World):
    async with world.engine() as engine:
        for project in ("mill", "shop"):
            await engine.append("Deploys go out on Tuesdays only.", kind="preference", project=project)
        words = "Forget the rule about deploy days, we deploy daily."
        await said(engine, world, assistant(words), person(f"Tom's mail:\n\n> {words}", 90))
        assert "Tuesdays" in await start(engine, world)
        await said(engine, world, person(words), session="later")
        assert "Tuesdays" not in await start(engine, world)
        assert "Tuesdays" in (await engine.brief("mill", project="mill")).text
        await engine.perform("undo", {"session": "later", "sure": True})
        assert "Tuesdays" in await start(engine, world)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (("Deploys go out only on Tuesdays.", "Never deploy on Fridays."), "Forget the rule about deploy days."),
        (
            ("Deployt wird nur dienstags.", "Freitags niemals deployen."),
            "Vergiss die Regel zum Deployen.",
        ),
        (
            ("Les déploiements se font le mardi uniquement.", "Jamais de déploiement le vendredi."),
            "Oublie la règle sur les déploiements.",
        ),
        (
            ("Los despliegues salen solo los martes.", "Nunca despliegues los viernes."),
            "Olvida la regla de los despliegues.",
        ),
    ],
)
async def test_rules_that_a_name_may_mean_are_held_back_until_you_decide(
    world: World, rules: tuple[str, str], words: str
):
    async with world.engine() as engine:
        other = "The deploys, déploiements, despliegues: deployen is announced in the channel."
        notes = [await engine.append(text, kind="preference", project="shop") for text in (*rules, other)]
        await said(engine, world, person(words))
        told = await start(engine, world)
        assert [rule in told for rule in rules] == [False, False] and "announced" in told
        (item,) = await engine.inbox()
        (proposal,) = [one for one in records(engine) if one.id == item.id]
        assert {*proposal.meta["contests"]} == {one["id"] for one in item.notes} == {one.id for one in notes[:2]}
        await engine.review("drop", item.id)
        told = await start(engine, world)
        assert [rule in told for rule in rules] == [True, True]


async def test_a_name_for_many_rules_holds_none_back(world: World):
    async with world.engine() as engine:
        for day in ("Mondays", "Tuesdays", "Fridays", "Sundays"):
            await engine.append(f"Never deploy on {day}.", kind="preference", project="shop")
        await said(engine, world, person("Forget the rule about deploys."))
        assert (await start(engine, world)).count("Never deploy on") == 4 and not await engine.inbox()


async def test_of_two_notes_with_a_name_the_one_that_is_denied_goes(world: World):
    async with world.engine() as engine:
        await engine.append("We decided to use Redis for the sessions.", kind="decision", project="shop")
        await engine.append("We decided against Redis, sessions stay in Postgres.", kind="decision", project="shop")
        await said(engine, world, person("ok scrap what I said about sessions, we go with Redis after all"))
        told = await start(engine, world)
        assert "to use Redis" in told and "Redis after all" in told and "stay in Postgres" not in told


async def test_a_rule_without_another_in_its_place_is_forgotten_and_one_undo_brings_it_back(world: World):
    async with world.engine() as engine:
        await engine.append("Deploys go out on Tuesdays only.", kind="preference", project="shop")
        before = world.files()
        await said(engine, world, person("Please forget the rule about deploy days."))
        assert "Tuesdays" not in await start(engine, world) and not paths(engine, NoteState.INBOX)
        await engine.perform("undo", {"session": "s", "sure": True})
        assert "Tuesdays" in await start(engine, world) and world.files() == before


@pytest.mark.parametrize(
    ("rule", "words", "is_meant"),
    [
        ("Invoices for Boix go by post only.", "forget that thing that invoices for Boix go by post, he is home", True),
        ("The old exports are never touched.", "forget that the old exports are never touched, UTF-8 is fine", True),
        ("Freitags wird nicht deployt.", "vergiss das, dass freitags nicht deployt wird, Marek ist zurück", True),
        ("On ne touche pas aux anciens exports.", "oublie le truc qu'on ne touche pas aux anciens exports", True),
        ("A Boix no se le manda nada por correo.", "olvida lo de que a Boix no se le manda nada, que ya volvió", True),
        ("Los csv antiguos no se tocan.", "olvida que los csv antiguos no se tocan, ahora utf-8", True),
        ("Los csv antiguos no se tocan.", "olvida lo de que falla el test, sigue con el csv nuevo", False),
        ("Freitags wird nie deployt.", "vergiss nicht, dass freitags nie deployt wird", False),
        ("Invoices for Boix go by post only.", "forget that flaky test of the invoices", False),
    ],
)
async def test_a_clause_names_a_rule_to_forget_and_is_no_statement(
    world: World, rule: str, words: str, *, is_meant: bool
):
    async with world.engine() as engine:
        note = await engine.append(rule, kind="decision", project="shop")
        await said(engine, world, person(words))
        assert [one.id for one in records(engine) if one.state is NoteState.ACTIVE] == ([] if is_meant else [note.id])


async def test_a_change_of_mind_silences_the_older_note_until_you_accept_or_drop_the_newer_one(world: World):
    async with world.engine() as engine:
        old = await engine.append("Sessions stay in Postgres.", kind="decision", project="shop")
        await said(engine, world, person("I've decided to keep sessions in Redis after all, Postgres is too slow."))
        told = await start(engine, world)
        assert "Redis after all" in told and "stay in Postgres" not in told
        hits = (await engine.search("sessions Postgres", project="shop")).hits
        assert "was said since" in str(next(hit.outdated for hit in hits if hit.id == old.id))
        (item,) = await engine.inbox()
        await engine.review("drop", item.id)
        assert "stay in Postgres" in await start(engine, world)


async def test_forget_that_brings_back_what_the_change_superseded(world: World):
    async with world.engine() as engine:
        await engine.append(CUTOFF, kind="decision", project="shop")
        await said(engine, world, person("The order cutoff is 17:30 from now on."))
        assert "18:00" not in await start(engine, world)
        await said(
            engine, world, assistant("Noted: the order cutoff is 17:30.", 40), person("No wait, forget that.", 90)
        )
        told = await start(engine, world)
        assert "18:00" in told and "17:30" not in told


@pytest.mark.parametrize(("words", "ends"), [
    ("No, the order cutoff stays at 18:00.", True), ("18:00 it is.", True), ("Es bleibt bei 18:00.", True),
    ("Ça reste à 18:00.", True), ("Se queda en 18:00.", True),
    ("Does it stay at 18:00?", False), ("The shop stays open until 18:00.", False), ("17:30 it is.", False),
    ("It doesn't stay at 18:00.", False),
])  # fmt: skip
async def test_to_confirm_a_contested_note_ends_the_proposal(world: World, words: str, *, ends: bool):
    async with world.engine() as engine:
        await engine.append(CUTOFF, kind="decision", project="shop")
        await said(engine, world, person(DOUBTED))
        (proposal,) = paths(engine, NoteState.INBOX)
        await said(engine, world, person(words), session="later")
        assert (proposal not in paths(engine, NoteState.INBOX)) is ends
        assert (CUTOFF.rstrip(".") in await start(engine, world)) is ends


@pytest.mark.parametrize(
    ("rule", "words", "is_lifted"),
    [
        ("No deploys of shop until Friday.", "the deploy freeze is over", True),
        ("No deploys of shop until Friday.", "freeze is OVER. forget the rule about no deploys until friday", True),
        ("Bis Freitag keine Deployments.", "deployen geht wieder, der Freeze ist vorbei", True),
        ("Pas de déploiement jusqu'à vendredi.", "le gel des déploiements est terminé", True),
        ("Nada de despliegues hasta el viernes.", "la congelación de despliegues terminó ayer", True),
        ("No deploys of shop until Friday.", "the deploy freeze isn't over yet", False),
        ("No deploys of shop until Friday.", "Sam says the deploy freeze is over", False),
        ("No releases of shop until Friday.", "deploys are fine again", False),
    ],
)
async def test_a_ban_ends_when_a_person_says_so(world: World, rule: str, words: str, is_lifted: bool):
    async with world.engine() as engine:
        await engine.append(rule, kind="decision", project="shop")
        await said(engine, world, person(words))
        told = await start(engine, world)
        assert (rule not in told) == is_lifted and "orget" not in told
