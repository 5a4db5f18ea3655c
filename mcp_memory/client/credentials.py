"""Keeps tokens and the daemon's secret in one private file of the state folder.

Each client has its own bearer token, which identifies the writer of a note. `secret` never leaves the machine. The
daemon uses it to prove itself to our own programs, since another program may have taken its port.
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
"""The client name of commands that you type, and of programs that act for you. They may do what no agent may do."""


TRY_AGAIN_S = (0.01, 0.05)


class TokensDamaged(ConfigInvalid):
    """The file exists but doesn't contain valid tokens."""


class Credentials:
    """The file `tokens.json`, mode 0600 from its creation: `{"secret": …, "tokens": {client: token}}`.

    A revoked client stays in the file with null as its token, so that it doesn't get a new token. If the file is
    missing, damaged or unreadable, a daemon (`remembers`) uses the content that it read last."""

    def __init__(self, file: str | Path, *, remembers: bool = False) -> None:
        self._file = str(file)
        self._remembers = remembers
        self._latest: dict[str, Any] | None = None
        self._signature: tuple[int, ...] | None = None

    def token(self, client: str = DEFAULT_CLIENT) -> str:
        """Return this client's token, made at first use. Raises as `_agent_name` does, and Refused for a revoked
        client."""
        return self._token(_agent_name(client))

    def persons_token(self) -> str:
        """Return the token of `PERSON`, which no command prints."""
        return self._token(PERSON)

    def has(self, client: str) -> bool:
        """Return whether this client has a token already; doesn't make a token."""
        return _signature(self._file) is not None and bool(self._read_or_make()["tokens"].get(client))

    def rotate(self, client: str) -> str:
        """Make a new token for this client, which may be revoked or `PERSON`. The daemon refuses the old token from now
        on."""
        name, token = client if client == PERSON else _agent_name(client), _new_token()
        self._change(lambda tokens: tokens.update({name: token}))
        return token

    def revoke(self, client: str) -> None:
        """Refuse this client until `rotate` gives it a new token. Raises as `token` does, and NotFound for a client
        without a token."""
        _agent_name(client)

        def revoked(tokens: dict[str, Any]) -> None:
            if tokens.get(client) is None:
                raise NotFound(f"no client named {client[:80]!r} has a token")
            tokens[client] = None

        self._change(revoked)

    def client_of(self, token: str) -> str | None:
        """Return the client with this token, or None. Tokens are compared in constant time."""
        found = None
        for client, known in self._read_or_make()["tokens"].items():
            if known and hmac.compare_digest(known.encode(), token.encode("utf-8", "replace")):
                found = client
        return found

    def proof(self, nonce: str, address: str) -> str:
        """Derive a proof from `nonce` and `address` (`host:port` or a socket's path), which only a program of this user
        can do."""
        secret = str(self._read_or_make()["secret"])
        return hmac.new(secret.encode(), f"{nonce}|{address}".encode(), "sha256").hexdigest()

    def remember(self) -> None:
        """Read the file if it has changed, so that the remembered content is up to date. Raises as any use does."""
        self._read_or_make()

    def put_back(self) -> None:
        """Write the content that was read last, unless the file exists. Raises StorageFailed."""
        if self._latest:
            self._write(self._latest, only_new=True)

    def renew(self) -> None:
        """Forget the remembered content. If the file is missing, make a new secret, so that all old tokens become
        invalid."""
        self._latest = None
        self._read_or_make()

    def _token(self, client: str) -> str:
        tokens = self._read_or_make()["tokens"]
        if client not in tokens:
            tokens = self._change(lambda tokens: tokens.setdefault(client, _new_token()))
        if tokens[client] is None:
            raise Refused(
                f"the client {client!r} was revoked",
                hint=f"to allow it again: mcp-memory clients token --client {client} --rotate",
            )
        return str(tokens[client])

    def _change(self, change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Apply `change` to the tokens, write them if they differ, and return them. A lock serializes clients that ask
        for their first token at once."""
        import fcntl

        self._read_or_make()
        lock = os.path.splitext(self._file)[0] + ".lock"
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            hint = "a client's first call makes its token: run it once where that file can be written"
            raise StorageFailed(f"cannot change {self._file}: {error.strerror}", hint=hint) from error
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
            return self._latest  # needs no file descriptor, so it works with all connections in use
        try:
            table = self._read_patiently()
        except (TokensDamaged, StorageFailed):
            if self._remembers and self._latest:
                return self._latest  # the file is read again at the next use
            raise
        except FileNotFoundError:
            self._write({"secret": _new_token(), "tokens": {}}, only_new=True)
            table = self._read()
        self._latest, self._signature = table, signature
        return table

    def _read_patiently(self) -> dict[str, Any]:
        """Read the file, and retry after a disk error unless the content is remembered. A client that is refused
        doesn't try again by itself."""
        from time import sleep

        for wait_s in () if self._remembers and self._latest else TRY_AGAIN_S:
            try:
                return self._read()
            except (TokensDamaged, StorageFailed):
                sleep(wait_s)
        return self._read()

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
        """Write the file atomically and sync it to disk. With `only_new`, keep an existing file as it is."""
        from pathlib import Path

        from mcp_memory.runtime.private_files import replace_file

        try:
            replace_file(Path(self._file), json.dumps(table).encode(), only_new=only_new)
        except FileExistsError:
            return  # another process made it just now: its secret is used
        except OSError as error:
            raise StorageFailed(f"cannot write {self._file}: {error.strerror}") from error


def _signature(file: str) -> tuple[int, ...] | None:
    """Return a value that changes whenever the file is written, replaced or given other permissions; None if the file
    is missing."""
    try:
        facts = os.lstat(file)
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_mode, facts.st_uid


def _agent_name(client: str) -> str:
    """Return a valid client name. Raises InvalidInput for a name that isn't a plain word, Refused for `PERSON` in any
    case."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", client):
        raise InvalidInput(f"client name {client[:80]!r}", hint="use letters, digits, '.', '-' and '_'")
    if client.lower() == PERSON:
        raise Refused(f"the name {client!r} is the person's own", hint="name the client, say --client my-editor")
    return client


def _new_token() -> str:
    from secrets import token_urlsafe  # rarely needed, and an agent's start-up would wait for the import

    return "mcpm_" + token_urlsafe(32)  # the prefix shows that it is a token wherever it turns up
