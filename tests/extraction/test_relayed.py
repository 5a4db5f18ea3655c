"""What a person passes on from somebody else is not theirs; what they told somebody is."""

from __future__ import annotations

import pytest

from mcp_memory.extraction.candidate import Voice
from mcp_memory.extraction.extractor import extract_candidates
from tests.extraction.talks import person


@pytest.mark.parametrize(
    "message",
    [
        "Bob just messaged me: from now on deploys go out on Fridays",
        "Bob just messaged me. From now on deploys go out on Fridays.",
        "so Bob messaged me and said from now on deploys go out on Fridays",
        "got this on Slack: from now on we always squash merges",
        "the customer says that from now on all invoices must be in EUR",
        "FYI from Bob: from now on deploys go out on Fridays",
        "QA reports: from now on every ticket needs a screenshot",
        "the client called, from now on invoices are always in EUR",
        "Bob (via Teams): from now on deploys go out on Fridays",
        "Ticket 4711: from now on all exports are in CSV",
        "message from Eva - from now on use pnpm",
        "Anna schreibt mir gerade: ab jetzt deployen wir immer freitags",
        "laut Ticket verwenden wir ab jetzt immer Postgres 16",
        "In der Mail von Jens heißt es: ab sofort immer Postgres",
        "Paul lässt ausrichten: ab jetzt deployen wir immer freitags",
        "Nachricht von Eva: ab jetzt immer mit Tabs einrücken",
        "mon collègue m'écrit : à partir de maintenant on déploie le vendredi",
        "Message de Léa : à partir de maintenant on utilise pnpm",
        "Julie vient d'écrire : désormais on déploie le vendredi",
        "reçu sur Slack : désormais on fait toujours un squash",
        "me escribe mi jefe: a partir de ahora desplegamos los viernes",
        "mensaje de Luis: a partir de ahora usamos pnpm",
        "recibido de Marta: de ahora en adelante usamos Jira",
        "me llegó por Slack: a partir de ahora siempre squash",
    ],
)
def test_what_is_passed_on_waits_for_review(message: str) -> None:
    assert not any(one.outright for one in extract_candidates([person(message)]))


@pytest.mark.parametrize(
    "message",
    [
        "I told Bob: from now on we deploy on Fridays",
        "My boss and I decided: from now on deploys go out on Fridays",
        "From now on messages from Bob go to the ops queue",
        "Never message customers after 6pm",
        "from now on when a customer writes: answer in their language",
        "Always write the changelog before the mail goes out",
        "the ticket is done. from now on we deploy on Fridays",
        "Bob just messaged me.\n\nFrom now on deploys go out on Fridays.",
        "We decided in the meeting: from now on deploys go out on Fridays",
        "Ich hab Bob gesagt: ab jetzt deployen wir immer freitags",
        "J'ai dit à Bob : à partir de maintenant on déploie le vendredi",
        "Le dije a Bob: a partir de ahora desplegamos los viernes",
    ],
)
def test_what_the_person_says_counts(message: str) -> None:
    assert [one.voice for one in extract_candidates([person(message)]) if one.outright] == [Voice.SAID]
