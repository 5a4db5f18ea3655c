"""Sessions' summaries: written once, found where they are asked for, told to the next session, gone when you say."""

from __future__ import annotations

import re

import pytest

from mcp_memory.models import NoteState
from mcp_memory.summarizers.config import SummarizerConfig
from tests.capture.written import line, result, use
from tests.support.keyword_engine import KeywordEngine
from tests.support.sessions import Sessions
from tests.support.world import World, found, paths, records

pytestmark = pytest.mark.anyio

TALK = b"".join([
    line(1, "Move the shop's deployment from Ansible to Nomad, please."),
    use(2, "t1", "Write", file_path="/home/ada/app/deploy/shop.nomad", content="job {}"),
    result(3, "t1", "File created"),
    use(4, "t2", "Bash", command="nomad job plan deploy/shop.nomad"),
    result(5, "t2", "Error: datacenters is required", failed=True),
    use(6, "t3", "Bash", command="nomad job plan deploy/shop.nomad -dc eu1"),
    result(7, "t3", ""),
    line(8, "We decided to drop Ansible, because nobody maintains the playbooks."),
    line(9, "Done. The Vault token for production is still missing.", role="assistant"),
])  # fmt: skip


async def run(engine: KeywordEngine) -> list[str]:
    """The pages written by the job now."""
    return (await engine.run_job("sessions"))["changed"]


async def summarize(world: World, engine: KeywordEngine) -> list[str]:
    world.later(minutes=40)
    return await run(engine)


async def begun(engine: KeywordEngine, project: str = "app", session: str = "claude-code/new") -> str:
    answer = await engine.perform("brief", {"session": session, "project": project, "left_off": True})
    return answer["text"]


@pytest.fixture
def sessions(world: World) -> Sessions:
    return Sessions(world)


async def test_a_session_that_is_over_gets_one_page_that_only_its_own_folder_shows(sessions: Sessions, world: World):
    async with sessions.engine() as engine:
        file = await sessions.capture(engine, TALK)
        (page,) = await summarize(world, engine)
        text = world.read(page).decode()
        body = text.partition("\n---\n")[2]
        assert page.startswith("summaries/sessions/2026-11-22-") and "session: s-1" in text and "project: app" in text
        assert "- Move the shop's deployment from Ansible to Nomad, please. (line 1)" in body
        assert "- We decided to drop Ansible, because nobody maintains the playbooks. (line 8)" in body
        assert "`deploy/shop.nomad`" in body and "-dc eu1` failed, then went well (line 7)" in body
        assert "fails" not in body, "the same command went well with more arguments"
        assert "- The Vault token for production is still missing. (line 9)" in body and f"`{file}`" in body
        assert len(body.split()) <= 200
        assert paths(engine, NoteState.SUMMARY) == [page]
        assert page not in await found(engine, "shop's deployment Nomad")
        assert page in await found(engine, "shop's deployment Nomad", path="summaries")
        before = world.files()
        assert await summarize(world, engine) == [] and world.files() == before, "nothing new writes nothing"
    (world.state / "summarized.json").unlink()
    async with sessions.engine() as engine:
        assert await summarize(world, engine) == [] and world.files() == before, "the same makes the same"


async def test_a_session_that_goes_on_is_summarized_when_you_ask_and_again_later(sessions: Sessions, world: World):
    async with sessions.engine() as engine:
        await sessions.capture(engine, TALK)
        (page,) = await run(engine)
        assert "fallback" not in world.read(page).decode()
        more = line(10, "We decided to keep the old load balancer as a fallback.")
        await sessions.capture(engine, TALK + more)
        assert await summarize(world, engine) == [page] and "fallback" in world.read(page).decode()


