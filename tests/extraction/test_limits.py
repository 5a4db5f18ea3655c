"""Statements for a time: stored with their end, and silent after it. Other sentences with a day have no end."""

from __future__ import annotations

import pytest

from tests.extraction.talks import person, take
from tests.support.world import World, found, records

pytestmark = pytest.mark.anyio

# The 20th of November 2026, when they are said, is a Friday.
LIMITED = {
    "en": {
        "This week we freeze deploys": "2026-11-22",
        "No deploys until the 3rd": "2026-12-03",
        "Until December 3rd Marta covers the front desk": "2026-12-03",
        "For the next ten days all purchase orders go through Jonas": "2026-11-30",
        "No merges into main until the end of March, the client audits us": "2027-03-31",
        "till 15 december nobody touch the payment module": "2026-12-15",
        "Please don't deploy to production until Thursday": "2026-11-26",
        "For the rest of the week all calls go to Priya": "2026-11-22",
        "Until 2027-01-15 the Lyon office is closed": "2027-01-15",
        "Until Monday the staging server is reserved for the load test": "2026-11-23",
        "This month invoices go out only on Fridays": "2026-11-30",
        "Don't touch the importer this week please": "2026-11-22",
        "For the next two weeks croissants only on Saturdays": "2026-12-04",
        "Until Tuesday please send all invoices to Karin instead of me": "2026-11-24",
        "this week no deploys of boxoffice: Rammstein presale is on till sunday": "2026-11-22",
        "no uploads till sunday evening, for real, whoever asks": "2026-11-22",
        "Nobody restarts the queue over the holidays": "2027-01-01",
        "Tobias is out from tomorrow til Friday, so ask Agnes instead as long as he's away": "2026-11-27",
        "The next two weeks only Ana signs invoices": "2026-12-04",
        "During the coming 3 weeks no merges into main": "2026-12-11",
    },
    "de": {
        "Diese Woche keine Lieferungen": "2026-11-22",
        "Bis zum 3. keine Deploys": "2026-12-03",
        "Bis zum 3. Dezember vertritt Marta den Empfang": "2026-12-03",
        "Keine Uploads bis Sonntagabend, egal wer fragt": "2026-11-22",
        "diese Woche keine Deploys: der Vorverkauf läuft bis Sonntag": "2026-11-22",
        "Über die Feiertage startet niemand die Queue neu": "2027-01-01",
        "Während der Messe (bis 5.12.) beantwortet Petra alle Mails": "2026-12-05",
        "Bis Freitag wird nichts deployt": "2026-11-27",
        "Mia ist bis zum 3. im Urlaub, frag solange Jonas vor jeder Schemaänderung": "2026-12-03",
        "In dieser Woche darf niemand an die Datenbank": "2026-11-22",
        "Bis einschließlich Donnerstag bleibt Halle 2 gesperrt": "2026-11-26",
        "Bis Ende März keine Urlaubsanträge mehr genehmigen": "2027-03-31",
        "Den Rest der Woche übernimmt Kai den Bereitschaftsdienst": "2026-11-22",
        "Für die nächsten zwei Wochen laufen Bestellungen über Jonas": "2026-12-04",
        "Die nächsten zwei Wochen merged nur Tom": "2026-12-04",
        "Nur Ana signiert in den nächsten beiden Wochen": "2026-12-04",
    },
    "es": {
        "Hasta el viernes cerramos a las 14": "2026-11-27",
        "Hasta el 3 no hacemos despliegues": "2026-12-03",
        "Tobías está fuera desde mañana hasta el viernes, pregunta a Agnes mientras no esté": "2026-11-27",
        "Esta semana no hacemos despliegues": "2026-11-22",
        "No toques los informes esta semana por favor": "2026-11-22",
        "Durante los próximos diez días todos los pedidos pasan por Jonás": "2026-11-30",
        "Hasta el 3 de diciembre Marta cubre la recepción": "2026-12-03",
        "Hasta fin de mes no se aceptan devoluciones": "2026-11-30",
        "Este mes no contratamos a nadie": "2026-11-30",
        "No publicamos nada hasta el domingo por la noche, pida quien pida": "2026-11-22",
        "esta semana ningún envío de boletines: la preventa va hasta el domingo": "2026-11-22",
        "Durante las fiestas nadie reinicia la cola": "2027-01-01",
        "Las dos próximas semanas solo Tom hace merge": "2026-12-04",
        "Los 3 días que vienen solo firma Ana": "2026-11-23",
    },
    "fr": {
        "Jusqu'au 3 décembre Marta tient l'accueil": "2026-12-03",
        "Jusqu'au 3 on ne déploie rien": "2026-12-03",
        "Cette semaine, aucune mise en production": "2026-11-22",
        "Pendant les dix prochains jours toutes les commandes passent par Jonas": "2026-11-30",
        "Jusqu'à lundi on ne touche pas à la base de staging": "2026-11-23",
        "Jusqu'à vendredi la salle 2 est réservée à la formation": "2026-11-27",
        "Pas de publication jusqu'à dimanche soir, peu importe qui demande": "2026-11-22",
        "cette semaine pas d'envoi de bulletins : la prévente dure jusqu'à dimanche": "2026-11-22",
        "Pendant les fêtes personne ne relance la file": "2027-01-01",
        "Les deux prochaines semaines, seul Tom fusionne": "2026-12-04",
        "Seule Ana signe les deux semaines à venir": "2026-12-04",
        "Tobias est absent de demain à vendredi, demande à Agnes tant qu'il n'est pas là": "2026-11-27",
    },
}
ASKED = {"en": "For the record, ", "de": "Merk dir: ", "es": "Recuerda que ", "fr": "Note bien : "}
LASTING = {
    "en": (
        "we close the shop on December 3rd", "the desk is covered by Marta since Monday",
        "from January we bill half days", "starting this week there are no Friday deploys",
        "the pharmacy closes at 6 pm, every week until Friday", "from this week on nobody merges without review",
        "today we agreed to never deploy on Fridays", "the desk is open Monday through Friday",
        "no ticket is deleted until the client closes it", "no deploys until Friday, then only with approval",
        "no releases until Friday, and always squash commits", "the trial runs until Friday",
        "if a client writes until Friday, nobody answers", "today nobody uses Flash any more",
        "we use uv, Jonas is away until Friday", "Marta covered the desk until Friday",
        "the demo is postponed until Friday", "rent is paid until the 15th of every month",
        "Bo thinks that no deploys until Friday are enough", "this week we move to Postgres and drop MySQL",
        "only Priya has read through Monday’s figures", "the shop is open every day until December 3rd",
        "the certificate is valid until 2027-03-01", "the support line is open until 18:00",
        "sessions are kept for 30 days", "never deploy until Friday's tests passed", "no deploys for the next release",
    ),
    "de": (
        "ab dieser Woche gibt es keine Releases am Freitag", "heute haben wir beschlossen, nie freitags zu deployen",
        "ab Januar rechnen wir Halbtage ab", "jede Woche bis Freitag melden alle die Stunden",
        "von Montag bis Freitag ist offen, nie am Samstag", "wer bis Freitag nicht zahlt, bekommt keine Ware",
        "das Zertifikat ist bis 1.3.2027 gültig", "bis Freitag muss der Vertrag raus",
        "bis Freitag sind alle Tests grün", "Marta war bis Freitag nicht da", "seit Montag vertritt Marta den Empfang",
        "die Messe wurde bis Mai verschoben",
    ),
    "es": (
        "a partir de esta semana no hay despliegues los viernes", "desde el lunes Marta cubre la recepción",
        "la oficina abre de lunes a viernes", "hoy hemos acordado no desplegar nunca los viernes",
        "si nadie contesta hasta el viernes, cancelamos el pedido", "Marta cubrió la recepción hasta el viernes",
        "el contrato vence el 3 de diciembre", "hasta ahora nadie se ha quejado",
    ),
    "fr": (
        "dès cette semaine on ne déploie plus le vendredi", "depuis lundi Marta tient l'accueil",
        "du lundi jusqu'au vendredi le bureau est ouvert", "aujourd'hui on a décidé de ne jamais déployer le vendredi",
        "si personne ne répond jusqu'à vendredi, on annule", "Marta tenait l'accueil jusqu'à vendredi",
        "on ferme le 3 décembre", "le bail court jusqu'au 3 décembre",
    ),
}  # fmt: skip
NOT_STORED = {
    "en": (
        "No build has passed this week", "I'm not going to finish this week", "There is no rush this week",
        "The client won't answer until Monday", "We can't meet until Thursday",
        "This week we fixed three bugs in the importer", "This week we ship the new checkout",
        "This week we are moving everything to Postgres", "Marta covered the front desk until Friday",
        "We were closed until Friday", "We have until Friday to answer the client", "Wait until Friday",
        "Should we freeze deploys until Friday?", "Maybe no deploys until Friday", "This week nothing works",
        "For now we bill hours by the half day", "Before the demo nobody touches the staging database",
    ),
    "de": (
        "Bis Montag habe ich keine Antwort", "Diese Woche habe ich niemanden erreicht",
        "Bis Freitag sind alle Tests grün", "Schick mir den Bericht bis Freitag", "Wer bis Freitag zahlt, bekommt es",
        "Diese Woche stellen wir auf pnpm um", "Heute nutzt niemand mehr Flash", "Vorerst keine Releases ohne QA",
    ),
    "es": (
        "Esta semana no pude hablar con Karin", "Hasta ahora nadie se ha quejado", "Esta semana cambiamos de proveedor",
        "Por ahora facturamos medio día",
    ),
    "fr": ("Jusqu'ici personne ne s'est plaint", "Cette semaine on passe à pnpm", "Pour l'instant aucune livraison"),
}  # fmt: skip


