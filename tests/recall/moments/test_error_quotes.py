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