async def test_the_end_of_a_session_is_reported_and_the_next_one_starts_where_it_left_off(
    sessions: Sessions, world: World
):
    async with sessions.engine() as engine:
        file = await sessions.capture(engine, TALK)
        await engine.perform("emptied", {"session": "claude-code/s-1", "transcript": file})
        (page,) = await run(engine)
        told = await begun(engine)
        (last,) = [line for line in told.splitlines() if "Last session here" in line]
        (record,) = [record for record in records(engine) if record.path == page]
        missing = "The Vault token for production is still missing."
        assert last == f'Last session here, 2026-11-22 [{record.id[-6:]}]: left open: "{missing}"'
        assert missing in await engine.recall(ids=[record.id[-6:]])
        assert "Last session here" not in await begun(engine, project="blog")
        assert "Last session here" not in await begun(engine, session="claude-code/s-1"), "its own"
        await engine.perform("mute", {"target": page})
        assert "Last session here" not in await begun(engine)


async def test_only_the_last_session_is_named_and_only_with_what_it_left_open(sessions: Sessions, world: World):
    closed = TALK[: TALK.rindex(b"\n", 0, -1) + 1] + line(21, "Done, the Vault token is there.", role="assistant")
    closed = b"".join(one for one in closed.splitlines(True) if b"datacenters" not in one)
    async with sessions.engine() as engine:
        await sessions.capture(engine, TALK)
        await summarize(world, engine)
        assert "left open" in await begun(engine)
        question = line(11, "What does --frozen do?") + line(12, "It keeps it.", role="assistant")
        await sessions.capture(engine, question, "s-2")
        await engine.sweep()
        assert "Last session here" not in await begun(engine), "the last one has no page"
        assert "left open" in await begun(engine, session="claude-code/s-2")
        await sessions.capture(engine, closed, "s-3")
        await summarize(world, engine)
        assert "Last session here" not in await begun(engine, session="claude-code/s-4")


async def test_one_question_without_a_change_gets_no_page_nor_does_what_an_agent_began(
    sessions: Sessions, world: World
):
    async with sessions.engine() as engine:
        await sessions.capture(engine, line(1, "What does --frozen do?") + line(2, "It keeps it.", role="assistant"))
        file = sessions.folder / "s-2.jsonl"
        file.write_bytes(TALK)
        await engine.perform("grown", {"session": "claude-code/s-2", "transcript": str(file), "delegated": True})
        await engine.perform("capture", {"files": [str(file)]})
        assert await summarize(world, engine) == [] and paths(engine, NoteState.SUMMARY) == []


async def test_what_you_forget_or_change_or_remove_stays_so(sessions: Sessions, world: World):
    async with sessions.engine() as engine:
        for name in ("s-1", "s-2", "s-3"):
            await sessions.capture(engine, TALK, name)
        forgotten, changed, removed = await summarize(world, engine)
        await engine.forget(forgotten)
        world.write(changed, world.read(changed) + b"- my remark\n")
        (world.root / removed).unlink()
        await engine.sweep()
        before = world.files()
        for name in ("s-1", "s-2", "s-3"):
            await sessions.capture(engine, TALK + line(10, "We use Vault from now on, for all secrets."), name)
        assert await summarize(world, engine) == []
        assert {path: world.files().get(path) for path in before} == before


async def test_a_statement_that_is_forgotten_leaves_the_summary(sessions: Sessions, world: World):
    async with sessions.engine() as engine:
        await sessions.capture(engine, TALK)
        (page,) = await summarize(world, engine)
        (note,) = [path for path in paths(engine, NoteState.ACTIVE) if path.startswith("notes/decision")]
        await engine.forget(note)
        assert "playbooks" not in await engine.recall(path=page), "withheld at once"
        assert not await found(engine, "nobody maintains the playbooks", path="summaries")
        assert await summarize(world, engine) == [page]
        assert "playbooks" not in world.read(page).decode() and "Nomad" in await engine.recall(path=page)


