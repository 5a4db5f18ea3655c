"""What counts as a quote of an error."""

from __future__ import annotations

import pytest

from mcp_memory.recall.moments.error_quotes import ErrorOutput

PRINTED = "Exit code 1\nerror: E4021 queue full on eu-central-1\n"


@pytest.mark.parametrize(
    ("note", "by_fix", "by_other"),
    [
        ("E4021 queue full: drain it with `./drain.sh` first.", True, False),
        ("`error: E4021 queue full`: drain it first.", True, True),
        ("E4022 means that the queue is gone.", False, False),
        ("The queue is full on Mondays: ship on Tuesdays.", False, False),
    ],
)
def test_a_code_in_plain_words_counts_in_what_was_learned_from_it(note: str, by_fix: bool, by_other: bool):
    error = ErrorOutput(PRINTED)
    assert (error.likeness(note, is_learned=True) > 0, error.likeness(note, is_learned=False) > 0) == (by_fix, by_other)


def test_numbers_and_paths_of_another_day_are_the_same_error():
    error = ErrorOutput("psycopg.OperationalError: connection to 10.0.3.7, port 5433 failed: too many clients already")
    note = "`connection to 10.1.1.1, port 5432 failed: too many clients already`: raise max_connections."
    assert error.likeness(note, is_learned=True) == 1.0
    assert error.likeness("`too many open files`: raise the limit.", is_learned=True) == 0.0


@pytest.mark.parametrize("marks", ["»{}«", "„{}“", "« {} »", "“{}”", '"{}"'])
def test_an_error_is_quoted_in_the_marks_of_each_language(marks: str):
    note = f"Bricht typst mit {marks.format('unknown font family: libertinus serif')} ab, hilft `--font-path`."
    printed = ErrorOutput("error: unknown font family: libertinus serif\n  stil/verlag.typ:3:17")
    assert printed.likeness(note, is_learned=True) == 1.0


REFUSED = """E   sqlalchemy.exc.OperationalError: (psycopg2.OperationalError) connection to "db": Connection refused
1 failed, 3 passed in 1.2s"""
NO_TABLE = "E   sqlalchemy.exc.OperationalError: (sqlite3.OperationalError) no such table: users"
MISSING = "ModuleNotFoundError: No module named 'jinja2'\nmake: *** [docs] Error 1"
LOCKED = "mcp.errors.VaultLocked: the vault is locked by process 4711"
TYPE = "src/a.ts:3:1 - error TS2339: Property 'clientId' does not exist on type 'Matter'."


@pytest.mark.parametrize(
    ("note", "printed", "other"),
    [
        ("OperationalError: connection refused in the tests: start the container first.", REFUSED, NO_TABLE),
        ("'connection refused' from sqlalchemy.exc.OperationalError: start the container.", REFUSED, NO_TABLE),
        ("`sqlalchemy.exc.OperationalError: connection refused`: the container isn't up.", REFUSED, NO_TABLE),
        ("psycopg2.OperationalError, connection refused: der Container läuft nicht.", REFUSED, NO_TABLE),
        ("'No module named 'jinja2'' comes when the venv isn't active.", MISSING, MISSING.replace("jinja2", "yaml")),
        ('ModuleNotFoundError: No module named "jinja2": run make venv.', MISSING, MISSING.replace("jinja2", "yaml")),
        ("Si sale ModuleNotFoundError con jinja2, falta make venv.", MISSING, MISSING.replace("jinja2", "yaml")),
        ("'VaultLocked' heißt: der alte Dienst läuft noch.", LOCKED, MISSING),
        ("mcp.errors.VaultLocked : l'ancien service tourne encore.", "VaultLocked: by process 12", MISSING),
        (
            "Property ‘clientId’ does not exist on type ‘Matter’: run npx tsc -b.",
            TYPE,
            TYPE.replace("clientId", "total"),
        ),
    ],
)
def test_a_lesson_is_found_in_other_quotes_and_by_a_shorter_or_longer_name(note: str, printed: str, other: str):
    assert ErrorOutput(printed).likeness(note, is_learned=True) > 0
    assert ErrorOutput(other).likeness(note, is_learned=True) == 0