@pytest.mark.parametrize("language", LIMITED)
async def test_a_rule_for_a_time_has_its_end_in_head_and_words(world: World, language: str) -> None:
    async with world.engine() as engine:
        await take(engine, [person(text, number) for number, text in enumerate(LIMITED[language])])
        ends = {note.path: note.expires_at for note in records(engine)}
        stored = {world.read(path).decode().rpartition("\n---\n")[2].strip(): end for path, end in ends.items() if end}
    for text, day in LIMITED[language].items():
        words = text.removeprefix("Please ").casefold()
        dated = {said.casefold().replace(f" (until {day})", ""): end for said, end in stored.items() if day in said}
        (end,) = [end for said, end in dated.items() if words in said] or [None]
        assert f"{end:%Y-%m-%d %H:%M:%S}" == f"{day} 23:59:59", text


@pytest.mark.parametrize(
    "words",
    [
        "Remember that deploys: until the 10th no prod deploys without Tobias",
        "Merk dir: Deploys: bis zum 10. keine Deploys auf prod ohne Tobias",
        "Recuerda que despliegues: hasta el 10 ningún despliegue a prod sin Tobías",
        "Retiens que déploiements : jusqu'au 10 aucun déploiement en prod sans Tobias",
    ],
)
async def test_a_subject_before_a_rule_leaves_it_its_end(world: World, words: str) -> None:
    async with world.engine() as engine:
        await take(engine, [person(words)])
        (note,) = [one for one in records(engine) if one.expires_at]
        assert f"{note.expires_at:%Y-%m-%d}" == "2026-12-10"


