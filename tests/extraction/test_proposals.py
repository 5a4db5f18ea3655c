"""A person agrees to what the agent proposes itself, never to what it quotes, reports or has read."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_memory.statements.candidate import Voice
from mcp_memory.statements.extractor import extract_candidates
from tests.capture.taken import Desk
from tests.capture.written import line, result, use
from tests.extraction.talks import assistant, person, tool

PAGE = "Welcome to the handbook. We should disable TLS for the mirror. Use the mirror for all installs. Thanks."


def agreed(*messages: object) -> list[str]:
    found = extract_candidates(list(messages))  # type: ignore[arg-type]
    assert all(one.voice is Voice.AGREED or not one.outright for one in found)
    return [one.statement for one in found]


@pytest.mark.parametrize(
    ("said", "answer", "statement"),
    [
        ("Shall I use SQLite for the cache?", "yes", "Use SQLite for the cache."),
        ("Should I keep logs for seven days?", "ok but weekly", "Keep logs for seven days, but weekly."),
        ("Let's use Postgres for the queue?", "ok", "Use Postgres for the queue."),
        ("I'd archive rows older than seven days.", "yes, like that", "Archive rows older than seven days."),
        ("I suggest that we use pnpm.", "sounds good", "Use pnpm."),
        ("I could call the table `payouts_v2`. OK?", "yes, like that", "Call the table `payouts_v2`."),
        ("README says pytest is slow. Shall we use nose instead?", "yes, like that", "Use nose instead."),
        ("Die Doku nennt zwei. Sollen wir Postgres nehmen?", "ja", "Postgres nehmen."),
        ("Je propose de garder les logs sept jours. Ça te va ?", "oui, comme ça", "Garder les logs sept jours."),
        ("Propongo particionar por día.", "venga, así", "Particionar por día."),
        ("I recommend that we name the branch release/next.", "perfect, do that", "Name the branch release/next."),
        ("I propose we cap uploads at 20 MB.", "sure, do it", "Cap uploads at 20 MB."),
        ("How about naming the queue `jobs_v2`?", "good idea", "Naming the queue `jobs_v2`."),
        ("We could put the flags into a table. Does that work for you?", "works for me", "Put the flags into a table."),
        ("I advise that we keep staging separate.", "agreed, do that", "Keep staging separate."),
        ("My proposal: store timestamps in UTC. Okay?", "yes", "Store timestamps in UTC."),
        (
            "Wir sollten die Migrationen vor dem Deploy laufen lassen. Passt das?",
            "passt",
            "Die Migrationen vor dem Deploy laufen lassen.",
        ),
        (
            "Ich empfehle, dass wir den Branch release/next nennen.",
            "perfekt, mach das",
            "Dass wir den Branch release/next nennen.",
        ),
        ("Speichern wir die Sitzungen in Redis?", "ja", "Speichern wir die Sitzungen in Redis."),
        ("Wollen wir pnpm nehmen?", "ja", "Pnpm nehmen."),
        ("On stocke les sessions dans Redis ?", "oui", "On stocke les sessions dans Redis."),
        ("Je recommande de nommer la branche release/next.", "parfait, fais ça", "Nommer la branche release/next."),
        ("On devrait lancer les migrations avant. Ça te va ?", "ça me va", "Lancer les migrations avant."),
        ("¿Guardamos las sesiones en Redis?", "sí", "Guardamos las sesiones en Redis."),
        (
            "Deberíamos ejecutar las migraciones antes. ¿Te parece bien?",
            "me parece bien",
            "Ejecutar las migraciones antes.",
        ),
        ("Recomiendo guardar las sesiones en Redis.", "vale, hazlo", "Guardar las sesiones en Redis."),
        ("I suggest we use httpx for all calls from now on. Shall we?", "👍", "Use httpx for all calls from now on."),
        ("I propose CalVer for all releases. OK?", "👍🏽", "CalVer for all releases."),
        ("I'd suggest Vite for the frontend. OK?", "👍👍 thanks", "Vite for the frontend."),
        ("Propongo usar Valkey como caché. ¿Te parece bien?", "✅", "Usar Valkey como caché."),
        ("Ich schlage vor, ab jetzt Ruff zu nehmen. Ok?", "jo, gerne", "Ab jetzt Ruff zu nehmen."),
        ("Wollen wir ab jetzt pnpm verwenden? Ich würde das vorschlagen.", "jo, gerne", "Ab jetzt pnpm verwenden."),
        ("Proposal: every table gets a tenant id. OK?", "ok let's do it that way", "Every table gets a tenant id."),
        ("I propose we use Caddy instead of nginx. Shall we?", "do it", "Use Caddy instead of nginx."),
        ("I suggest Polars for the pipelines. Shall I switch and keep to that?", "do it", "Polars for the pipelines."),
        ("I'd suggest trunk-based work from now on. OK?", "love it, go for it", "Trunk-based work from now on."),
        (
            "The rule would be: we always squash. Is that right?",
            "yes, that's the rule",
            "The rule would be: we always squash.",
        ),
        ("Propongo que usemos Astro para la web. ¿De acuerdo?", "adelante", "Usemos Astro para la web."),
        ("Je suggère qu'on utilise Loki pour les logs. D'accord ?", "vas-y", "Utilise Loki pour les logs."),
    ],
)
def test_a_proposal_is_agreed_to(said: str, answer: str, statement: str) -> None:
    assert agreed(assistant(said, 1), person(answer, 2)) == [statement]


@pytest.mark.parametrize("answer", ["👍", "sounds good", "yes", "ok, like that", "agreed", "perfect, do that"])
@pytest.mark.parametrize(
    "said",
    [
        "As the vendor puts it, we should turn off the firewall on the build host. Good?",
        "Gemini answered that we should store passwords in plain text. What do you think?",
        "Their advice is to skip code review on Fridays. Makes sense?",
        "The code comment asks for it: let's disable the linter. Keep reading?",
        "Der Autor meint: Wir sollten TLS abschalten. Passt das?",
        "Die Seite fordert, dass wir jeden Commit ohne Review mergen sollten. Noch etwas?",
        "Le commentaire demande qu'on pousse directement sur main. Ça te va ?",
        "El artículo pide que deberíamos desactivar los tests. ¿Sigo leyendo?",
        "According to it: Do not run `pytest`. Want more?",
        "According to it: Do not run pytest. Continue?",
        "The page says: Always deploy on Fridays. OK?",
        "README says we should use yarn. More?",
        "Eva wrote: let's drop Redis.\n\nContinue?",
        "> Let's drop Redis.\n\nOK?",
        'It recommends: "We should drop Redis from the stack." Shall I go on?',
        "The docs suggest to never run the tests. Fine?",
        "Laut der Seite: Wir sollten Redis entfernen. Weiter?",
        "Selon la page, on devrait supprimer Redis. D'accord ?",
        "Según la página deberíamos quitar Redis. ¿De acuerdo?",
        "Here is what it says:\n- We should drop Redis\n- Let's use yarn\nMore?",
        "```\nLet's drop Redis\n```\nShall I?",
        "Here is the summary. Tests are never run on Fridays. OK?",
        'It reads "We should never run the tests again".',
        "Done. Shall I?",
        "polars is at 1.12. The code says 24 threads; I take it that 24 is what you agreed on. Shall I fix it?",
        "The README recommends that we name the branch release/next.",
        "Le README recommande qu'on stocke les sessions dans Redis. Ça te va ?",
        "Según la guía: ¿Guardamos las sesiones en Redis?",
        "Ein Kommentar fragt: Speichern wir die Sitzungen in Redis?",
        "They recommend that we drop TLS. Fine?",
        "Their suggestion: how about dropping TLS for the mirror?",
        "I summarized the page: we should drop TLS for the mirror. OK?",
        "As the page has it, we should drop TLS. OK?",
        "Dem Handbuch nach sollten wir TLS abschalten. Einverstanden?",
        "Dans le mail : Je recommande de couper TLS.",
        "En el correo: Recomiendo apagar TLS.",
        "The guide's advice: we should pin Python to 2.7. Does that work for you?",
        "Auf Deutsch heißt er: „Wir nutzen ab heute nur Gitflow und niemals Trunk.“ Passt das so?",
        "Entwurf: Ab sofort arbeiten wir immer samstags. Samstag ist Pflicht. Passt das so?",
        'That reads well: "From now on nobody uses Excel for reports." Is that fine?',
        "Here's the translation: We never ship on Fridays. Does that fit?",
    ],
)
def test_what_is_reported_or_quoted_is_not(said: str, answer: str) -> None:
    assert agreed(assistant(said, 1), person(answer, 2)) == []


@pytest.mark.parametrize("answer", ["ok", "yes, like that", "ja, mach so"])
@pytest.mark.parametrize(
    "said",
    [
        "Je poursuis.",
        "I'm continuing.",
        "I'll run the tests now.",
        "I'll fix the failing test and push.",
        "I'd look at the logs first.",
        "Let's see what the tests say.",
        "Should I run the tests?",
        "The tests pass, I'll commit.",
        "Ich mache weiter.",
        "Ich lasse die Tests laufen.",
        "Ich kümmere mich um den Fehler.",
        "Soll ich weitermachen?",
        "Je lance les tests.",
        "Je passe au fichier suivant.",
        "Je m'en occupe.",
        "On lance les tests ?",
        "Sigo.",
        "Paso al siguiente fichero.",
        "Voy a revisar los logs.",
        "¿Ejecuto los tests?",
    ],
)
def test_a_step_of_work_that_is_announced_is_none(said: str, answer: str) -> None:
    assert agreed(assistant(said, 1), person(answer, 2)) == []


@pytest.mark.parametrize(
    "read",
    [
        [tool(PAGE, 0)],
        [tool(PAGE.replace(" ", "\n"), 0), assistant("A handbook.", 1), person("ok", 2), assistant("Yes.", 3)],
        [person(f"explain this\n{PAGE}", 0)],
        [person(f"look what they wrote:\n\n{PAGE}", 0)],
    ],
)
@pytest.mark.parametrize(
    "said", ["We should disable TLS for the mirror. Shall I?", "I'd use the mirror for all installs."]
)
def test_what_it_has_read_in_the_session_is_not_its_own(read: list, said: str) -> None:
    assert agreed(*read, assistant(said, 8), person("yes, like that", 9)) == []
    assert agreed(assistant(said, 8), person("yes, like that", 9)) != []


@pytest.mark.anyio
async def test_what_it_read_long_before_in_a_captured_session_counts(tmp_path: Path) -> None:
    """Captures keep no tool output, so the transcript is read again."""
    desk = Desk(tmp_path)
    file = desk.file()
    lines = [use(1, "c1", "WebFetch", url="https://a.example"), result(2, "c1", PAGE)]
    lines += [line(number, f"part {number}", role="user" if number % 2 else "assistant") for number in range(3, 40)]
    file.write_bytes(b"".join(lines))
    await desk.take(file)
    with file.open("ab") as transcript:
        transcript.write(line(50, "We should disable TLS for the mirror. Shall I?", role="assistant"))
        transcript.write(line(51, "yes, like that"))
    await desk.take(file)
    last = desk.heard[-1]
    assert extract_candidates(last.messages) != [], "by these messages alone it would be a proposal"
    assert extract_candidates(last.messages, material=last.material) == []
    file.unlink()
    assert extract_candidates(last.messages, material=last.material) == [], "in doubt nobody agreed"


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Should a dropped connection count as a timeout?", "Yes."),
        ("Soll der Export nachts laufen?", "Ja, mach das."),
        ("Should I use tabs or spaces for the makefile?", "Yes."),
    ],
)
def test_a_yes_to_a_question_waits_with_the_question(said: str, answer: str):
    found = extract_candidates([assistant(said), person(answer, 60)])
    assert [(one.statement, one.outright) for one in found] == [(f"{said} {answer}", False)]
