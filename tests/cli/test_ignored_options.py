"""Options that a command would ignore are refused, and options before a client's own command count."""

from __future__ import annotations

import pytest

from mcp_memory.text.pluralize import listed
from tests.daemon.place import Place


@pytest.mark.parametrize(
    "words",
    [
        ["links", "a.md", "--confirm"],
        ["links", "a.md", "--personal"],
        ["links", "a.md", "--yes"],
        ["links", "a.md", "-p", "shop"],
        ["links", "--check", "--yes"],
        ["links", "--check", "--depth", "2"],
        ["links", "--code", "--repair"],
        ["review", "--keep", "A", "--drop", "B"],
        ["review", "--both", "A", "--accept", "B"],
        ["review", "--conflicts", "--accept", "A"],
        ["review", "--conflicts", "--yes"],
        ["review", "--accept", "A", "-p", "shop"],
        ["stats", "A", "--unanswered"],
        ["due", "petra"],
    ],
    ids=" ".join,
)
def test_an_option_that_would_be_ignored_is_refused(place: Place, words: list[str]):
    ran = place.run(*words)
    assert ran.code == 2 and "→" in ran.err, ran


@pytest.mark.parametrize("before", [["--vault", "VAULT"], ["--vault=VAULT"]], ids=str)
def test_the_vault_may_come_before_a_clients_own_command(served: Place, before: list[str]):
    options = [word.replace("VAULT", str(served.vault)) for word in before]
    elsewhere = {"MCP_MEMORY_VAULT": str(served.root / "elsewhere")}
    headers = served.run("headers", "--client", "inspector", *options, **elsewhere).ok().out
    assert served.run(*options, "headers", "--client", "inspector", **elsewhere).ok().out == headers != "{}"
    assert served.run(*options, "hook", "prompt", "--client", "codex", stdin=b"{}", **elsewhere).ok().err == ""
    assert served.run(*options, "stdio", "--help", **elsewhere).ok().out.startswith("usage: mcp-memory stdio")


def test_a_promise_gets_its_date_and_is_done_by_a_few_words(served: Place):
    words = ("append", "-k", "commitment", "Renew the certificate of the lock", "--json")
    first = served.run(*words).ok().json
    dated = served.run(*words, "--due", "2099-01-01").ok().json
    assert dated["outcome"] != "duplicate" and dated["superseded"]["id"] == first["id"]
    assert served.run(*words).ok().json["id"] == dated["id"], "the same without a date changes nothing"
    assert served.run(*words, "--due", "2099-01-01").ok().json["outcome"] == "duplicate"
    listed_ids = [one["id"] for one in served.run("due", "--json").ok().json["commitments"]]
    assert dated["id"] in listed_ids and first["id"] not in listed_ids
    assert served.run("due", "--done", "no", "such", "promise").code == 4
    assert served.run("due", "--done", "renew", "certificate", "--json").ok().json["done"][0]["id"] == dated["id"]


def test_words_are_joined_as_in_a_sentence():
    assert [listed(["A", "B", "C"][:number]) for number in (1, 2, 3)] == ["A", "A and B", "A, B and C"]
