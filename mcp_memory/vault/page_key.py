"""Keeps the secret by which your devices know the pages of topics that another of them made."""

import base64
import binascii
import threading
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_bytes

from mcp_memory.errors import InvalidInput, StorageFailed
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import replace_file

KEY_BYTES, CODE_CHARS, CHECK_CHARS = 20, 32, 4
"""160 bits are 32 letters and digits."""


class PageKey:
    """A file in the state folder, made when it is first needed. Thread-safe."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()

    @property
    def secret(self) -> bytes:
        """Raises StorageFailed."""
        with self._lock, naming_the_cause(str(self._file)):
            with suppress(FileNotFoundError):
                if len(known := self._file.read_bytes()) != KEY_BYTES:
                    raise StorageFailed(f"{self._file} is damaged", hint="remove it, and pair your devices again")
                return known
            replace_file(self._file, made := token_bytes(KEY_BYTES))
            return made

    @property
    def code(self) -> str:
        """The secret as a person can type it, in groups of four, the last to check the others. Raises StorageFailed."""
        text = _code_of(self.secret)
        return "-".join(text[at : at + 4] for at in range(0, len(text), 4))

    def join(self, code: str) -> bool:
        """Takes the code of another device; whether it is a new one. Raises InvalidInput, StorageFailed."""
        typed = "".join(code.split()).replace("-", "").upper()
        try:
            secret = base64.b32decode(typed[:CODE_CHARS])
        except (binascii.Error, ValueError):
            secret = b""
        if len(secret) != KEY_BYTES or typed != _code_of(secret):
            raise InvalidInput(
                "this is no code of a device, or has a typing error",
                hint="mcp-memory pair, on your other device, shows it: nine groups of four letters and digits 2 to 7",
            )
        if secret == self.secret:
            return False
        with self._lock, naming_the_cause(str(self._file)):
            replace_file(self._file, secret)
        return True


def _code_of(secret: bytes) -> str:
    check = base64.b32encode(sha256(secret).digest()).decode()[:CHECK_CHARS]
    return f"{base64.b32encode(secret).decode()}{check}"
