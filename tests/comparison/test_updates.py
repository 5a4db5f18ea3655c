"""A later note on a page may change an earlier one if they share rare words, and one thing may have changed."""

from __future__ import annotations

import pytest

from mcp_memory.comparison.other_value import NoteText
from mcp_memory.comparison.updates import Updates

DECISION = "decision"
DAYS = ("2026-03-17", "2026-05-06")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (("Purge", "Files are purged after 180 days."), ("Purge after the audit", "We purge files after 90 days.")),
        (("Alarm", "Alarm at 8 degrees."), ("Alarm, again", "8 degrees was too nervous. It fires at 15 degrees.")),
        (("Slots", "Four jobs for each agent."), ("Slots lowered", "It is at most two jobs for each agent.")),
        (("No ships after Friday noon", "Nothing leaves after Friday 12:00."),
         ("Ship window moved", "The Friday rule is gone. Ships leave only on Monday.")),
        (("Rail pass?", "Buy the pass for two weeks."), ("No rail pass", "Single tickets are cheaper.")),
        (("Wann aktualisiert wird", "Updates laufen mittwochs in der Pause."),
         ("Neues Fenster", "Mittwoch war Unsinn. Updates laufen freitags ab 15 Uhr.")),
        (("Turnus", "Die Daten kommen monatlich."), ("Turnus geändert", "Sie kommen vierteljährlich.")),
        (("Acompte de 30 %", "30 % à la signature."), ("Acompte", "Je passe à 40 % d'acompte.")),
        (("Le programme vient d'un tableur", "L'import du tableur part toutes les heures."),
         ("Fini le tableur", "On saisit dans EasyAdmin, l'import du tableur est débranché.")),
        (("A quarter in advance", "A quarter is due when the order is placed, the rest on delivery."),
         ("Payments altered", "Half is due when the order is placed and half on delivery.")),
        (("Commission 70/30", "A shop gets 70 percent of the fee, we keep 30."),
         ("Commission is 65", "A shop's share goes down to 65. It stays at 70 for large ones.")),
        (("Rounds are made by hand", "Lists are compiled by hand for each yard."),
         ("Lists are generated now", "Compiling by hand was slow. The lists come from the yard file.")),
        (("Residual", "Pull them off at 1500 kg."), ("Residual for winter", "1500 kg stays, ewes go to 1200 kg.")),
        (("Schrift der Schilder", "Gesetzt wird in Frutiger 20 Punkt."),
         ("Schrift größer", "Ab jetzt 26 Punkt, Frutiger bleibt.")),
        (("Seilfahrt", "Wartung nur mit Freigabe, höchstens 2 km/h."),
         ("Wartung schneller", "2 km/h reicht dafür nicht, neu sind es 4 km/h.")),
        (("Seuil de coupe", "On coupe à 1.5 s de silence."), ("2 s", "1.5 coupait trop, après 2 s de silence.")),
        (("Cinco puntos", "La curva tiene cinco puntos."), ("Siete puntos", "Desde hoy son siete puntos.")),
    ],
)  # fmt: skip
def test_a_note_that_changes_a_rule_is_found(older: tuple[str, str], newer: tuple[str, str]) -> None:
    old, new = (NoteText(text, title, DECISION) for title, text in (older, newer))
    assert Updates([old, new], DAYS).find(0) == 1
    assert Updates([old, NoteText(new.text, new.title, "lesson")], DAYS).find(0) is None, (
        "a lesson tells what happened once"
    )
    assert Updates([old, NoteText(new.text, new.title, "note")], DAYS).find(0) == 1


def test_a_change_is_clear_if_the_later_note_says_so_or_has_a_new_value_and_most_of_the_words() -> None:
    rule = NoteText("Staff climb the tower up to 15 m/s of wind.", "Wind limit of the tower", DECISION)
    texts = ("The wind limit of the tower is 12 m/s now.", "Staff climb the tower with a harness, a helmet and a rope.")
    clear, open_ = (Updates([rule, NoteText(text, rule.title, DECISION)], DAYS) for text in texts)
    assert clear.find(0) == open_.find(0) == 1 and clear.is_clear(0, 1) and not open_.is_clear(0, 1)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (("Confidence", "Each rating has a confidence, a low rating needs a reason."),
         ("Drop the low rating?", "They asked if we could leave the low rating off. Ratings are never softened.")),
        (("Review", "Two people approve."), ("Deploy", "Nothing leaves on Friday now.")),
        (("Speisen", "Es gibt drei Gerichte."), ("Getränke", "Ab jetzt gibt es vier Säfte.")),
        (("Oslo", "Boats at Oslo never leave before noon."), ("Turku", "Boats at Turku never leave before noon.")),
        (("web", "The web service listens on 8080."), ("mail", "The mail service listens on 9090.")),
    ],
)  # fmt: skip
def test_rules_of_two_things_are_no_update(older: tuple[str, str], newer: tuple[str, str]) -> None:
    old, new = (NoteText(text, title, DECISION) for title, text in (older, newer))
    assert Updates([old, new], DAYS).find(0) is None


def test_a_note_of_the_same_day_changes_a_rule_only_with_a_sign_of_change() -> None:
    old = NoteText("The off duty goes out four weeks ahead.", "The off duty", DECISION)
    changed = NoteText("HR want the off duty six weeks ahead now.", "HR want the off duty", DECISION)
    other = NoteText("The ward share has the off duty for two weeks.", "Off duty on the share", DECISION)
    assert Updates([old, changed], DAYS[:1] * 2).find(0) == 1
    assert Updates([old, other], DAYS[:1] * 2).find(0) is None
    assert Updates([old, other], DAYS).find(0) == 1
