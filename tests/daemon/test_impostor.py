"""Another program on the daemon's port gets no token out of ours."""

from __future__ import annotations

import pytest

from mcp_memory.client.connection import Address, DaemonConnection
from mcp_memory.errors import DeadlineExceeded, NotRunning
from tests.daemon.place import Place
from tests.daemon.wire import Wire
from tests.support.impostor import REPLIES, health, http, impostor


@pytest.mark.parametrize("name", REPLIES)
def test_no_reply_gets_a_token(place: Place, name: str):
    token = place.credentials.persons_token()
    with impostor(place, REPLIES[name]) as heard:
        connection = DaemonConnection(Address.read(place.state.daemon), place.credentials)
        with pytest.raises(NotRunning):
            connection.call("search", {"query": "a private question"})
    sent = b"".join(heard)
    assert b"/health?nonce=" in sent
    assert b"uthorization" not in sent
    assert token.encode() not in sent
    assert b"private" not in sent


def test_our_programs_turn_away(place: Place):
    token = place.credentials.token("claude-code")
    place.vault.mkdir()
    with impostor(place, health(proof="0" * 64)) as heard:
        helper = place.run("headers", "--client", "claude-code")
        assert (helper.code, helper.json) == (3, {})
        assert "is not this vault's daemon" in helper.err
        assert place.run("status").code == 3
        found = place.run("search", "--json", "a private question").ok()
        assert found.json["hits"] == [], "answered in process"
    sent = b"".join(heard)
    assert sent.count(b"GET /health?nonce=") == 3
    for secret in (token, place.credentials.persons_token(), "private"):
        assert secret.encode() not in sent


def test_a_proof_of_the_real_daemon_does_not_serve_another_port(place: Place):
    """The impostor hands our nonce on to the daemon that it stands in for."""
    with place.serving() as served:
        real = DaemonConnection(served.address, place.credentials)

        def relay(request: bytes) -> bytes:
            nonce = request.split(b"nonce=")[-1].split(b" ")[0].decode()
            with Wire(served) as wire:
                return http(wire.send("GET", f"/health?nonce={nonce}", token=None).body)

        kept = place.state.daemon.read_bytes()
        with impostor(place, relay), pytest.raises(NotRunning):
            DaemonConnection(Address.read(place.state.daemon), place.credentials).verify()
        place.state.daemon.write_bytes(kept)
        real.verify()


def test_a_peer_that_drips_is_given_up_by_one_deadline(place: Place):
    """Each byte comes within the socket's timeout; all of them would take minutes."""
    with impostor(place, lambda _: http(b" " * 5000), drip_s=0.02):
        connection = DaemonConnection(Address.read(place.state.daemon), place.credentials)
        with pytest.raises(DeadlineExceeded):
            connection.verify(deadline_s=0.3)


def test_a_peer_that_says_nothing(place: Place):
    with impostor(place, lambda _: http(b"{}"), drip_s=600):
        connection = DaemonConnection(Address.read(place.state.daemon), place.credentials)
        with pytest.raises(DeadlineExceeded):
            connection.verify(deadline_s=0.3)
        helper = place.run("headers")
        assert (helper.code, helper.json) == (1, {})