async def test_a_model_that_cannot_be_asked_costs_nothing(sessions: Sessions, world: World):
    summarizer = SummarizerConfig(provider="openai", endpoint="http://127.0.0.1:9/v1", model="none")
    async with sessions.engine(summarizer=summarizer) as engine:
        await sessions.capture(engine, TALK)
        (page,) = await summarize(world, engine)
        assert "by: extractive" in world.read(page).decode()


async def test_what_is_taken_back_leaves_the_summary_which_may_leave_nothing(sessions: Sessions, world: World):
    talk = line(1, "Please look at the shop's deployment.") + line(2, "It runs.", role="assistant")
    talk += line(3, "We decided to move the shop to Zanzibar in May, because rents are low.")
    talk += line(4, "Noted.", role="assistant")
    async with sessions.engine() as engine:
        await sessions.capture(engine, talk)
        (page,) = await summarize(world, engine)
        assert "Zanzibar" in world.read(page).decode()
        more = line(5, "don't remember what I just said") + line(6, "Fine.", role="assistant")
        await sessions.capture(engine, talk + more)
        await summarize(world, engine)
    assert [path for path, data in world.files().items() if b"zanzibar" in data.lower()] == []


ASK = "Please look after the invoice export of the shop."
TALKS = {
    "again": (["! make test", "= make test"], ""),
    "options": (["! pytest tests/billing -x 2>&1 | tail -3", "= cd /srv && CI=1 pytest tests/billing -q"], ""),
    "wider": (["! pytest tests/billing/test_a.py", "= pytest"], ""),
    "program": (["! docker run --rm box build -q", "= podman run --rm box build -q"], ""),
    "arguments": (["! npm run build a.ts", "= npm run build --config ~/own.json a.ts"], ""),
    "folder": (["! go test ./shop/billing/...", "= go test -race ./shop/..."], ""),
    "prepared": (["! cargo new --lib bill && cargo test -p bill", "= cargo test -p bill && cargo clippy"], ""),
    "deployed": (["! npm run check && npm run deploy", "= npm run check"], "npm run deploy"),
    "package": (["! pip install zope", "= pip install tornado"], "pip install zope"),
    "läuft": (["! make labels", "> Ich habe die Schrift gesetzt.", "läuft, klasse!"], ""),
    "works": (["! make labels", "> I set the font.", "works now, thanks"], ""),
    "marche": (["! make labels", "> J'ai mis la police.", "ça marche, merci"], ""),
    "funciona": (["! make labels", "> He puesto la fuente.", "ya funciona"], ""),
    "decided": (["(b) I would rather leave out for now: sample weights have bitten us before.", "= make build"], ""),
    "yours": (["! make test", "The tests pass now, the mail server was down."], ""),
    "added": (["We still need to add the VAT column later.", "> Added the VAT column."], ""),
    "german": (["Die Spalte mit der MwSt fehlt noch.", "> Die Spalte mit der MwSt ist jetzt drin."], ""),
    "kept": (["I'll get the token from Jens.", "> Fine.", "Jens gave me the token."], ""),
    "gehalten": (["Den Token hole ich bei Jens.", "> Gut.", "Den Token hab ich von Jens bekommen."], ""),
    "tenue": (["Je demande le mot de passe à Jens.", "> Bien.", "Voici le mot de passe de Jens."], ""),
    "cumplida": (["Le pregunto a Jens por el token.", "> Bien.", "Pregunté a Jens, el token es nuevo."], ""),
    "asked": (["I'll get the token from Jens.", "> Fine.", "Jens hasn't sent the token."], "token from Jens"),
    "leave": (["I thought about the second table, but Mirja is on leave until spring.", "= make build"], ""),
    "broken": (["! make test", "= make test", "! make test"], "make test"),
    "narrower": (["! pytest", "= pytest tests/billing"], "pytest"),
    "another": (["! npm run build", "= npm run lint"], "npm run build"),
    "both": (["! make lint && make test", "= make lint"], "make test"),
    "claimed": (["! make test", "> The tests pass now."], "make test"),
    "denied": (["! make test", "Now make test does not pass for me either."], "make test"),
    "other": (["We still need to add the VAT column later.", "> Fixed the date column."], "VAT column"),
    "weekday": (["Orders of shop 14 come in doubled since friday, look at the import.", "= make build"], ""),
    "rule": (["Prices change only on mondays, that's marketing's rule."], ""),
    "report": (["Forecast for next week went out friday, Priya's happy."], ""),
    "event": (["We have the demo for the board tomorrow, so make the letters larger."], ""),
    "termin": (["Wir haben morgen Messe, mach die Schrift auf den Schildern größer."], ""),
    "carried": (["The VAT column is still missing in the export.", "= make build", "> Here you go."], ""),
    "eingebaut": (["Im Export fehlt noch die Spalte mit der MwSt.", "= make build", "> Bitte sehr."], ""),
    "reminder": (["Remind me on Thursday to call the tax office about the VAT."], ""),
    "turno": (["El turno de la mañana lo hace Lucía, ponla en la tabla."], ""),
    "off": (["Leave the VAT column off for now.", "= make build"], "VAT column"),
    "fridge": (["We'll look at the fridge's log tomorrow.", "= make build"], "fridge's log"),
    "morgen": (["Die Rezepte der Station prüfen wir morgen.", "= make build"], "Rezepte der Station"),
    "erstmal": (["Die Preise der Messe lassen wir erstmal drin.", "= make build"], "Preise der Messe"),
    "mañana": (["El pie de página lo dejamos para mañana.", "= make build"], "pie de página"),
    "demain": (["On verra la police du menu demain.", "= make build"], "police du menu"),
    "end": (["= make build", "> The labels print. The VAT number of the shop is still missing."], "VAT number"),
    "chained": (["! dbt test -s sales", "= sed -i 's/DEV/PROD/' profiles.yml && dbt test -s sales"], ""),
    "semicolon": (["! make test", "= make test; make report"], "make test"),
    "registry": (["! npm ci && npm run test", "= npm ci --registry https://npm.example && npm run test"], ""),
    "half": (["! npm ci && npm run test", "= npm ci --registry https://npm.example"], "npm run test"),
    "staging": (
        ["The token for production is still missing.", "> Added the token for staging."],
        "token for production",
    ),
}


