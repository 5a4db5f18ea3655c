"""What a person passes on from somebody else is not theirs; what they told somebody is."""

from __future__ import annotations

import pytest

from mcp_memory.statements.candidate import Voice
from mcp_memory.statements.extractor import extract_candidates
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
        "Stack Overflow answer: You should never use eval, always use ast. Is it right?",
        "Top comment on Reddit: never use bcrypt for anything new. Thoughts?",
        "From the docs: Always wrap the app in a factory. Does that apply to us?",
        "GitHub issue says: from now on, always run eslint with --cache",
        "accepted answer on SO: always use Nix. Agree?",
        "Tip from the newsletter: never write a Makefile by hand",
        "never import lodash as a whole. is that right?",
        "Blog: We decided to use gRPC everywhere. Is he right?",
        "Kommentar unter dem Artikel: Ab jetzt immer Nginx davor setzen. Stimmt das?",
        "Aus einem Blogpost: Nutze nie Kafka für kleine Teams. Stimmt das?",
        "Réponse sur Stack Overflow : N'utilisez jamais Redux. C'est vrai ?",
        "Respuesta de Stack Overflow: nunca uses MongoDB para pagos. ¿Es correcto?",
        "10:42 mona: from now on we always use Grafana",
        "@priya [09:05]: never use Pandas in prod",
        "Stefan meint, wir nehmen ab jetzt immer Tabs.",
        "Wir nehmen Oracle, das ist entschieden, meint zumindest Stefan.",
        "Lena says we always use uv from now on.",
        "We always use Kotlin now, says Tom.",
        "Marie dit que désormais on utilise toujours Bun.",
        "Pedro dice que a partir de ahora siempre usamos Vim.",
    ],
)
def test_what_is_passed_on_waits_for_review(message: str) -> None:
    found = extract_candidates([person(message)])
    assert not any(one.outright or one.voice is not Voice.UNSURE for one in found)


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
        "as I said we always use pnpm",
        "Never use tabs, I said.",
        "Decision: from now on we always use pnpm. Does that cause problems?",
        "Note: we never deploy on a Friday. OK?",
        "We decided to post the release on Reddit, too.",
        "Never paste code from Stack Overflow.",
        "Always give answers in German.",
        "Never leave comments on generated code.",
        "Is that right? From now on always use pnpm.",
        "From now on the standup is always at 10:42.",
        "wir nehmen Postgres, das ist entschieden",
        "we're going with Kotlin, that's settled",
        "we'll use Quarkus, it's settled",
        "it's decided: MariaDB for the new service",
        "Ich nehme Angular - das ist jetzt entschieden",
        "Es wird Hetzner, beschlossene Sache.",
        "On prend Svelte, c'est décidé.",
        "Usamos Elixir, está decidido.",
    ],
)
def test_what_the_person_says_counts(message: str) -> None:
    assert [one.voice for one in extract_candidates([person(message)]) if one.outright] == [Voice.SAID]
