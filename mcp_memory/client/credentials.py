"""Tokens and the daemon's proof, in one private file of the state folder.

Each client name has a bearer token of its own, so that a token tells who wrote. `secret` never leaves the machine:
with it the daemon proves itself to our own programs, since another program may have taken its port.
"""

from __future__ import annotations

import hmac
import json
import os
import re

from mcp_memory.errors import ConfigInvalid, InvalidInput, NotFound, Refused, StorageFailed

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

DEFAULT_CLIENT = "default"

PERSON = "cli"
"""The client name of what a person types, and of programs that act as the person: they may do what no agent may."""


class TokensDamaged(ConfigInvalid):
    """The file holds no tokens any more."""


class Credentials:
    """The file `tokens.json`, mode 0600 from its creation: `{"secret": …, "tokens": {client: token}}`.

    A revoked client stays in it with null for a token, else its next question would bring it a new one. Where the
    file is gone or damaged, a daemon, which `remembers`, goes by what it read last.
    """

    def __init__(self, file: str | Path, *, remembers: bool = False) -> None:
        self._file = str(file)
        self._remembers = remembers
        self._latest: dict[str, Any] | None = None
        self._signature: tuple[int, ...] | None = None

    def token(self, client: str = DEFAULT_CLIENT) -> str:
        """This client's token, made at first use.

        Raises InvalidInput for a name that is no plain word, Refused for a client that was revoked and for the person's
        name, in any case.
        """
        return self._token(_of_an_agent(client))

    def persons_token(self) -> str:
        """For what a person types, and for their own programs: no command prints it."""
        return self._token(PERSON)

    def has(self, client: str) -> bool:
        """Whether this client has a token already; none is made."""
        return _signature(self._file) is not None and bool(self._read_or_make()["tokens"].get(client))

    def rotate(self, client: str) -> str:
        """A new token for this client, also a revoked one, and for the person; the old one is refused from now on."""
        name, token = client if client == PERSON else _of_an_agent(client), _fresh()
        self._change(lambda tokens: tokens.update({name: token}))
        return token

    def revoke(self, client: str) -> None:
        """Refuse this client until it is given a new token by `rotate`. Raises NotFound for one that has none, Refused
        for the person's name."""
        _of_an_agent(client)

        def revoked(tokens: dict[str, Any]) -> None:
            if tokens.get(client) is None:
                raise NotFound(f"no client named {client[:80]!r} has a token")
            tokens[client] = None

        self._change(revoked)

    def client_of(self, token: str) -> str | None:
        """Who holds this token, compared in constant time."""
        found = None
        for client, known in self._read_or_make()["tokens"].items():
            if known and hmac.compare_digest(known.encode(), token.encode("utf-8", "replace")):
                found = client
        return found

    def proof(self, nonce: str, address: str) -> str:
        """What only a program of this user can say about `nonce` at `address` (`host:port` or a socket's path)."""
        secret = str(self._read_or_make()["secret"])
        return hmac.new(secret.encode(), f"{nonce}|{address}".encode(), "sha256").hexdigest()

    def remember(self) -> None:
        """Read the file if it has changed, so that what is remembered is never old. Raises as any use does."""
        self._read_or_make()

    def put_back(self) -> None:
        """Write what was read last, unless a file is there. Raises StorageFailed."""
        if self._latest:
            self._write(self._latest, only_new=True)

    def renew(self) -> None:
        """Where the file is gone, forget what it held: there is a new secret, and no token counts any more."""
        self._latest = None
        self._read_or_make()

    def _token(self, client: str) -> str:
        tokens = self._read_or_make()["tokens"]
        if client not in tokens:
            tokens = self._change(lambda tokens: tokens.setdefault(client, _fresh()))
        if tokens[client] is None:
            raise Refused(
                f"the client {client!r} was revoked",
                hint=f"to allow it again: mcp-memory token --client {client} --rotate",
            )
        return str(tokens[client])

    def _change(self, change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """The tokens after `change`, written if it did any; several clients ask for their first token at once."""
        import fcntl

        self._read_or_make()
        lock = os.path.splitext(self._file)[0] + ".lock"
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            table = self._read()
            before = dict(table["tokens"])
            change(table["tokens"])
            if table["tokens"] != before:
                self._write(table)
        finally:
            os.close(descriptor)
        return table["tokens"]

    def _read_or_make(self) -> dict[str, Any]:
        signature = _signature(self._file)
        if self._remembers and self._latest and signature in {None, self._signature}:
            return self._latest  # no open file is needed, so that many connections keep nobody out
        try:
            table = self._read()
        except TokensDamaged:
            if self._remembers and self._latest:
                return self._latest
            raise
        except FileNotFoundError:
            self._write({"secret": _fresh(), "tokens": {}}, only_new=True)
            table = self._read()
        self._latest, self._signature = table, signature
        return table

    def _read(self) -> dict[str, Any]:
        try:
            descriptor = os.open(self._file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StorageFailed(f"cannot read {self._file}: {error.strerror}") from error
        with os.fdopen(descriptor, encoding="utf-8") as file:
            facts = os.fstat(file.fileno())
            if facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
                raise ConfigInvalid(
                    f"{self._file} is not private to you", hint=f"check who made it, then: chmod 600 {self._file}"
                )
            try:
                table = json.load(file)
                if isinstance(table["secret"], str) and isinstance(table["tokens"], dict):
                    return table
            except (ValueError, KeyError, TypeError):
                pass
        raise TokensDamaged(f"{self._file} is damaged", hint=f"rm {self._file}; clients get new tokens")

    def _write(self, table: Mapping[str, object], *, only_new: bool = False) -> None:
        """Whole or not at all, on disk when this returns; `only_new` leaves a file alone that is there already."""
        from pathlib import Path

        from mcp_memory.runtime.private_files import replace_file

        try:
            replace_file(Path(self._file), json.dumps(table).encode(), only_new=only_new)
        except FileExistsError:
            return  # another process made it in this instant: its secret counts
        except OSError as error:
            raise StorageFailed(f"cannot write {self._file}: {error.strerror}") from error


def _signature(file: str) -> tuple[int, ...] | None:
    """Another one whenever the file was written, exchanged or given other rights; None where there is none."""
    try:
        facts = os.lstat(file)
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_mode, facts.st_uid


def _of_an_agent(client: str) -> str:
    """Raises InvalidInput for a name that is no plain word, Refused for the person's."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", client):
        raise InvalidInput(f"client name {client[:80]!r}", hint="use letters, digits, '.', '-' and '_'")
    if client.lower() == PERSON:
        raise Refused(f"the name {client!r} is the person's own", hint="name the client, say --client my-editor")
    return client


def _fresh() -> str:
    """A new token. Few calls make one, and an agent's start-up waits for the import."""
    from secrets import token_urlsafe

    return "mcpm_" + token_urlsafe(32)  # by the prefix it is known as a token wherever it turns up