@pytest.mark.parametrize("talk", TALKS)
async def test_what_was_closed_later_is_not_left_open(sessions: Sessions, world: World, talk: str) -> None:
    said, left = TALKS[talk]
    lines = [line(1, ASK), use(8, "t8", "Bash", command="make export"), result(8, "t8", "ok")]
    for number, text in enumerate(said, 10):
        if text[0] in "!=":
            ends = result(number, f"t{number}", "Error 2", failed=text[0] == "!")
            lines += [use(number, f"t{number}", "Bash", command=text[2:]), ends]
        else:
            lines += [line(number, text[2:], role="assistant") if text[0] == ">" else line(number, text)]
    async with sessions.engine() as engine:
        await sessions.capture(engine, b"".join(lines))
        (page,) = await summarize(world, engine)
        (*_, left_open) = world.read(page).decode().partition("## Left open")
        assert left in left_open if left else not left_open.partition("Transcript")[0].strip()


async def test_replies_stand_whole_in_order_behind_what_they_answer(sessions: Sessions, world: World) -> None:
    options = "For the nights:\n\n1. silence from ten to seven\n2. only the full hours\n\nWhich one?"
    talk = line(1, ASK) + line(2, options, role="assistant") + line(3, "2 no.\n1. yes, but from eleven")
    talk += line(4, "11 pm? no, not 11. We decided to stop at 10.") + line(5, "Done.", role="assistant")
    talk += line(6, "Should the bell ring at noon, or not at all?", role="assistant") + line(7, "no. leave it")
    async with sessions.engine() as engine:
        await sessions.capture(engine, talk + line(8, "Thanks a lot!"))
        (page,) = await summarize(world, engine)
        replies = world.read(page).decode().partition("## Replies\n")[2].partition("\n\n")[0].splitlines()
    assert replies == [
        "- “For the nights: 1: silence from ten to seven; 2: only the full hours. Which one?” → "
        "2 no. 1. yes, but from eleven (line 3)",
        "- 11 pm? no, not 11. We decided to stop at 10. (line 4)",
        "- “Should the bell ring at noon, or not at all?” → no. leave it (line 7)",
    ]