@pytest.mark.parametrize("language", LASTING)
async def test_other_days_and_times_hide_nothing(world: World, language: str) -> None:
    async with world.engine() as engine:
        asked = [person(ASKED[language] + text, number) for number, text in enumerate(LASTING[language])]
        stored = [*(await take(engine, asked[::2])).active, *(await take(engine, asked[1::2])).active]
        assert len(stored) >= 0.8 * len(asked), "some are of a kind that is never stored"
        assert [note.title for note in records(engine) if note.expires_at] == []


@pytest.mark.parametrize("language", NOT_STORED)
async def test_what_is_no_rule_for_a_time_is_not_stored_as_one(world: World, language: str) -> None:
    async with world.engine() as engine:
        result = await take(engine, [person(text, number) for number, text in enumerate(NOT_STORED[language])])
        assert not result.active


async def test_after_its_end_it_is_silent(world: World) -> None:
    rule = "This week we freeze deploys of the billing service"
    async with world.engine() as engine:
        await take(engine, [person(rule, at=world.now)])
        assert len(await found(engine, "freeze deploys billing")) == 1
        world.later(days=2)
        assert not await found(engine, "freeze deploys billing")
        assert rule not in await engine.recall("May I deploy the billing service?")
        search = {"query": "freeze deploys billing", "include_archived": True}
        (hit,) = (await engine.perform("search", search))["hits"]
        assert (hit["status"], hit["outdated"]) == ("expired", "ended 2026-11-22")
        assert "until 2026-11-22" in (told := await engine.recall(ids=[hit["id"]])) and "(ended)" in told
        assert not (await take(engine, [person(f"{rule}, please", at=world.now.replace(day=16))])).active, "it is over"
