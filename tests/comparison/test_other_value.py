"""When a newer statement contradicts an older one, and what it is said to replace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory.comparison.other_value import NoteText, find_contradiction
from mcp_memory.comparison.same_form import Contradiction

pytestmark = pytest.mark.fast


def contradiction(older: str, newer: str) -> Contradiction | None:
    return find_contradiction(NoteText(older), NoteText(newer))


def test_another_port_of_the_same_service() -> None:
    found = contradiction("The gateway listens on port 8087.", "The gateway listens on port 8090 now.")
    assert found == Contradiction("8087", "8090")
    assert found.why == "8087 → 8090"


@pytest.mark.parametrize(
    ("older", "newer", "before", "after"),
    [
        ("The gateway listens on port 8087.", "We moved the gateway from 8087 to 8090.", "8087", "8090"),
        ("Der Dienst läuft auf Port 8080.", "Der Dienst läuft nicht mehr auf 8080, sondern auf 8443.", "8080", "8443"),
        ("Sessions are kept in Redis.", "Sessions are kept in Postgres instead of Redis.", "Redis", "Postgres"),
        ("El servidor usa el puerto 3000.", "El servidor ya no usa el puerto 3000 sino el 3100.", "3000", "3100"),
        ("Releases go out on Tuesdays.", "Releases go out on Thursdays, not on Tuesdays.", "Tuesdays", "Thursdays"),
        (
            "We keep 14 days of reads, writes stay.",
            "Legal wants 30 days for reads not 14, writes as before.",
            "14 days",
            "30 days",
        ),
        ("Nous servons 60 couverts.", "Nous servons 45 couverts, 60 était trop ambitieux.", "60", "45"),
        ("The deck targets 60 fps.", "Back to 30 fps on the deck, 60 is not happening.", "60", "30"),
        ("Der Mantel ist 15 cm dick.", "Der Mantel ist 18 cm dick und nicht 15.", "15 cm", "18 cm"),
    ],
)
def test_an_outright_change_names_both_values(older: str, newer: str, before: str, after: str) -> None:
    assert contradiction(older, newer) == Contradiction(before, after, outright=True)


@pytest.mark.parametrize(
    ("older", "newer", "why"),
    [
        ("The defence is planned for 20 May.", "The defence is on 12 June.", "20 May → 12 June"),
        ("Die Abgabe ist für Montag geplant.", "Die Abgabe ist am Mittwoch.", "Montag → Mittwoch"),
        (
            "The webhook answers 200 for unknown parcels.",
            "I changed my mind, let the webhook answer 404 there after all, 200 hides real problems.",
            "200 → 404",
        ),
    ],
)
def test_one_value_in_place_of_another(older: str, newer: str, why: str) -> None:
    found = contradiction(older, newer)
    assert found and found.why == why and not found.outright


def test_the_opposite_is_no_outright_change() -> None:
    found = contradiction("Always use tabs for indentation.", "Never use tabs for indentation.")
    assert found and not found.outright and found.why.startswith("the opposite of")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The auth service listens on port 7001.", "The billing service listens on port 7002 now."),
        ("Production logs at warn.", "Staging logs at debug now."),
        ("Run 14 took 30 epochs.", "Run 15 took 40 epochs."),
        ("The service listens on port 8080.", "Der Dienst lauscht auf Port 8080."),
        ("Flash the bootloader first.", "Never flash the bootloader over the air."),
        ("Always ask before a migration.", "Never run a migration without asking me."),
        ("We use Redis for sessions.", "We also use Redis for rate limits."),
        ("Checkout load test: p95 480 ms, 200 rps.", "The load test of checkout with k6 now gives p99 620 ms."),
        ("Load test of checkout: p95 below 300 ms, with 20 users.", "The load test of checkout now runs with k6."),
        ("Notebook outputs bloat the repository.", "Notebook outputs are deleted before each commit."),
        ("The sandbox is down, so don't call it in tests.", "The sandbox is down until Thursday, no calls in tests."),
        ("The boss has 3000 hit points.", "The second boss has 4200 hit points."),
        ("An appointment lasts 20 minutes.", "A first appointment lasts 40 minutes."),
        ("The pool has 20 slots.", "We could raise the pool to 30 slots now."),
        ("The pool has 20 slots.", "Does the pool have 30 slots now?"),
        ("Der Pool hat 20 Plätze.", "Vielleicht hat der Pool jetzt 30 Plätze."),
        ("Tickets cost 12 euros on Sundays.", "Tickets cost 12 euros again on Sundays and 15 on Saturdays."),
        ("The report has to be below 2 MB.", "The report is 1.4 MB now."),
        ("The ferry of 2025-06-18 sails at seven.", "The ferry of 2026-07-28 sails at seven."),
        ("Ovens in the bakery run at 220 degrees.", "Proofing cabinets in the bakery run at 30 degrees, not 220."),
        ("Backups of the database stay 90 days in Rome.", "Logs of the database stay 30 days in Rome, not 90."),
        ("El descanso dura 30 minutos.", "La visita dura 45 minutos, no 30."),
        ("The report for 3 May is in the drawer.", "The report for 9 June is in the drawer."),
    ],
)
def test_look_alikes_are_left_alone(older: str, newer: str) -> None:
    assert contradiction(older, newer) is None


def test_the_same_measure_is_compared() -> None:
    found = contradiction("Checkout load test: p95 480 ms.", "The load test of checkout now gives p95 310 ms.")
    assert found and (found.before, found.after) == ("480 ms", "310 ms")


def test_projects_are_kept_apart_and_notes_without_one_belong_to_all() -> None:
    older, newer = "Line length is 88.", "Line length is 100 now."
    assert find_contradiction(NoteText(older, project="one"), NoteText(newer, project="two")) is None
    assert find_contradiction(NoteText(older), NoteText(newer, project="two"))


def test_measurements_in_a_log_are_a_history() -> None:
    one, two = (NoteText(f"First load is {size} kB now.", kind="log") for size in (268, 233))
    assert find_contradiction(one, two) is None


def test_of_one_session_only_words_of_change_tell_and_need_no_subject() -> None:
    parcels = NoteText("We keep parcels for 90 days after delivery.", session="a")
    said = "180. Hmm wait, legal told me 180 days, not 90."
    found = find_contradiction(parcels, NoteText(said, session="a"))
    assert found == Contradiction("90 days", "180 days", outright=True)
    assert find_contradiction(parcels, NoteText(said, session="b")) is None
    port = NoteText("The gateway listens on port 8087.", session="a")
    assert find_contradiction(port, NoteText("The gateway listens on port 8090.", session="a")) is None
    assert find_contradiction(port, NoteText("The gateway listens on port 8090.", session="b"))
    assert find_contradiction(port, NoteText("Sorry, the gateway listens on port 8090.", session="a"))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "From now on the gateway certificate is renewed every 90 days.",
            "We decided parcels are kept for 180 days, not 90.",
        ),
        ("The oven runs at 220 degrees.", "The proofing cabinet runs at 30 degrees, not 220."),
        ("The break is 30 minutes.", "Visiting hours last 45 minutes, not 30."),
        ("The kiln cools for 12 hours.", "Wait, the glaze dries for 24 hours, not 12."),
        ("The wound check is every 4 hours.", "Mia says the drip is changed every 6 hours, not 4."),
        ("The retry limit is 5.", "Make the pool size 8 instead of 5."),
        ("The gateway certificate is renewed every 90 days.", "Parcels stay in the depot. 180 days, not 90."),
        ("Die Übergabe dauert 30 Minuten.", "Die Besuchszeit dauert 45 Minuten, nicht 30."),
        ("Die Miete beträgt 900 Euro.", "Die Kaution beträgt 1800 Euro statt 900."),
        ("Le levain repose 12 heures.", "La brioche repose 8 heures, pas 12."),
        ("Les factures sont payées à 30 jours.", "On a décidé que les dossiers sont gardés 60 jours, pas 30."),
        ("El descanso dura 30 minutos.", "La visita dura 45 minutos, no 30."),
        ("Las copias se guardan 90 días.", "Los paquetes se guardan 180 días, no 90."),
        ("The dose is 5 mg every 8 hours.", "Wait, 10 kg, not 5."),
        ("The theatre has 90 seats.", "Wait, 180 rooms, not 90."),
    ],
)
def test_a_rejected_value_of_another_subject_changes_nothing_in_a_session_either(older: str, newer: str) -> None:
    one, two = (NoteText(text, title=text, session="a") for text in (older, newer))
    assert find_contradiction(one, two) is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("We keep parcels for 90 days.", "Wait, 180 days, not 90."),
        ("We keep parcels for 90 days.", "We decided parcels are kept for 180 days, not 90."),
        ("We keep parcels for 90 days.", "The lawyer says 6 months, NOT 90 days."),
        ("Rent is 900 euros.", "Actually it's 950 euros, not 900."),
        ("The round starts at 07:30.", "Correction: 07:45, not 07:30."),
        ("The dose is 5 mg.", "Oops, my mistake: I meant 10 mg, not 5."),
        ("The theatre has 90 seats.", "Sorry, 95 seats, not 90."),
        ("The boss has 3000 hp.", "Typo: 4200, not 3000."),
        ("Das Treffen ist am Montag.", "Äh, Dienstag, nicht Montag."),
        ("Die Akten bleiben 10 Jahre im Archiv.", "Ach nee, 6 Jahre, nicht 10."),
        ("Die Übergabe dauert 30 Minuten.", "Moment, die Chefin sagt 45 Minuten, nicht 30."),
        ("Le levain repose 12 heures.", "Pardon, je voulais dire 8 heures, pas 12."),
        ("Le levain repose 12 heures.", "Le levain repose 8 heures, pas 12."),
        ("El descanso dura 30 minutos.", "Perdón, quise decir 45 minutos, no 30."),
    ],
)
def test_a_correction_without_a_subject_is_about_the_value_of_its_session(older: str, newer: str) -> None:
    found = find_contradiction(NoteText(older, session="a"), NoteText(newer, session="a"))
    assert found and found.after and found.outright


def test_words_of_somebody_else_below_a_statement_are_not_compared() -> None:
    older = "No forward fill, it invents data.\n\n> Assistant: Nearly all gaps are short.\n> no forward fill"
    newer = "KGE in the first place.\n\n> Assistant: Which metric decides?\n> KGE in the first place"
    assert contradiction(older, newer) is None
    assert contradiction("> The gateway listens on port 8087.", "The gateway listens on port 8090 now.") is None


def test_documents_are_no_statements() -> None:
    document = "The gateway listens on port 8087.\n" * 60
    assert contradiction(document, "The gateway listens on port 8090 now.") is None


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_two_texts_can_be_compared_and_none_contradicts_itself(one: str, other: str) -> None:
    contradiction(one, other)
    assert contradiction(one, one) is None


def test_a_participle_before_a_verb_tells_no_event() -> None:
    found = find_contradiction(
        NoteText("Delivered parcels are kept for 90 days."), NoteText("Delivered parcels are kept for 180 days.")
    )
    assert found == Contradiction("90 days", "180 days")
    assert find_contradiction(NoteText("Delivered 90 parcels."), NoteText("Delivered 80 parcels.")) is None