async def test_the_last_replies_of_a_long_session_are_kept(sessions: Sessions, world: World) -> None:
    talk = line(1, ASK)
    for number in range(2, 62, 2):
        talk += line(number, f"Which name shall machine {number} get in the list of machines?", role="assistant")
        talk += line(number + 1, f"Machine {number} is called after the {number}th street that you find on our map.")
    async with sessions.engine() as engine:
        await sessions.capture(engine, talk)
        (page,) = await summarize(world, engine)
    body = world.read(page).decode().partition("\n---\n")[2]
    first, *replies = body.partition("## Replies\n")[2].partition("\n\n")[0].splitlines()
    assert first == f"- … {30 - len(replies)} earlier replies" and "60th street" in replies[-1] and ASK in body
    assert 10 <= len(replies) < 30 and len(body.split()) <= 400


async def test_what_the_inbox_has_no_room_for_stays_in_the_summary(sessions: Sessions, world: World):
    limits = [f"The {name} takes {count} requests a minute." for count, name in enumerate(("api", "web", "shop"), 30)]
    plans = [f"Let's use {name} for the queue of orders." for name in ("Redis", "Kafka", "Rabbit", "Nats", "Pulsar")]
    talk = line(1, "We need a limit on the public API.") + line(
        2, "Which numbers could you live with?", role="assistant"
    )
    talk += line(3, " ".join(limits)) + line(4, "Noted.", role="assistant")
    async with sessions.engine() as engine:
        await sessions.capture(engine, talk)
        await sessions.capture(engine, talk + line(5, " ".join(plans)) + line(6, "Fine.", role="assistant"))
        (page,) = await summarize(world, engine)
        crowded_out = [data.decode() for data in world.files().values() if b"better proposals wait" in data]
        body = world.read(page).decode()
        assert crowded_out and all(text.partition("\n---\n")[2].strip() in body for text in crowded_out)
        assert limits[0] in await engine.recall(path=page), "nothing of it is forgotten"


