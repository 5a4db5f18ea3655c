"""Tokens: one a client, private, and none lost when many ask at once."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from mcp_memory.client.credentials import Credentials
from mcp_memory.errors import ConfigInvalid, InvalidInput, NotFound, StorageFailed
from tests.daemon.place import Place


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "tokens.json"


def test_a_token_is_made_once_and_tells_who_holds_it(file: Path):
    credentials = Credentials(file)
    one, two = credentials.token("one"), credentials.token("two")
    assert one != two
    assert len(one) >= 32
    assert Credentials(file).token("one") == one
    assert credentials.client_of(one) == "one"
    assert credentials.client_of(two) == "two"
    assert credentials.client_of("") is None
    assert credentials.client_of("é" * 40) is None
    assert credentials.client_of(one[:-1]) is None
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_rotate_and_revoke(file: Path):
    credentials = Credentials(file)
    old, other = credentials.token("one"), credentials.token("two")
    new = credentials.rotate("one")
    assert credentials.client_of(old) is None
    assert credentials.client_of(new) == "one"
    credentials.revoke("one")
    assert credentials.client_of(new) is None
    assert credentials.client_of(other) == "two"
    with pytest.raises(NotFound):
        credentials.revoke("one")


@pytest.mark.parametrize("name", ["", ".", "-x", "a b", "a/b", "a\nb", "é", "x" * 65, "../x"])
def test_client_names_are_plain_words(file: Path, name: str):
    for ask in (Credentials(file).token, Credentials(file).rotate):
        with pytest.raises(InvalidInput):
            ask(name)


def test_a_proof_is_of_the_nonce_the_address_and_the_secret(file: Path, tmp_path: Path):
    credentials = Credentials(file)
    proof = credentials.proof("n", "127.0.0.1:1")
    assert Credentials(file).proof("n", "127.0.0.1:1") == proof
    others = {
        credentials.proof("m", "127.0.0.1:1"),
        credentials.proof("n", "127.0.0.1:2"),
        Credentials(tmp_path / "other.json").proof("n", "127.0.0.1:1"),
    }
    assert proof not in others
    assert len(others) == 3


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"secret": 5, "tokens": {}}', '{"secret": "x"}', "\x00"])
def test_a_damaged_file_is_said_to_be_one(file: Path, text: str):
    Credentials(file).token()
    file.write_text(text)
    with pytest.raises(ConfigInvalid, match="damaged"):
        Credentials(file).token()


def test_a_daemon_goes_by_what_it_read_before_the_file_was_damaged(file: Path):
    daemon = Credentials(file, remembers=True)
    token = daemon.token("agent")
    assert daemon.client_of(token) == "agent"
    file.write_bytes(b'{"secr')
    assert daemon.client_of(token) == "agent"
    with pytest.raises(ConfigInvalid, match="damaged"):
        Credentials(file).client_of(token)


@pytest.mark.parametrize("fault", [errno.EIO, errno.EMFILE, errno.EACCES, errno.EINTR, None])
def test_a_file_that_cannot_be_read_once_is_read_again(file: Path, monkeypatch: pytest.MonkeyPatch, fault: int | None):
    token, opened, faults = Credentials(file).token("agent"), os.open, 2
    whole = file.read_bytes()

    def failing(path: str, *rest: int, **more: int) -> int:
        nonlocal faults
        if path == str(file) and faults:
            faults -= 1
            if fault:
                raise OSError(fault, os.strerror(fault))
            file.write_bytes(b"{" if faults else whole)
        return opened(path, *rest, **more)

    monkeypatch.setattr(os, "open", failing)
    assert Credentials(file).client_of(token) == "agent"


def test_a_daemon_that_cannot_read_new_tokens_knows_the_old_ones_and_then_the_new(
    file: Path, monkeypatch: pytest.MonkeyPatch
):
    daemon = Credentials(file, remembers=True)
    old = daemon.token("old")
    assert daemon.client_of(old) == "old"
    new, opened = Credentials(file).token("new"), os.open

    def failing(path: str, *_: int, **__: int) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    monkeypatch.setattr(os, "open", failing)
    assert (daemon.client_of(old), daemon.client_of(new)) == ("old", None)
    monkeypatch.setattr(os, "open", opened)
    assert (daemon.client_of(old), daemon.client_of(new)) == ("old", "new")


def test_a_file_that_others_can_read_or_a_link_is_refused(file: Path, tmp_path: Path):
    credentials = Credentials(file)
    credentials.token()
    file.chmod(0o640)
    with pytest.raises(ConfigInvalid, match="private"):
        credentials.client_of("x")
    file.chmod(0o600)
    moved = file.rename(tmp_path / "elsewhere")
    file.symlink_to(moved)
    with pytest.raises(StorageFailed):
        credentials.token()


def test_a_deleted_file_lets_nobody_in(file: Path):
    credentials = Credentials(file)
    token = credentials.token()
    file.unlink()
    assert credentials.client_of(token) is None


def test_first_tokens_of_many_clients_at_once_all_count(place: Place):
    """Agents start together; each helper makes its own token in the one file."""
    program = (
        "import sys; from pathlib import Path; from mcp_memory.client.credentials import Credentials\n"
        "credentials = Credentials(Path(sys.argv[1])); print('ready', flush=True); sys.stdin.readline()\n"
        "for n in range(5): print(credentials.token(f'{sys.argv[2]}-{n}'))"
    )
    racers = [
        subprocess.Popen(
            [place.command()[0], "-c", program, str(place.state.tokens), f"client-{n}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=place.environ, text=True,
        )
        for n in range(8)
    ]  # fmt: skip
    for racer in racers:
        assert racer.stdout and racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin
        racer.stdin.write("\n")
        racer.stdin.flush()
    printed = [racer.communicate()[0].split() for racer in racers]
    kept = json.loads(place.state.tokens.read_text())["tokens"]
    assert kept == {f"client-{n}-{m}": token for n, tokens in enumerate(printed) for m, token in enumerate(tokens)}
    assert len(kept) == 40
