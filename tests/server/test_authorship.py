"""Who wrote, and when, is what token and clock say; only the person says otherwise, and nobody takes their name."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import frontmatter
import pytest

from mcp_memory import Memory
from mcp_memory.client.credentials import PERSON
from tests.daemon.place import Running
from tests.daemon.wire import Wire


@pytest.mark.parametrize("forged", [{"source": "claude-code"}, {"source": "cli"}, {"created": "2020-01-01"}])
def test_an_agent_says_neither_author_nor_date(daemon: Running, forged: dict[str, str]):
    with Wire(daemon, client="agent") as agent:
        answer = agent.api("append", {"content": f"Written with {forged}.", **forged})
    assert answer.status == 403
    assert answer.json["message"] == f"only a person can pass {next(iter(forged))}"
    assert not [note for note in daemon.place.vault.rglob("*.md") if f"Written with {forged}" in note.read_text()]


def test_the_token_and_the_clock_say_both(daemon: Running):
    with Wire(daemon, client="agent") as agent:
        receipt = agent.api("append", {"content": "Written through the plain interface."}).json
    meta = frontmatter.load(str(daemon.place.vault / receipt["path"])).metadata
    assert meta["source"] == "agent"
    assert abs(meta["created"] - datetime.now(UTC)) < timedelta(minutes=5)


def test_the_person_and_their_programs_say_both(daemon: Running, monkeypatch: pytest.MonkeyPatch):
    said = {"source": "an old diary", "created": "2020-01-01T12:00:00+00:00"}
    with Wire(daemon, client=PERSON) as person:
        path = person.api("append", {"content": "Written by the person.", **said}).json["path"]
    assert frontmatter.load(str(daemon.place.vault / path))["source"] == "an old diary"
    for name, value in daemon.place.environ.items():
        monkeypatch.setenv(name, value)
    with Memory.open(daemon.place.vault) as memory:
        path = memory.append("Written by a program of the person.", **said).path
    meta = frontmatter.load(str(daemon.place.vault / path)).metadata
    assert (meta["source"], meta["created"].year) == ("an old diary", 2020)


@pytest.mark.parametrize("name", [PERSON, PERSON.upper()])
@pytest.mark.parametrize(
    "words",
    [["headers"], ["clients", "token"], ["hook", "prompt"], ["stdio"]],
    ids=" ".join,
)
def test_no_command_hands_out_the_persons_token(daemon: Running, words: list[str], name: str):
    token = daemon.token(PERSON)
    message = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    ran = daemon.place.run(*words, "--client", name, stdin=message)
    assert token not in ran.out + ran.err
    assert "Bearer" not in ran.out
    assert daemon.token(PERSON) == token
    said = ran.out + ran.err
    if words[0] != "hook":  # which fails open, and says why in its log
        assert f"the name {name!r} is the person's own" in said
        assert (ran.code != 0) is (words[0] != "stdio")  # which answers in the protocol
    else:
        assert json.loads(daemon.place.state.hooks.read_text().splitlines()[-1])["cause"] == "refused"


def test_a_persons_token_that_got_out_is_replaced_unseen_and_never_revoked(daemon: Running):
    leaked = daemon.token(PERSON)
    assert daemon.place.run("clients", "token", "--client", PERSON, "--revoke").code == 1
    assert daemon.place.run("clients", "token", "--client", PERSON, "--rotate").ok().out == "cli: rotated\n"
    assert daemon.token(PERSON) != leaked
    with Wire(daemon, client=PERSON) as person:
        assert person.api("status").status == 200
        assert person.api("status", token=leaked).status == 401
