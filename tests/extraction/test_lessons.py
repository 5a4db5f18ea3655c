"""Lessons: an error, what worked, and what was tried before, in order and verbatim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.models import NoteState
from mcp_memory.statements.candidate import Candidate
from mcp_memory.statements.extractor import extract_candidates
from mcp_memory.statements.lessons import CONFIRMED, SUCCEEDED, find_troubles
from tests.extraction.talks import assistant, person, take, tool
from tests.support.world import World, paths, records


def extract_lessons(messages: Sequence[TranscriptMessage]) -> list[Candidate]:
    return [lesson for trouble in find_troubles(messages) for lesson in trouble.lesson()]


ERROR = "ERR_PNPM_OUTDATED_LOCKFILE Cannot install with frozen-lockfile"


def ran(command: str, printed: str = "done", *, failed: bool = False, offset: int = 0) -> TranscriptMessage:
    return replace(tool(printed, offset, failed=failed), arguments={"command": command})


def edited(path: str, old: str, new: str) -> TranscriptMessage:
    arguments = {"file_path": path, "old_string": old, "new_string": new}
    return replace(tool("ok", name="Edit"), arguments=arguments)


INSTALL = "pnpm install --frozen-lockfile"
FIXED = "pnpm install --no-frozen-lockfile"
STORY = [
    ran(INSTALL, f"Progress\n{ERROR}", failed=True),
    assistant("The lockfile is older than package.json."),
    ran("pnpm install --force --frozen-lockfile", ERROR, failed=True),
    ran(FIXED, offset=70),
]


def test_a_lesson_quotes_the_attempts_in_order() -> None:
    (lesson,) = extract_lessons([person("please install the shop", 1), *STORY, assistant("Installed.")])
    assert lesson.text == (
        f"The error:\n> `{ERROR}`\n\nWhat was asked:\n> please install the shop\n\n"
        f"What worked:\n```\n{FIXED}\n```\n> Agent: Installed.\n\n"
        f"What didn't work:\n> ```\n> {INSTALL}\n> pnpm install --force --frozen-lockfile\n> ```"
    )
    assert (lesson.title, lesson.score, lesson.offset, lesson.outright) == (ERROR, SUCCEEDED, 70, False)


def test_a_change_after_which_the_same_command_succeeds_is_what_worked() -> None:
    test = "pytest tests/test_port.py"
    (lesson,) = extract_lessons([
        ran(test, "E  AssertionError: 80 != 8080", failed=True),
        ran("cat app/port.py"),
        edited("app/port.py", "PORT = 80", "PORT = 8080"),
        ran(test, "1 passed"),
        person("works now, thanks", 9),
    ])  # fmt: skip
    assert f"What worked:\n```\napp/port.py\n- PORT = 80\n+ PORT = 8080\n{test}\n```" in lesson.text
    assert "cat app" not in lesson.text and lesson.score == CONFIRMED and "> Person: works now, thanks" in lesson.text


RESPELLED = [edited("conf.py", "read(recives.csv)", "read(receives.csv)")]


@pytest.mark.parametrize(
    "messages",
    [
        [ran("make", "fatal error", failed=True), ran("make")],
        [ran("make", "fatal error", failed=True), assistant("Let me look."), ran("git log"), ran("ls")],
        [ran("make", "fatal error", failed=True), ran("git commit -m x")],
        [
            ran("npm run dev", "ERR_MODULE_NOT_FOUND error", failed=True),
            ran("npm config get registry"),
            assistant("Hm."),
        ],
        [ran("kubectl apply -f a", "error: denied", failed=True), ran("kubectl get pods"), ran("kubectl --version")],
        [ran("scp -v a b:", "error: lost", failed=True), assistant("It was asleep, I guess."), ran("scp a b: && ls")],
        [ran("ssh b 'dump x'", "ERROR: full", failed=True), assistant("Is there room on it?"), ran("ssh b 'lvs -a'")],
        [ran("make a", "fatal: no recives.csv", failed=True), assistant("I see, there."), *RESPELLED, ran("make a")],
    ],
)
def test_what_went_by_itself_or_was_left_teaches_nothing(messages: list[TranscriptMessage]) -> None:
    assert not list(extract_lessons(messages))


def test_backticks_in_a_command_stay_within_its_fence() -> None:
    said = assistant("The database of the shop is called b, and a is only its template.")
    (lesson,) = extract_lessons([ran("psql a", "FATAL error", failed=True), said, ran("psql b <<'```'\n```")])
    assert "````\npsql b <<'```'\n```\n````" in lesson.text


@pytest.mark.anyio
async def test_it_is_told_when_its_error_comes_again_and_nearly_the_same_is_stored_once(world: World) -> None:
    async with world.engine() as engine:
        (lesson,) = (await take(engine, STORY)).waiting
        again = [replace(one, turn=replace(one.turn, at=world.now)) for one in STORY]
        assert (await take(engine, again, "other")).known == 1
        different = [*again[:3], ran("rm pnpm-lock.yaml && pnpm install", offset=80)]
        assert len((await take(engine, different, "third")).waiting) == 1, "another remedy is news"
        await engine.review("accept", lesson)
        assert len(paths(engine, NoteState.INBOX)) == 1
        told = await engine.perform("advise", {"session": "s", "output": f"$ pnpm i\n {ERROR}\n"})
        assert FIXED in told["text"]


REFUSED = 'sqlalchemy.exc.OperationalError: connection to server at "localhost", port 5432 failed: Connection refused'
MISSING = "ModuleNotFoundError: No module named 'myst_parser'"
OUTPUTS = {
    "pytest": (f"E   {REFUSED}\nFAILED tests/test_orders.py::test_insert - sqlalchemy\n1 failed, 12 passed", REFUSED),
    "make": (f"Traceback (most recent call last):\n{MISSING}\nmake: *** [Makefile:12: docs] Error 1", MISSING),
    "compose": (f"api-1  | {MISSING}\napi-1 exited with code 1", MISSING),
    "tsc": (
        "a.ts:3:1 - error TS2339: No property 'id'.\n\nFound 2 errors in 2 files.",
        "error TS2339: No property 'id'.",
    ),
    "java": (
        "java.lang.RuntimeException: no start\nCaused by: java.net.ConnectException: refused",
        "Caused by: java.net",
    ),
    "cargo": (
        "error: custom build failed\nthread 'main' panicked at b.rs:2:\nOODLE_DIR is not set",
        "b.rs:2: OODLE_DIR",
    ),
}


@pytest.mark.parametrize("program", OUTPUTS)
def test_the_line_that_says_what_is_wrong_is_quoted(program: str) -> None:
    printed, telling = OUTPUTS[program]
    talk = [ran("just up", printed, failed=True), assistant("The file .env names the wrong host."), ran("just up -e b")]
    (lesson,) = extract_lessons(talk)
    assert telling in lesson.text.partition("\n\n")[0]


def test_the_words_around_the_solution_are_quoted_whole() -> None:
    failed = ran("just up", "fatal: no route to host", failed=True)
    why = "The timeout wasn't it.\n\n- Postgres listens on port 5433 here.\n- So PGPORT has to be set."
    quoted = why.replace("\n\n", "\n").replace("\n", "\n> ")
    talk = [failed, assistant("It is slow.\n\nI'll try a longer timeout."), ran("just up -t 99", "fatal", failed=True)]
    worked = ran("just up -p 5433")
    (before,) = extract_lessons([*talk, assistant(why), worked])
    (after,) = extract_lessons([*talk, worked, person("it works"), assistant(why)])
    assert before.title == "No route to host" and f"What worked:\n> Agent: {quoted}\n```\njust up -p" in before.text
    assert f"just up -p 5433\n```\n> Person: it works\n> Agent: {quoted}" in after.text
    assert "> just up -t 99\n> ```" in after.text and "I'll try" not in after.text


def test_an_attempt_whose_check_is_repeated_needs_no_error() -> None:
    talk = [
        person("make site does nothing any more since I added the photos"),
        ran("touch pages/*.md && make site", "make: 'site' is up to date."),
        assistant("Touching doesn't help. A directory is called site/, too, and make takes the target for that file."),
        edited("Makefile", "site:", ".PHONY: site\nsite:"),
        ran("make site", "rendered"),
    ]
    (lesson,) = extract_lessons(talk)
    assert lesson.title.startswith("Make site does nothing") and "\n> Agent: Touching doesn't help." in lesson.text
    worked, _, before = lesson.text.partition("What didn't work:")
    assert "> touch" in before and "+ .PHONY: site\n+ site:\nmake site\n```" in worked


def test_a_failure_of_its_own_change_teaches_something_if_the_first_attempt_failed() -> None:
    red = ran("pytest", "E   AssertionError: 'ﬁ' != 'fi'", failed=True)
    told = assistant("The text of the PDF carries a ligature, so it has to be normalised with NFKC.")
    began, tried, mended = (edited("app.py", "lower", name) for name in ("strip", "casefold", "nfkc"))
    assert not list(extract_lessons([began, red, told, mended, ran("pytest")]))
    (lesson,) = extract_lessons([began, red, tried, red, told, mended, ran("pytest")])
    worked, _, before = lesson.text.partition("What didn't work:")
    assert "+ casefold" in before and "+ nfkc\npytest" in worked


@pytest.mark.parametrize(
    "said",
    ["Typo of mine.", "The connection was dropped, once more.", "Vertippt.", "Faute de frappe.", "Una errata mía."],
)
def test_a_slip_teaches_nothing(said: str) -> None:
    assert not list(
        extract_lessons([ran("just upp", "error: no recipe", failed=True), assistant(said), ran("just up")])
    )


NAMES = "error: the names of the sheet are not in the order of the columns"


def changed(change: str, offset: int) -> TranscriptMessage:
    return replace(edited("de.R", "dds <-", f"{change}\ndds <-"), offset=offset)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("complaint", "admission"),
    [
        (
            "no way, L11 was the fattest mouse",
            "My fix was wrong: new names don't move the rows, so samples were swapped.",
        ),
        ("jetzt ist es noch schlechter", "Neue Namen verschieben keine Zeilen, also waren die Proben vertauscht."),
        ("toujours pareil", "Les nouveaux noms ne déplacent pas les lignes, donc les échantillons sont échangés."),
        ("sigue igual", "Los nombres nuevos no mueven las filas, así que las muestras estaban cambiadas."),
    ],
)
async def test_a_fix_that_turns_out_to_be_wrong_is_a_wrong_way(world: World, complaint: str, admission: str) -> None:
    red, green = ran("Rscript de.R", NAMES, failed=True, offset=2), ran("Rscript de.R", "fitted", offset=5)
    why, wrong_way = assistant("The rows differ in order.", 3), changed("rownames(s) <- n", 4)
    talk = [person("the script dies on the new batch", 1), red, why, wrong_way, green]
    right_way = changed("s <- s[n, ]", 8), ran("Rscript de.R", "fitted", offset=9)
    answer = [person(complaint, 6), assistant(admission, 7), *right_way, person("thanks", 10)]
    async with world.engine() as engine:
        (wrong,) = (await take(engine, talk)).waiting
        (lesson,) = (await take(engine, answer)).waiting
        assert [record.id for record in records(engine) if record.state is NoteState.INBOX] == [lesson] != [wrong]
        (text,) = [data.decode() for name, data in world.files().items() if name.startswith("_inbox/")]
    worked, _, before = text.partition("What didn't work:")
    assert "rownames" in before and "s <- s[n, ]" in worked and "rownames" not in worked


RULES = {
    "no way, that's the same error.": "Our archive in Lund is always read-only.",
    "immer noch derselbe Fehler.": "Unser Archiv in Lund ist immer schreibgeschützt.",
    "toujours pareil.": "Notre archive à Lund est toujours en lecture seule.",
    "sigue igual.": "Nuestro archivo en Lund es siempre de solo lectura.",
}


@pytest.mark.parametrize("complaint", RULES)
def test_only_rules_in_a_complaint_are_proposed(complaint: str) -> None:
    red, green = ran("Rscript de.R", NAMES, failed=True, offset=2), ran("Rscript de.R", "fitted", offset=5)
    talk = [person("the script dies on the new batch", 1), red, changed("rownames(s) <- n", 4), green]
    for said in ("Batch 2 in Lund has 2000 genes.", RULES[complaint]):
        found = extract_candidates([*talk, person(f"{complaint} {said}", 6)])
        assert [one.text for one in found if one.offset == 6] == ([said] if said in RULES.values() else [])


RULED_OUT = ("my credit is 14 cedis so it isn't that", "we only ship on Tuesdays, always")


def test_of_what_is_said_until_the_solution_only_rules_are_proposed() -> None:
    asked = person("the new modem is dead since I moved it, it had 3 lamps", 1)
    red, green = ran("gammu id", "error: no answer", failed=True), ran("gammu id")
    said = [person(words, at) for at, words in enumerate(RULED_OUT, 2)]
    found = extract_candidates([asked, red, *said, assistant("A daemon has it."), ran("stop mm"), green])
    assert [one.text for one in found if one.kind != "fix"] == ["We only ship on Tuesdays, always."]
    assert [one.kind for one in found].count("fix") == 1


def test_a_comment_within_code_ends_no_sentence() -> None:
    (one,) = extract_candidates([person("We never use a `repo:acme/*` wildcard in the trust policy.")])
    assert one.text.endswith("`repo:acme/*` wildcard in the trust policy.")


CLIPPED = [
    person("concentrations of plate 7 come out as -3", 1),
    edited("fit.py", "fit(od)", "fit(od.clip(0))"),
    ran("python fit.py", "B1 0.0"),
    assistant("No negative values any more."),
    person("row B can't be zero, that's the strongest standard", 5),
    assistant("The reader exported the plate upside down, so the strongest standard was taken for the blank."),
    edited("fit.py", "fit(od.clip(0))", "fit(rotated(od))"),
    ran("python fit.py", "B1 410.2", offset=8),
]


def test_a_change_that_is_taken_back_after_a_message_needs_no_error() -> None:
    recap = assistant("Clipping only hid it: the plate went in upside down, and `rotated` turns it.", 9)
    (lesson,) = extract_candidates([*CLIPPED, recap, person("now the figures", 10)])
    worked, _, wrong = lesson.text.partition("What didn't work:")
    assert f"> Agent: {recap.text}" in worked and "fit(rotated(od))" in worked and "+ fit(od.clip(0))" in wrong
    assert "What was asked:\n> concentrations of plate 7" in worked and "No negative values" not in lesson.text


def test_what_is_added_to_a_change_on_request_is_no_lesson() -> None:
    added = edited("seeds.sql", "name text", "name text, lot text")
    more = edited("seeds.sql", "lot text", "lot text not null")
    talk = [person("add a column for the lot"), added, assistant("Added."), person("and make it not null"), more]
    assert not extract_lessons([*talk, assistant("It is required now."), person("thanks")])


def test_the_last_summary_of_a_turn_is_quoted_with_the_problem_that_it_is_about() -> None:
    recap = "The station allows 31 days at once, so the import asks for 30 now. The README is mended, too."
    talk = [
        ran("python tides.py", "HTTPError: 400 for 32 days of the station", failed=True),
        assistant("Too many days."),
        edited("tides.py", "days=31", "days=30"),
        ran("python tides.py"),
        assistant("Data flows. Now the README."),
        ran("pytest readme.py", "FileNotFoundError: cron.md", failed=True),
        edited("cron.md", "", "15 2 * * *"),
        ran("pytest readme.py"),
        assistant(recap),
    ]
    (lesson,) = extract_lessons(talk)
    assert "HTTPError: 400" in lesson.title and f"> Agent: {recap}" in lesson.text


def test_a_change_after_which_another_error_comes_is_part_of_what_worked() -> None:
    talk = [
        ran("sbatch job", "OSError: no space left on /tmp of the node", failed=True),
        assistant("On this node /tmp is memory, so the job has to write to the local disk."),
        edited("job", "mem=8G", "mem=8G\ntmpdir=local"),
        ran("sbatch job", "job: line 9: SBATCH: command not found", failed=True),
        assistant("A comment sign got lost."),
        edited("job", "SBATCH --gres", "#SBATCH --gres"),
        ran("sbatch job"),
    ]
    (lesson,) = extract_lessons(talk)
    assert "no space left" in lesson.title and "+ tmpdir=local" in lesson.text.partition("What didn't work:")[0]
    assert "On this node /tmp is memory" in lesson.text


def test_a_mistyped_command_teaches_nothing() -> None:
    failed = ran("git push orign main", "fatal: 'orign' is no repository", failed=True)
    talk = [failed, assistant("The name of the remote again."), ran("git push origin main"), assistant("Pushed.")]
    assert not extract_lessons(talk)
