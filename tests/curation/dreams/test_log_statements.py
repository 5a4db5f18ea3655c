"""Which lines of daily logs are proposed: once each, whatever their wording, and only as long as they hold."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest

from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

pytestmark = pytest.mark.anyio

DAILY = [
    "User prefers dark mode.", "Decision: stick with REST for now, revisit in Q3.",
    "Prefers concise explanations, not walls of text.", "Root cause: missing env var DATABASE_URL in staging.",
    "User wants answers in English.", "I prefer light tea.", "Deploy target is Vercel.",
]  # fmt: skip
PARAPHRASES = {
    "en": [
        [
            "User prefers dark mode in every tool.",
            "User said again: dark mode everywhere, please.",
            "The user likes his tools dark, dark mode on",
        ],
        [
            "Root cause of the failed import: the CSV has Windows line endings",
            "The import broke because of CRLF line endings in the CSV",
            "Import failure again due to Windows line endings (CRLF) in the CSV",
        ],
        [
            "Ran the tests, 41 passed",
            "Fixed a typo in the footer",
            "Merged PR 12",
        ],
    ],
    "de": [
        [
            "Nutzer bevorzugt das dunkle Design.",
            "Noch einmal: Nutzer möchte das dunkle Design",
            "Der Nutzer mag es dunkel: dunkles Design überall",
        ],
        [
            "Ursache des fehlgeschlagenen Imports: Windows-Zeilenenden in der CSV",
            "Import scheiterte wegen CRLF-Zeilenenden in der CSV-Datei",
            "Wieder Importfehler durch Windows-Zeilenenden (CRLF) in der CSV",
        ],
        [
            "Tests gelaufen",
            "Tippfehler korrigiert",
            "PR 12 gemergt",
        ],
    ],
    "fr": [
        [
            "L'utilisateur préfère le thème sombre.",
            "Encore une fois : thème sombre partout",
            "Thème sombre demandé dans tous les outils",
        ],
        [
            "Cause de l'échec de l'import : fins de ligne Windows dans le CSV",
            "L'import a échoué à cause des fins de ligne CRLF du CSV",
            "Échec d'import encore dû aux fins de ligne Windows (CRLF) du CSV",
        ],
        [
            "Faute de frappe corrigée",
            "PR 12 fusionnée",
            "Regardé les logs",
        ],
    ],
    "es": [
        [
            "El usuario prefiere el tema oscuro.",
            "Otra vez: tema oscuro en todas partes",
            "Al usuario le gusta el tema oscuro",
        ],
        [
            "Causa del fallo de importación: finales de línea de Windows en el CSV",
            "La importación falló por los finales de línea CRLF del CSV",
            "Otra vez fallo de importación por finales de línea de Windows (CRLF) en el CSV",
        ],
        [
            "Errata corregida",
            "PR 12 fusionado",
            "Miré los logs",
        ],
    ],
}


@pytest.fixture
def modelled(tmp_path: Path, model_cache: Path) -> World:
    return World(tmp_path / "vault", tmp_path / "state", model_cache, "auto")


def write_logs(world: World, days: Mapping[int, Sequence[str]]) -> None:
    for day, lines in days.items():
        world.write(f"memory/2026-11-{day:02}.md", "# Log\n\n" + "".join(f"- {line}\n" for line in lines))


async def proposed(engine: KeywordEngine, **arguments: Any) -> dict[str, int]:
    """Return the proposals, each with the number of its days."""
    done = await engine.perform("dream", arguments)
    return {one["text"]: len(one["days"]) for one in done["proposed"]}


async def test_each_statement_is_proposed_once_with_all_its_days(modelled: World) -> None:
    write_logs(modelled, dict.fromkeys(range(1, 6), DAILY))
    async with modelled.engine() as engine:
        assert await proposed(engine) == dict.fromkeys(DAILY, 5)
        page = modelled.read("DREAMS.md").decode()
        assert "5 days of logs with 35 lines (5 files new or changed)" in page
        assert await proposed(engine) == {}
        write_logs(modelled, {6: ["Deploy target is now Fly.io."]})
        await engine.sweep()
        assert "(1 file new or changed)" in (await engine.perform("dream", {}))["seen"]
        page = modelled.read("DREAMS.md").decode()
        assert "Deploy target is now Fly.io." in page
        assert "Vercel" not in page, "a proposal that waits is withdrawn when its value changes"


@pytest.mark.parametrize("language", PARAPHRASES)
async def test_nine_days_of_paraphrases_give_a_proposal_for_each_fact(modelled: World, language: str) -> None:
    lines = PARAPHRASES[language]
    write_logs(modelled, {day: [wordings[day % 3] for wordings in lines] for day in range(1, 10)})
    async with modelled.engine() as engine:
        found = await proposed(engine)
        assert [*found.values()] == [9, 9]
        assert all(any(text in wordings for text in found) for wordings in lines[:2])


WISHES = {
    "en": [
        "The user likes short answers.",
        "The user wants answers in German.",
        "The user prefers Helix as editor.",
        "User prefers dark mode in the editor.",
    ],
    "de": [
        "Der Nutzer mag kurze Antworten.",
        "Der Nutzer will Antworten auf Deutsch.",
        "Der Nutzer bevorzugt Helix als Editor.",
        "Der Nutzer mag Deutsch in Commits.",
    ],
    "fr": [
        "L'utilisateur aime les réponses courtes.",
        "L'utilisateur veut des réponses en français.",
        "L'utilisateur préfère Helix comme éditeur.",
        "L'utilisateur veut le mode sombre.",
    ],
    "es": [
        "El usuario quiere respuestas cortas.",
        "El usuario quiere respuestas en español.",
        "El usuario prefiere Helix como editor.",
        "Al usuario le gusta el tema oscuro.",
    ],
}


@pytest.mark.parametrize("language", WISHES)
async def test_wishes_of_one_person_for_different_things_are_all_proposed(modelled: World, language: str) -> None:
    write_logs(modelled, {3 * day: [wish] * 2 for day, wish in enumerate(WISHES[language], 1)})
    async with modelled.engine() as engine:
        assert await proposed(engine) == dict.fromkeys(WISHES[language], 1)


async def test_the_same_wish_in_other_words_is_proposed_once(modelled: World) -> None:
    brief = (
        "L'utilisatrice préfère les réponses courtes.",
        "Elle veut des réponses brèves.",
        "Préfère des réponses concises",
    )
    write_logs(modelled, {day: [wish, "Déjeuner avec Luc."] for day, wish in enumerate(brief, 1)})
    async with modelled.engine() as engine:
        assert [*(await proposed(engine)).values()] == [3]


CHANGES = {
    "en": [
        "Decision: we stay on Jenkins for now.",
        "GitLab CI replaces Jenkins.",
        "Decision: moved from Jenkins to GitLab CI.",
    ],
    "de": [
        "Entscheidung: wir bleiben bei Jenkins.",
        "GitLab CI ersetzt Jenkins.",
        "Entscheidung: Umstieg von Jenkins auf GitLab CI.",
    ],
    "fr": [
        "Décision : on garde Jenkins pour l'instant.",
        "Décision : passage de Jenkins à GitLab CI.",
        "GitLab CI remplace Jenkins.",
    ],
    "es": [
        "Decisión: seguimos con MySQL por ahora.",
        "Decisión: migramos de MySQL a Postgres.",
        "Postgres reemplaza a MySQL.",
    ],
}


@pytest.mark.parametrize("language", CHANGES)
async def test_a_change_ends_what_it_replaces_and_counts_only_its_own_days(modelled: World, language: str) -> None:
    kept, *changes = CHANGES[language]
    write_logs(modelled, {day: [line, "41 tests"] for day, line in enumerate([kept, *changes], 1)})
    async with modelled.engine() as engine:
        ((text, days),) = (await proposed(engine)).items()
        assert text in changes and days == 2


async def test_only_the_days_on_which_it_was_said_count(modelled: World) -> None:
    said = {
        1: "User prefers dark mode in the editor.",
        3: "User prefers tabs over spaces.",
        5: "dark mode, as he asked",
    }
    for day, line in said.items():
        modelled.write(f"memory/2026-11-{day:02}.md", f"# Log\n\n## 09:10 Editor\n\n{line}\n")
    async with modelled.engine() as engine:
        assert await proposed(engine) == {said[1]: 2, said[3]: 1}
    page = modelled.read("DREAMS.md").decode()
    assert "said on 2 days from 2026-11-01 to 2026-11-05;" in page and "said on 2026-11-03;" in page


async def test_what_was_replaced_or_forgotten_is_not_proposed(modelled: World) -> None:
    write_logs(
        modelled,
        {
            1: ["Logs are kept for 30 days", "Mrs Adler keeps the alarm code", "Ben owns the billing service"],
            2: ["Retention of logs raised to 90 days", "ran tests", "The deploy day is Tuesday"],
            3: ["User asked me to forget who keeps the alarm code. Deleted.", "maybe a new logo some day"],
        },
    )
    async with modelled.engine() as engine:
        await engine.forget((await engine.append("Ben owns the billing service.", kind="fact")).id)
        await engine.append("The deploy day is Thursday.", title="The deploy day is Thursday", kind="decision")
        assert await proposed(engine) == {"Retention of logs raised to 90 days": 1}


@pytest.mark.parametrize(
    "line",
    [
        'User mentioned that her badge number is 40771, then: "forget that, don\'t keep it."',
        "Die Nutzerin nannte ihre Ausweisnummer 40771: „bitte nicht speichern“.",
        "L’utilisatrice a donné son numéro de badge 40771 : « ne garde pas ça ».",
        'La usuaria dio su número de tarjeta 40771: "no guardes esto".',
    ],
)
async def test_a_line_that_quotes_the_wish_not_to_be_kept_is_not_proposed(world: World, line: str) -> None:
    write_logs(world, {day: [line, "User prefers dark mode."] for day in (1, 2, 3)})
    async with world.engine() as engine:
        assert not [text for text in await proposed(engine) if "40771" in text]


async def test_links_of_a_backfill_lead_to_the_old_logs(world: World, tmp_path: Path) -> None:
    old = tmp_path / "old logs"
    old.mkdir()
    (old / "2025-05-01.md").write_text("# Log\n\n- We decided to use pnpm for the web shop, never npm.\n")
    async with world.engine() as engine:
        assert len(await proposed(engine, backfill=str(old))) == 1
    (link,) = re.findall(r"\]\((file:[^)]*)\)", world.read("DREAMS.md").decode())
    assert Path(url2pathname(urlparse(link).path)) == old / "2025-05-01.md"


CHECKED = {
    "en": [
        "Agreed with Ruth: the ferry list closes at 18:00, whoever comes later goes on the next boat.",
        "Checked that the ferry list closes at 18:00 in all flyers",
    ],
    "de": [
        "Abgemacht mit Ruth: Die Fährliste schließt um 18:00, wer später kommt, nimmt das nächste Boot.",
        "Geprüft, dass die Fährliste in allen Flyern um 18:00 schließt",
    ],
    "fr": [
        "Convenu avec Ruth : la liste du bac ferme à 18:00, les retardataires prennent le bateau suivant.",
        "Vérifié que la liste du bac ferme à 18:00 sur tous les dépliants",
    ],
    "es": [
        "Acordado con Ruth: la lista del ferry cierra a las 18:00, quien llegue tarde va en el siguiente barco.",
        "Comprobado que la lista del ferry cierra a las 18:00 en todos los folletos",
    ],
}


@pytest.mark.parametrize("language", CHECKED)
async def test_a_rule_and_not_a_later_check_of_it_is_proposed(modelled: World, language: str) -> None:
    rule, check = CHECKED[language]
    write_logs(modelled, {3: [rule, "41 tests"], 5: [check, "PR 12"]})
    async with modelled.engine() as engine:
        assert await proposed(engine) == {rule: 2}
        page = modelled.read("DREAMS.md").decode()
        assert f"\n  - also (2026-11-05): {check}\n" in page
        await engine.perform("erase", {"target": "memory/2026-11-05.md", "sure": True})
        assert check not in modelled.read("DREAMS.md").decode()


@pytest.mark.parametrize(
    "line",
    [
        "Tried the heat map for the night shift, nobody could read it, taken out again.",
        "Erwogen, die Briefe von Freiwilligen tippen zu lassen; wegen der Haftung verworfen.",
        "Rappel automatique essayé puis abandonné, les adhérents se plaignaient.",
        "Se probó el aviso por voz, descartado porque nadie lo entendía.",
    ],
)
async def test_what_was_tried_and_rejected_is_proposed_and_events_are_not(modelled: World, line: str) -> None:
    events = ["session start, cwd ~/harbour", "ExportAll ran in 14 s", "Petra off, only bot commits"]
    write_logs(modelled, {day: [line, *events] if day == 1 else events for day in range(1, 6)})
    async with modelled.engine() as engine:
        assert await proposed(engine) == {line: 1}


@pytest.mark.parametrize(
    "line",
    [
        "Omar gave the PIN 40771 of the safe, then said delete it and forget it.",
        "Decision: the door password is 40771, pasted by accident, she says scrub that",
        "Decision: the alarm code stays 40771, typed by mistake: not to be kept.",
        "Entscheidung: der Alarmcode ist 40771, bitte wieder vergessen.",
        "Décision : le code de l'alarme est 40771, à oublier.",
        "Decisión: la clave de la alarma es 40771; que no la apunte.",
        "Omar nannte die PIN 40771 des Tresors, soll nicht festgehalten werden.",
        "Omar a donné le code 40771 du coffre puis a demandé de l'oublier.",
        "Omar dictó el PIN 40771 de la caja y pidió olvidarlo enseguida.",
    ],
)
async def test_a_line_that_reports_the_wish_to_forget_is_not_proposed(world: World, line: str) -> None:
    write_logs(world, {day: [line, "User prefers dark mode."] for day in (1, 2, 3)})
    async with world.engine() as engine:
        assert await proposed(engine) == {"User prefers dark mode.": 3}
        assert "40771" not in world.read("DREAMS.md").decode()


async def test_what_stands_above_the_first_entry_is_read_too(modelled: World) -> None:
    modelled.write("memory/2026-11-02.md", f"# Log\n\n## Session\n- {DAILY[1]}\n\n## 15:40 Later\n- {DAILY[6]}\n")
    async with modelled.engine() as engine:
        assert await proposed(engine) == {DAILY[1]: 1, DAILY[6]: 1}


TWO = ["User prefers dark mode.", "Deploy target is Vercel."]


@pytest.mark.parametrize(
    "log",
    [
        f"09:40 {TWO[0]}\n10:15 {TWO[1]}\n",
        f"**09:40** – {TWO[0]}\n**10:15–10:30** – {TWO[1]}\n",
        f"- [9:40 am] {TWO[0]}\n- [10:15 am] {TWO[1]}\n",
        f"### 09:40 {TWO[0]}\n\n### 10:15 {TWO[1]}\n",
        f"9h40 : {TWO[0]}\n10h15 : {TWO[1]}\n",
        f"• {TWO[0]}\n• {TWO[1]}\n",
        f"{TWO[0]}\n{TWO[1]}\n",
        f"Looked at the footer. {TWO[0]} {TWO[1]}\n",
    ],
)
async def test_each_line_or_sentence_is_read_however_the_log_is_written(modelled: World, log: str) -> None:
    for day in (3, 4):
        modelled.write(f"memory/2026-11-{day:02}.md", f"# Log\n\n{log}")
    async with modelled.engine() as engine:
        assert await proposed(engine) == dict.fromkeys(TWO, 2)


async def test_the_wrapped_lines_of_a_paragraph_are_one_text(modelled: World) -> None:
    rule = "We decided to keep the orders of the shop in Postgres, because MySQL lost some of the rows in two imports."
    modelled.write("memory/2026-11-03.md", f"# Log\n\n{textwrap.fill(rule, 72)}\n")
    async with modelled.engine() as engine:
        assert await proposed(engine) == {rule: 1}


async def test_a_sentence_that_takes_up_the_one_before_it_stays_with_it(modelled: World) -> None:
    said = "The live keys are with the treasurer, Neville. He always types them in himself."
    modelled.write("memory/2026-11-03.md", f"# Log\n\nLooked at the footer. {said} Lunch was late.\n")
    async with modelled.engine() as engine:
        assert await proposed(engine) == {said: 1}


@pytest.mark.parametrize(
    "wish",
    [
        "- Bo always keeps the key in locker 40771. Don't keep that.",
        "- Bo always keeps the key in locker 40771.\n- Don't keep that.",
    ],
)
async def test_a_wish_not_to_keep_something_hides_its_own_entry_only(modelled: World, wish: str) -> None:
    modelled.write("memory/2026-11-03.md", f"# Log\n\n- {TWO[0]}\n{wish}\n- {TWO[1]}\n")
    async with modelled.engine() as engine:
        assert await proposed(engine) == dict.fromkeys(TWO, 1)
        brief = await engine.perform("brief", {"session": "codex/1"})
        assert "40771" not in modelled.read("DREAMS.md").decode() + brief["text"]


async def test_a_wish_also_takes_back_what_an_earlier_log_says(modelled: World) -> None:
    write_logs(
        modelled,
        {
            3: ["The alarm code of the workshop is kept by Mrs Adler", TWO[0]],
            5: ["Off the record: the alarm code of the workshop is kept by Mrs Adler.", TWO[1]],
        },
    )
    async with modelled.engine() as engine:
        assert await proposed(engine) == dict.fromkeys(TWO, 1)


async def test_a_new_address_ends_the_old_one(modelled: World) -> None:
    old, new = "The tank sensor listens on 192.168.4.17.", "The tank sensor listens on 192.168.4.23 now."
    write_logs(modelled, {3: [old], 4: ["41 tests"], 5: [new]})
    async with modelled.engine() as engine:
        assert await proposed(engine) == {new: 1}


async def test_records_of_acts_are_not_proposed(modelled: World) -> None:
    acts = [
        "Parser run over the September files: 412 rows, 3 rejected",
        "Drei Vorlagen angepasst und die Testausdrucke geprüft.",
        "Plaque 13 passée, 94 puits bons",
        "Copiadas 240 fotos a la carpeta nueva",
    ]
    write_logs(modelled, {day: [act, TWO[0]] for day, act in enumerate(acts, 3)})
    async with modelled.engine() as engine:
        assert await proposed(engine) == {TWO[0]: 4}