CONVERSATIONS = {
    "en": (
        ["Hi, we need a retention of parcels before the audit. They are kept forever.",
         "> I'd propose 24 months for parcels, by a nightly job or by partitions. Should images go to Glacier?",
         "no Glacier. delete them. 18 months for parcels, the nightly job is fine",
         "> Then a nightly job with batches of 10,000. The cron isn't set up yet.",
         "maybe a page with the counts, just thinking. I'll ask Henrik from ops about the cron. It costs nothing.",
         "> Done; the tests pass now."],
        "A retention of parcels before the audit.", ["delete them", "18 months for parcels", "no Glacier."],
        ["ask Henrik"],
    ),
    "de": (
        ["Moin. Wir müssen den alten Mailserver ablösen, der Vertrag endet im Januar.",
         "> Möglich sind ein eigener Server, mailbox.org oder Microsoft 365.",
         "365 fällt raus wegen der Schwesterfirma. Dann mailbox.org, am zweiten Wochenende",
         "> Soll das Archiv mit umziehen?",
         "Nein, das bleibt auf dem NAS. Das Angebot hole ich noch ein, frag bitte Frau Kern nach den Kalendern",
         "> Gut, die Tests sind grün."],
        "Den alten Mailserver ablösen", ["mailbox.org, am zweiten Wochenende", "umziehen?” → Nein, das bleibt"],
        ["Das Angebot hole ich noch ein"],
    ),
    "fr": (
        ["Bonjour, il me faut un export des cotisations pour la trésorière, par trimestre.",
         "> Je peux utiliser openpyxl, ou produire du CSV.",
         "Pas de CSV, elle a des soucis d'accents. Un fichier Excel avec une ligne de total",
         "> Alors openpyxl. Faut-il l'envoyer par mail ?",
         "Ce serait bien mais plus tard. Je demande à Maud si elle veut les impayés",
         "> C'est fait."],
        "Un export des cotisations pour la trésorière", ["Pas de CSV", "par mail ?” → Ce serait bien"],
        ["Je demande à Maud"],
    ),
    "es": (
        ["Quiero cambiar el riego del invernadero, ahora se encharca.",
         "> ¿Prefieres por humedad o por horario fijo?",
         "por humedad. como mucho 3 veces al día",
         "> Entonces por humedad con un tope de tres riegos. ¿Aviso por correo?",
         "no quiero correos. cambio el sensor el sábado. quizás avisos por Telegram. ya veremos",
         "> Listo."],
        "Cambiar el riego del invernadero", ["horario fijo?” → por humedad. como mucho 3 veces al día"],
        ["cambio el sensor el sábado"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", CONVERSATIONS)
async def test_a_summary_has_the_task_what_you_replied_and_what_is_open(
    sessions: Sessions, world: World, language: str
):
    said, task, replied, waits = CONVERSATIONS[language]
    talk = b"".join(
        line(number, text.removeprefix("> "), role="assistant" if text[0] == ">" else "user")
        for number, text in enumerate(said, 1)
    )
    async with sessions.engine() as engine:
        await sessions.capture(engine, talk)
        (page,) = await summarize(world, engine)
        (record,) = [record for record in records(engine) if record.path == page]
        body = world.read(page).decode().partition("\n---\n")[2]
    asked, _, rest = body.partition("## Replies")
    replies, _, left_open = rest.partition("## Left open")
    assert record.title.startswith(task) and task[2:].rstrip(".") in asked
    assert [one for one in replied if one not in replies] == [], replies
    assert [one for one in waits if one not in left_open] == [], left_open


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("The tower rings all night. Could you show me first what is set?", "The tower rings all night."),
        ("Der Bericht fürs 2. Quartal muss am Freitag raus.", "Der Bericht fürs 2. Quartal muss am Freitag raus"),
    ],
)
async def test_a_title_is_the_beginning_of_the_first_message(sessions: Sessions, world: World, said: str, title: str):
    talk = line(1, said) + line(2, "It is done.", role="assistant") + line(3, "Change it, please.")
    async with sessions.engine() as engine:
        await sessions.capture(engine, talk + line(4, "And the second table as well."))
        (page,) = await summarize(world, engine)
        (record,) = [record for record in records(engine) if record.path == page]
    assert record.title.startswith(title)


async def test_what_a_session_decided_and_left_open_goes_to_its_projects_progress_if_there_is_one(
    sessions: Sessions, world: World
):
    path, missing = "projects/app/progress.md", "- Left open: The Vault token for production is still missing."
    async with sessions.engine() as engine:
        await sessions.capture(engine, TALK)
        await summarize(world, engine)
        assert path not in world.files()
        world.write(path, "Our progress.\n")
        more = TALK + line(11, "We decided to keep the logs for 30 days, because of audits.")
        await sessions.capture(engine, more)
        await summarize(world, engine)
        added = world.read(path).decode()
        assert re.match(r"Our progress\.\n\n## 2026-11-2\d \d\d:\d\d\n\n- Decided: ", added)
        assert added.count("- Decided: We decided to drop Ansible") == added.count(missing) == 1
        await sessions.capture(engine, more + line(13, "From now on, we deploy with Nomad only on Mondays."))
        await summarize(world, engine)
        assert world.read(path).decode().count("drop Ansible") == 1, "said once"
        await engine.sweep()
        assert "logs for 30 days" in await engine.recall(path=path)
