"""Texts on the command line: one may begin with a hyphen, and none is repeated by an error."""

from __future__ import annotations

import pytest

from tests.daemon.place import Place

BODY = "MIIEowIBAAKCAQEA7vQ9xKp2mLw8sTz4RbYc6NfJh1GdUe5oXiVaBkPqWr3yZtCl0S"
KEY = "\n".join([f"-----BEGIN RSA PRIVATE {'KEY'}-----", BODY, BODY, f"-----END RSA PRIVATE {'KEY'}-----"])


@pytest.mark.parametrize("words", [[KEY], KEY.split(), ["-k", "fact", KEY], ["--", KEY]], ids=range(4))
def test_a_private_key_is_refused_without_a_word_of_it(served: Place, words: list[str]):
    ran = served.run("append", *words)
    assert ran.code == 1
    assert "this seems to hold a secret (private key)" in ran.err
    assert BODY[:12] not in ran.out + ran.err
    assert "BEGIN" not in ran.out + ran.err


def test_a_password_by_its_name_is_refused_as_it_is_taken_out_of_a_session(served: Place):
    ran = served.run("append", "grafana admin password is Tr0ub4dor&3")
    assert ran.code == 1
    assert "this seems to hold a secret" in ran.err
    assert "Tr0ub" not in ran.out + ran.err


@pytest.mark.parametrize(
    "text", ["- buy oats for the mare", "--force is never used with git push", "-5 °C is the limit"]
)
def test_a_text_may_begin_with_a_hyphen(served: Place, text: str):
    note = served.run("append", "--json", "--project", "stable", text, "-k", "fact").ok().json
    assert text in served.run("recall", "--id", note["id"]).ok().out
    hits = served.run("search", "--json", text).ok().json["hits"]
    assert note["id"] in [hit["id"] for hit in hits]


def test_a_usage_error_says_which_numbers_are_taken(served: Place):
    assert "0 is not in the range 1<=x<=1000." in served.run("list", "-n", "0").err
    assert "No such command 'append this'" in served.run("append this").err


@pytest.mark.parametrize(
    "wrong",
    [
        ["append", "--titel", "The mare hates rain and thunder."],
        ["append", "-zThe-mare-hates-rain."],
        ["The mare hates rain and thunder."],
        ["search", "-n", "The mare hates rain and thunder."],
        ["search", "--mode", "The mare hates rain and thunder.", "x"],
        ["status", "The mare hates rain and thunder."],
        ["--The-mare-hates-rain-and-thunder."],
    ],
    ids=lambda wrong: str(wrong[0])[:12],
)
def test_a_usage_error_repeats_no_text(served: Place, wrong: list[str]):
    ran = served.run(*wrong)
    assert ran.code == 2
    assert "mare" not in ran.out + ran.err
    assert "mcp-memory" in ran.err


@pytest.mark.parametrize("words", [["--force"], ["what", "does", "--amend", "do"]])
def test_a_word_that_looks_like_an_option_is_named_with_the_way_to_pass_it(served: Place, words: list[str]):
    refused = served.run("search", *words)
    assert refused.code == 2 and "put -- before them" in refused.err
    served.run("search", "--", *words).ok()


def test_a_misspelt_option_or_command_is_still_named(served: Place):
    assert "--limt" in served.run("search", "--limt", "3", "x").err
    assert "did you mean search" in served.run("serch").err
