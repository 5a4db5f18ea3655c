"""What leans on the conversation around it isn't stored at once: questions, acts, answers, corrections, fragments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_memory.embedders.base import Embedder, EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.statements.candidate import StatementKind
from mcp_memory.statements.classifier import SentenceModel
from mcp_memory.statements.corrections import corrected
from mcp_memory.statements.cues import stands_alone
from mcp_memory.statements.extractor import extract_candidates
from mcp_memory.statements.proposals import asks_how_it_is
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.conversation.own_words import masked
from tests.extraction.talks import assistant, person


@pytest.mark.parametrize(("offer", "answer"), [
    ("Shall I roll back to the previous image?", "roll back."), ("Soll ich das dort umstellen?", "ja mach."),
    ("Shall I port the helpers now?", "yes please"), ("Dois-je convertir les anciens fichiers ?", "oui"),
    ("¿Quieres que convierta los ficheros antiguos?", "sí"),
    ("I'd keep them in memory and rebuild a row when a seat changes.", "agreed, in memory"),
    ("A usual reason is that the log compresses the peaks; was it that?", "yes, exactly, the peaks"),
    ("Monthly or per quarter?", "per quarter"),
])  # fmt: skip
def test_agreeing_to_an_act_or_a_question_of_fact_is_not_stored_at_once(offer: str, answer: str):
    assert not [one for one in extract_candidates([assistant(offer, 1), person(answer, 2)]) if one.outright]


@pytest.mark.parametrize("words", [
    "the own column yes, but not half-up", "Grußformel ja, Spalte nein", "la colonne oui, mais sans index",
    "la columna sí, pero sin índice", "The reason is the backup, which is through by 04:00",
    "der Grund ist das Backup, das läuft bis 4 Uhr", "la raison est la sauvegarde de la nuit",
    "el motivo es la copia de la base de datos", "Small correction, the exercise was shortened to Friday noon",
    "kleine Korrektur, die Übung endet schon am Freitag", "not 3, rayon and threads are out",
    "until then nothing gets submitted to the cluster", "bis dahin wird nichts auf den Cluster geschickt",
    "in these five days the values aren't used for training", "Olthoffs Vertrag: füll die Vorlage aus",
    "maintenant ajoute une table relances avec la date", "fit all groups again, and tell me the weights",
])  # fmt: skip
def test_an_answer_a_correction_or_a_task_does_not_stand_alone(words: str):
    assert not stands_alone(masked(words), is_explained=False)


@pytest.mark.parametrize("words", [
    "because the auditors want it signed by two people", "weil die Prüfer das mit zwei Unterschriften wollen",
    "parce que les auditeurs le veulent signé par deux personnes", "porque los auditores lo quieren firmado por dos",
    "since the node drains in 3 minutes, it's 200 in the values file", "comme le pod meurt, il est à 240 dans le chart",
    "512Mi, the worker has 256Mi since october", "make it 20m, the import of the ledger takes 14 on staging",
    "en latin-1, nada de utf-8", "mit Semikolon, niemals Komma", "súbelo a 12m, la migración tarda 9 en prod",
    "(a) and the lock of the table, no nightly sweep",
])  # fmt: skip
def test_a_clause_a_value_or_a_place_alone_does_not_stand_alone(words: str):
    assert not stands_alone(masked(words), is_explained=False)


@pytest.mark.parametrize("words", [
    "because of the audit we always keep invoices for ten years", "in prod, never deploy on a Friday afternoon",
    "weil die Prüfer es verlangen, heben wir Rechnungen zehn Jahre auf", "On utilise uv pour la CI, pas pip",
    "since october the billing worker has 512Mi on staging", "en prod usamos la base de Berlín, nunca otra",
])  # fmt: skip
def test_a_main_clause_with_its_subject_stands_alone(words: str):
    assert stands_alone(masked(words), is_explained=False)


LIST = "I'd (a) keep invoices in S3, plus (b) delete local copies weekly, and (c) sign each upload."


@pytest.mark.parametrize(("offer", "answer", "stored"), [
    (LIST, "ok (a), not (b)", "Keep invoices in S3."), (LIST, "ok a, not b", "Keep invoices in S3."),
    (LIST, "yes, (b) only", "Delete local copies weekly."), (LIST, "the first one", "Keep invoices in S3."),
    (LIST, "ok do the first one, the second is too risky", "Keep invoices in S3."),
    (LIST, "ok (a) and (c), no (b)", None), (LIST, "ok (a) and the copies, no signing", None),
    (LIST, "all except (b)", None), (LIST, "the second is too risky", None), (LIST, "not (b)", None),
    ("Ich würde a) Rechnungen in S3 ablegen, sowie b) Kopien löschen.", "a ja, b nein", "Rechnungen in S3 ablegen."),
    ("Je propose (a) garder les factures dix ans, et (b) les chiffrer.", "d'accord pour (a), pas (b)",
     "Garder les factures dix ans."),
    ("Propongo (a) usar Valkey para la caché, además (b) quitar el índice.", "vale (a), no (b)",
     "Usar Valkey para la caché."),
    ("I'd use (a) and also (c) one lock for the ledger table, plus (d) a nightly sweep.", "(c) please",
     "One lock for the ledger table."),
    ("I'd use feature flags, plus a kill switch in the config table.", "ok the flags, not the kill switch", None),
    ("As the outbox is there, I'd use the Postgres queue for webhooks.", "agreed, the Postgres queue", None),
    ("I'd stay with Postgres until the lag hurts.", "yeah, we stay with Postgres", None),
    ("I'd use the Postgres queue for webhooks.", "agreed, the Postgres queue", "Use the Postgres queue for webhooks."),
    ("Ich würde die Rechnungen zehn Jahre aufbewahren.", "ja, so machen wir das",
     "Die Rechnungen zehn Jahre aufbewahren."),
])  # fmt: skip
def test_only_what_was_accepted_is_stored_in_whole_words(offer: str, answer: str, stored: str | None):
    found = extract_candidates([assistant(offer, 1), person(answer, 2)])
    assert [one.statement for one in found if one.outright] == ([stored] if stored else [])


@pytest.mark.parametrize(("question", "asks"), [
    ("The log compresses the peaks; was it that?", True), ("Es ist der Cache – ist er voll?", True),
    ("Shall we use SQLite for the cache?", False),
])  # fmt: skip
def test_a_last_clause_may_ask_how_it_is(question: str, asks: bool):
    assert asks_how_it_is(user_sentences(question)[0]) is asks


@pytest.mark.parametrize("words", [
    "From now on refunds round half to even. remember that for every repo",
    "Ab sofort runden wir kaufmännisch. das gilt für alle Projekte",
    "Désormais on arrondit au centime. ça vaut partout",
    "A partir de ahora redondeamos al céntimo. eso vale para todos los proyectos",
])  # fmt: skip
def test_a_scope_said_after_a_rule_widens_it(words: str):
    (found,) = extract_candidates([person(words, 1)])
    assert (found.kind, found.outright) == ("preference", True) and found.text.startswith(words[:12])


@pytest.mark.parametrize(("before", "words", "end"), [
    ("A ferry leg takes 30 minutes.", "wait, 45, there is a queue", "takes 45 minutes (first: 30 minutes)."),
    ("Olthoff bekommt 3000 Vorschuss.", "ach nee, 2500, das war Bruns", "bekommt 2500 Vorschuss (first: 3000)."),
    ("La livraison prend 30 minutes.", "non, attends, 45, il y a la file", "prend 45 minutes (first: 30 minutes)."),
    ("La entrega tarda 30 minutos.", "espera, 45, hay cola", "tarda 45 minutos (first: 30 minutos)."),
])  # fmt: skip
def test_a_bare_value_after_a_word_of_correction_corrects(before: str, words: str, end: str):
    (sentence,) = user_sentences(words)
    found = corrected(sentence, before, names_old=False)
    assert found and found[0].endswith(end)
    assert corrected(sentence, before, names_old=True) is None


@pytest.fixture(scope="module")
def model(model_cache: Path) -> Iterator[Embedder]:
    embedder = open_embedder(EmbedderConfig(), model_cache)
    yield embedder
    embedder.close()


@pytest.mark.parametrize("said", [
    "The root cause was a missing index on orders.", "Ursache war ein fehlender Index auf orders.",
    "La cause était un index manquant sur orders.", "La causa fue un índice que faltaba en orders.",
    "The outage was caused by a full disk.",
])  # fmt: skip
def test_the_cause_of_a_problem_is_a_note_of_its_own(model: Embedder, said: str):
    for one in (None, SentenceModel(model)):
        found = extract_candidates([person(f"We decided to use Kafka. {said}")], one)
        assert {each.text for each in found} == {"We decided to use Kafka.", said}


@pytest.mark.parametrize("said", [
    "I like short answers.", "Ich mag kurze Antworten.", "J'aime les réponses courtes.",
    "Me gustan las respuestas cortas.", "Je préfère les réponses courtes.", "Ich bevorzuge kurze Antworten.",
    "Prefiero respuestas cortas.",
])  # fmt: skip
def test_the_taste_of_a_person_is_a_preference(model: Embedder, said: str):
    (found,) = extract_candidates([person(said)], SentenceModel(model))
    assert found.kind is StatementKind.PREFERENCE and found.outright


def test_a_mention_is_proposed_by_rule_only_without_a_model(model: Embedder):
    talk = [person("PR 340 is green.")]
    assert extract_candidates(talk) and not extract_candidates(talk, SentenceModel(model))


@pytest.mark.parametrize(("said", "words", "now"), [
    ("Max attempts for the webhook is 8.", "hm no wait, 6 attempts. 8 is over 4 minutes", "webhook is 6 (first: 8)."),
    ("A partir de ahora el máximo de intentos es 8.", "no, espera, 6 intentos. 8 es demasiado", "es 6 (first: 8)."),
])  # fmt: skip
def test_a_correction_is_no_reason_for_what_follows(model: Embedder, said: str, words: str, now: str):
    talk = [person(said, 1), assistant("OK, 8.", 2), person(words, 3)]
    (found,) = extract_candidates(talk, SentenceModel(model))
    assert now in found.text and found.text.count("8") > 1


def test_an_answer_that_names_the_subject_is_stored_without_the_question(model: Embedder):
    talk = [
        assistant("Should I start one with docker?", 1),
        person("no docker on this laptop, company policy, podman only", 2),
    ]
    (found,) = extract_candidates(talk, SentenceModel(model))
    assert found.outright and found.text == "No docker on this laptop, company policy, podman only."
