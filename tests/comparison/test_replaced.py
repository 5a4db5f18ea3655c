"""A newer note on a topic replaces an older one if it gives the same thing another value, or says that it changes."""

from __future__ import annotations

import pytest

from mcp_memory.comparison.other_value import NoteText
from mcp_memory.comparison.replaced import is_replaced

DECISION = "decision"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (("Purge", "Files are purged after 180 days."), ("Purge after the audit", "We purge files after 90 days.")),
        (("Alarm", "Alarm at 8 degrees."), ("Alarm, again", "8 degrees was too nervous. It fires at 15 degrees.")),
        (("Slots", "Four jobs for each agent."), ("Slots lowered", "It is at most two jobs for each agent.")),
        (("No ships after Friday noon", "Nothing leaves after Friday 12:00."),
         ("Ship window moved", "The Friday rule is gone. Ships leave only on Monday.")),
        (("Rail pass?", "Buy the pass for two weeks."), ("No rail pass", "Single tickets are cheaper.")),
        (("Caller is GATK", "It runs over the cohort."), ("Now DeepVariant", "We drop GATK for this study.")),
        (("3S lipo 5000 mAh", "It lives in the garage."), ("Going LiFePO4", "Swapped the lipo for LiFePO4 cells.")),
        (("Wann aktualisiert wird", "Updates laufen mittwochs in der Pause."),
         ("Neues Fenster", "Mittwoch war Unsinn. Updates laufen freitags ab 15 Uhr.")),
        (("Formate", "Es gibt Shapefile und CSV."), ("GeoPackage", "Es entfällt das Shapefile. Es gibt CSV.")),
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
        (("¿Todo en la web?", "En línea va un extracto de tres minutos."),
         ("Extracto más corto", "Tres minutos eran mucho. Un minuto en línea.")),
        (("Cinco puntos", "La curva tiene cinco puntos."), ("Siete puntos", "Desde hoy son siete puntos.")),
    ],
)  # fmt: skip
def test_a_note_that_changes_a_rule_replaces_it(older: tuple[str, str], newer: tuple[str, str]) -> None:
    old, new = (NoteText(text, title, DECISION) for title, text in (older, newer))
    assert is_replaced(old, new)
    assert not is_replaced(old, NoteText(new.text, new.title, "lesson")), "a lesson tells what happened once"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (("Confidence", "Each rating has a confidence, a low rating needs a reason."),
         ("Drop the low rating?", "They asked if we could leave the low rating off. Ratings are never softened.")),
        (("Hosts", "The relay runs on aster, the spare host is briar."),
         ("Switching to the spare", "Move the address from the host, then start the relay on the spare.")),
        (("Tafeln", "Die Tafel ist weiß und drei Meter breit."),
         ("Jetzt auch blau", "Auf Wunsch ist die Tafel blau, und so breit wie die Tafel in Weiß.")),
        (("Backup", "We keep it for 30 days."), ("Backup for photos", "We keep it for 90 days.")),
        (("Review", "Two people approve."), ("Deploy", "Nothing leaves on Friday now.")),
        (("Speisen", "Es gibt drei Gerichte."), ("Getränke", "Ab jetzt gibt es vier Säfte.")),
        (("Clean login", "Never run jobs on the login node."), ("Jobs", "Jobs run on the batch nodes now.")),
        (("Launch", "It is on 14 May."), ("German, French and Chinese for launch", "The texts freeze on 1 March.")),
    ],
)  # fmt: skip
def test_rules_of_two_things_hold_side_by_side(older: tuple[str, str], newer: tuple[str, str]) -> None:
    old, new = (NoteText(text, title, DECISION) for title, text in (older, newer))
    assert not is_replaced(old, new)
