"""Statements stored without review are clear on their own and last, and aren't copies of the agent's notes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.extraction.session_notes import MOST_PROPOSALS
from mcp_memory.models import NoteState
from mcp_memory.statements.corrections import corrected
from mcp_memory.statements.cues import is_worth_proposing, stands_alone
from mcp_memory.statements.extractor import extract_candidates
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.conversation.own_words import masked
from tests.extraction.talks import AT, assistant, person, take, tool
from tests.support.world import World, paths, records


@pytest.mark.parametrize("words", [
    "deliveries leave the bakery at 4:30", "the night shift hands over in room 12",
    "unser Mandant zahlt nur per Lastschrift", "les factures partent le 5 de chaque mois",
    "las facturas salen el día 5", "we ship the game on Steam first", "invoices are numbered per calendar year",
    "never run terraform apply by hand", "no, the ward clerk approves leave",
    "write every changelog entry in English", "staging runs on port 5433",
])  # fmt: skip
def test_a_statement_with_a_subject_stands_alone(words: str):
    assert stands_alone(masked(words), is_explained=False)


@pytest.mark.parametrize("words", [
    "take 4:30", "25, only from the second one on", "it goes from 2:45 to 4", "set it to 8 because of the retries",
    "needs an index on visits and patients", "write docs/retention.md for Tom",
    "schreib die Mahnungen an alle Mandanten", "the oven in shop 3 just crashed again",
    "the intern gets a 404 on the staging calendar", "das ist nur für die Praxis",
    "she would like a fee, 25 or 30 euro, she doesn't know", "liegt auf dem alten Server im Keller",
    "the second one without the long title", "only try the new oven in shop 3",
    "die Zeiten sind eingetragen, passt das", "corrige le titre de la page des menus",
    "arregla el título de la página", "British spelling.. no, American spelling",
])  # fmt: skip
def test_what_passes_or_names_no_subject_does_not(words: str):
    assert not stands_alone(masked(words), is_explained=False)


@pytest.mark.parametrize("words", [
    "Epoch 4 train loss=nan val loss=nan.", "2026/11/12 13:20:11 INFO : Starting rclone", "0 0.81", "Cleanup.",
    "[remind] ERROR: pingwell 429", "npm error code EBADENGINE", "commit it with the notebook",
])  # fmt: skip
def test_output_tasks_and_fragments_are_not_proposed(words: str):
    assert not is_worth_proposing(masked(words))


@pytest.mark.parametrize("words", [
    "From now on twice a week.", "From now on every Tuesday at 8:00.", "Always before noon.",
    "Max. 30 rows per page, always.", "Ids above 900 only, older ones came from the phone bank in Dortmund.",
    "Immer mit Handschuhen.", "Ab jetzt zweimal pro Woche.", "Ab sofort nur mit Termin.",
    "Désormais deux fois par semaine.", "A partir de ahora dos veces por semana.",
])  # fmt: skip
def test_a_rule_without_a_subject_or_verb_waits(words: str):
    assert not any(one.outright for one in extract_candidates([person(words)], None))


@pytest.mark.parametrize("words", [
    "From now on in Graz we bill by the hour.", "Never push to main.", "Always use gloves in the dye room.",
    "Nie ohne Review mergen.", "Immer mit uv installieren.", "Désormais le logo est bleu.",
    "Désormais on facture à l'heure.", "A partir de ahora el logo es azul.",
])  # fmt: skip
def test_a_short_rule_with_a_verb_is_stored(words: str):
    assert any(one.outright for one in extract_candidates([person(words)], None))


@pytest.mark.parametrize(("before", "words", "after"), [
    ("We keep parcels for 90 days.", "wait, legal told me 180 days, not 90", "We keep parcels for 180 days."),
    ("Max attempts for retries is 8.", "hm no wait, 6 attempts", "Max attempts for retries is 6 (first: 8)."),
    ("Die Zahl der Versuche ist 8.", "nee warte, 6 Versuche", "Die Zahl der Versuche ist 6 (first: 8)."),
    ("Le nombre des essais est 8.", "non attends, 6 essais", "Le nombre des essais est 6 (first: 8)."),
    ("El máximo de intentos es 8.", "eh no, espera, 6 intentos", "El máximo de intentos es 6 (first: 8)."),
    ("The worker count is 8.", "no wait, 6 attempts", None),
    ("Die Praxis öffnet um 8:30.", "nein, 9:00, nicht 8:30", "Die Praxis öffnet um 9:00."),
    ("Quiet hours: nothing between 21 and 8.", "hm make it 20, many are older",
     "Quiet hours: nothing between 21 and 8. Corrected: make it 20, many are older."),
    ("The dough rests 12 hours.", "sorry, I mean 14", "The dough rests 14 hours (first: 12 hours)."),
    ("The call is at 3 pm.", "no, 11 am, not 3 pm", "The call is at 11 am."),
    ("Der Laden schließt um 17 Uhr.", "nein, 18", "Der Laden schließt um 18 Uhr (first: 17 Uhr)."),
    ("Le bail dure 36 mois.", "non, pas 36 mois, mais 24 mois", "Le bail dure 24 mois."),
    ("Enviamos los viernes.", "mejor los lunes", "Enviamos los lunes (first: viernes)."),
    ("The release is on 2026-12-12.", "make it 15", "The release is on 2026-12-15 (first: 2026-12-12)."),
    ("Above 200 € we need two signatures.", "make it 300", "Above 300 € we need two signatures (first: 200 €)."),
    ("We keep parcels for 90 days.", "the tests took 90 seconds", None),
    ("We keep parcels for 90 days.", "make it a habit to run the linter", None),
    ("We keep parcels for 90 days.", "make it 90 days, yes", None),
    ("Orders go out daily.", "make it 20", None),
    ("We keep parcels for 90 days.", "is it 180 days, not 90?", None),
    ("We keep parcels for 90 days.", "Sorry, it's 180, not 90.", "We keep parcels for 180 days."),
    ("We keep parcels for 90 days.", "parcels stay 180 days, not 90", "We keep parcels for 180 days."),
    ("Wir heben Akten 10 Jahre auf.", "Frau Özdemir meint 12 Jahre, nicht 10", "Wir heben Akten 12 Jahre auf."),
    ("On garde les colis 90 jours.", "non, 180 jours, pas 90", "On garde les colis 180 jours."),
    ("Guardamos los paquetes 90 días.", "perdón, son 180 días, no 90", "Guardamos los paquetes 180 días."),
    ("The night shift starts at 21:30.", "better 22:00", "The night shift starts at 22:00 (first: 21:30)."),
    ("La réunion est à 9:00.", "plutôt à 10:30", "La réunion est à 10:30 (first: 9:00)."),
    ("We keep parcels for 90 days.", "The gateway timeout is 30 seconds, not 90.", None),
    ("We keep parcels for 90 days.", "I think it's 180 days, not 90", None),
    ("We keep parcels for 90 days.", "Invoices are due after 30 days, not 90.", None),
    ("We keep parcels for 90 days.", "parcels are scanned after 30 seconds, not 90", None),
    ("Always bake the rye bread at 220 degrees.", "By the way, table 30 ordered the cake, not 220.", None),
    ("Der Ofen läuft mit 220 Grad.", "Tisch 30 hat den Kuchen bestellt, nicht 220", None),
    ("Les pains cuisent à 220 degrés.", "la table 30 attend le gâteau, pas 220", None),
    ("Los panes van a 220 grados.", "la mesa 30 pidió la tarta, no 220", None),
    ("Invoices are due after 30 days.", "make it run in 5 seconds", None),
    ("Retries are limited to 5.", "Better to use 3 workers for the import from now on.", None),
    ("The import has 5 retries.", "Better to use 3 workers for the import from now on.", None),
    ("Wir wiederholen höchstens 5 Mal.", "Lieber 3 Worker für den Import nehmen", None),
    ("Hay 5 reintentos.", "Mejor usar 3 procesos para la importación", None),
    ("Database backups are kept for 90 days.", "Database logs are kept for 30 days, not 90.", None),
    ("The kitchen oven runs at 220 degrees.", "The cellar oven runs at 180 degrees, not 220.", None),
    ("The kitchen oven runs at 220 degrees.", "180, not 220, for the cellar oven.", None),
    ("The staging server needs 2 approvals.", "Ada says the production server needs 3 approvals, not 2.", None),
    ("Der Ofen in Lund läuft mit 220 Grad.", "Der Ofen in Malmö läuft mit 180 Grad, nicht 220.", None),
    ("La sauvegarde garde 90 jours.", "La sauvegarde garde 30 jours, pas 90, seulement en test", None),
    ("Il y a 5 essais.", "Plutôt prendre 3 processus pour l'import", None),
])  # fmt: skip
def test_a_correction_changes_the_statement_before_it(before: str, words: str, after: str | None):
    (sentence,) = user_sentences(words)
    found = corrected(sentence, before, names_old=False)
    assert (found and found[0]) == after
    assert corrected(sentence, before, names_old=True) in {found, None}


QUIET = "From now on no messages go out between 21 and 8."


@pytest.mark.parametrize(("answer", "joined"), [
    ("Messages stop between 21:00 and 8:00 now.", True), ("The second column has 12 characters.", False),
])  # fmt: skip
def test_a_short_correction_belongs_to_what_the_assistant_spoke_of(answer: str, joined: bool):
    found = extract_candidates([person(QUIET, 10), assistant(answer, 20), person("hm make it 20, please", 30)])
    assert any("Corrected: make it 20" in one.text for one in found) is joined
    assert (len(found) == 1) and found[0].text.startswith(QUIET)


@pytest.mark.parametrize("words", [
    "leg ihn auf donnerstag 18 uhr, dauerhaft", "move the stand-up to Tuesday for good", "no, first visits are exempt",
])  # fmt: skip
def test_what_lasts_is_proposed(words: str):
    assert is_worth_proposing(masked(words))


def appended(content: str, offset: int, title: str = "") -> TranscriptMessage:
    call = tool("stored", offset, name="mcp__memory__memory_append")
    return replace(call, arguments={"content": content, "title": title})


SAID = "From now on the bakery delivers to Malmö on Tuesdays only."
COPY = "From now on, the bakery delivers to Malmö on Tuesdays only."
SIMILAR = "Deliveries of the bakery to Malmö: on Tuesdays only."


@pytest.mark.parametrize(("said", "stored", "at_once"), [
    (SAID, SIMILAR, False), (SAID, "The bakery has a new oven.", True),
    ("Never deploy the billing service on Fridays.", "Deploy the billing service on Fridays after lunch.", True),
    ("Never deploy the billing service on Fridays.", "Deploy the billing service on Fridays, no problem.", True),
    ("Ab sofort schicken wir Rechnungen nie per Mail.", "Rechnungen ab sofort per Mail schicken, kein Problem.", True),
    ("From now on customer data must never leave the EU region.",
     "EU region is configured in terraform; customer table has an index on email", True),
    ("Always use uv instead of pip.", "Project setup: uses pip with requirements.txt", True),
    ("Ab sofort schicken wir Rechnungen nie per Mail.", "Rechnungen schicken wir ab sofort per Mail.", True),
    ("A partir de ahora no pedimos nunca harina los lunes.", "Pedimos harina los lunes a partir de ahora.", True),
    ("Désormais on ne livre jamais le dimanche matin.", "On livre le dimanche matin, désormais.", True),
])  # fmt: skip
def test_what_the_agent_perhaps_stored_waits(said: str, stored: str, at_once: bool):
    (alone,) = extract_candidates([person(said, 10)])
    (found,) = extract_candidates([person(said, 10), appended(stored, 20)])
    assert (alone.outright, found.outright, found.text) == (True, at_once, alone.text)
    failed = replace(appended(stored, 20), failed=True)
    assert extract_candidates([person(said, 10), failed]) == [alone]


LATER = [person("and note that down", 30), appended(COPY, 40)]


@pytest.mark.anyio
async def test_what_the_agent_stores_later_replaces_the_extracted_note(world: World):
    async with world.engine() as engine:
        (note,) = (await take(engine, [person(SAID, 10), assistant("Fine.", 20)])).active
        copy = await engine.append(COPY, kind="decision")
        await take(engine, LATER)
        found = {record.id: record for record in records(engine)}
        assert found[note].superseded_by == (copy.id,) and SAID in world.read(found[note].path).decode()
        again = await take(engine, [person(SAID, 10), assistant("Fine.", 20)])
        assert again.active == again.waiting == ()


@pytest.mark.anyio
async def test_a_copy_of_the_agent_is_no_rejection_and_never_drops_what_forbids(world: World):
    forbidden, later = "Never deploy the billing service on Fridays.", [person("note that", 30), appended(COPY, 40)]
    async with world.engine() as engine:
        said, kept = (await take(engine, [person(SAID, 10), person(forbidden, 15), assistant("Fine.", 20)])).active
        await engine.append(COPY, kind="decision")
        await engine.append("Never deploy the billing service on Fridays", kind="decision")
        await take(engine, later)
        states = {record.id: record.state for record in records(engine)}
        assert (states[said], states[kept]) == (NoteState.ARCHIVED, NoteState.ACTIVE)
        assert '"copied"' in (world.state / "candidates.jsonl").read_text()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("in_memory", "edit"), [("", ""), (SIMILAR, ""), (SAID.replace("only", "never"), ""), (COPY, SAID)]
)
async def test_nothing_less_than_a_copy_in_memory_replaces_it(world: World, in_memory: str, edit: str):
    async with world.engine() as engine:
        (note,) = (await take(engine, [person(SAID, 10), assistant("Fine.", 20)])).active
        if in_memory:
            await engine.append(in_memory, kind="decision")
        if edit:
            await engine.update(note, f"{edit} Anna drives.")
            await engine.update(note, edit)
        await take(engine, LATER)
        assert {record.id: record.state for record in records(engine)}[note] is NoteState.ACTIVE


PROPOSALS = [
    "I think we should go with DuckDB for reports.", "Maybe we should drop Python 3.10 in May.",
    "Maybe our export in Lund moves to DuckDB in June.", "Our contract with Globex ends in March 2027.",
    "Our bakery in Malmö has 300 trays for bread.", "I think we should print the labels in Lund.",
    "Our clinic in Galway has 12 rooms for visits.",
]  # fmt: skip


@pytest.mark.anyio
async def test_a_session_leaves_a_few_proposals(world: World):
    talk = [person(words, 10 * at, AT) for at, words in enumerate(PROPOSALS, 1)]
    async with world.engine() as engine:
        await take(engine, talk)
        waiting = paths(engine, NoteState.INBOX)
        assert len(waiting) == MOST_PROPOSALS < len(PROPOSALS)
        assert (await take(engine, talk)).waiting == () and paths(engine, NoteState.INBOX) == waiting
        await take(engine, talk[:2], session="another")
        assert paths(engine, NoteState.INBOX) == waiting, "a copy of the session adds nothing"


@pytest.mark.anyio
async def test_what_had_no_room_may_be_said_again(world: World):
    talk = [person(words, 10 * at) for at, words in enumerate([*reversed(PROPOSALS)], 1)]
    async with world.engine() as engine:
        taken = await take(engine, talk)
        waiting = {record.id for record in records(engine) if record.state is NoteState.INBOX}
        assert {*taken.waiting} == waiting and len(waiting) == MOST_PROPOSALS
        await take(engine, talk, session="copy")
        assert {record.id for record in records(engine) if record.state is NoteState.INBOX} == waiting
        world.later(hours=1)
        again = [replace(one, turn=replace(one.turn, at=world.now)) for one in talk]
        later = await take(engine, again, session="later")
        assert (len(later.waiting), later.known) == (len(PROPOSALS) - MOST_PROPOSALS, MOST_PROPOSALS)
        await engine.review("drop", later.waiting[0])
        world.later(hours=1)
        once_more = [replace(one, turn=replace(one.turn, at=world.now)) for one in talk]
        last = await take(engine, once_more, session="last")
        assert (last.waiting, last.known) == ((), len(PROPOSALS)), "what you dropped doesn't come back"


def ran(command: str, text: str, offset: int, *, failed: bool = False) -> TranscriptMessage:
    return replace(tool(text, offset, failed=failed), arguments={"command": command})


@pytest.mark.parametrize(("begins", "proposed"), [(10, False), (20, True)])
def test_a_first_failure_of_an_own_change_is_no_lesson(begins: int, proposed: bool):
    talk = [
        replace(tool("ok", 10), arguments={"path": "a.rs", "content": "id: u8"}),
        ran("cargo test", "error[E0308]: mismatched types", 20, failed=True), assistant("The id is a string.", 25),
        replace(tool("ok", 30), arguments={"path": "a.rs", "content": "id: String"}), ran("cargo test", "ok", 35),
    ]  # fmt: skip
    found = extract_candidates([one for one in talk if one.offset >= begins])
    assert bool(found) is proposed
