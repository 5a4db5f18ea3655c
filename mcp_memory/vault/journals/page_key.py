"""Keeps the secret by which your devices know the pages of topics that another of them made."""

import base64
import binascii
import threading
from contextlib import suppress
from pathlib import Path
from secrets import token_bytes

from mcp_memory.errors import InvalidInput
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import replace_file

KEY_BYTES = 20
"""160 bits, which are 32 letters and digits."""


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
                if len(known := self._file.read_bytes()) == KEY_BYTES:
                    return known
            replace_file(self._file, made := token_bytes(KEY_BYTES))
            return made

    @property
    def code(self) -> str:
        """The secret as a person can type it, in groups of four. Raises StorageFailed."""
        text = base64.b32encode(self.secret).decode()
        return "-".join(text[at : at + 4] for at in range(0, len(text), 4))

    def join(self, code: str) -> bool:
        """Takes the code of another device; whether it is a new one. Raises InvalidInput, StorageFailed."""
        try:
            secret = base64.b32decode("".join(code.split()).replace("-", "").upper())
        except (binascii.Error, ValueError):
            secret = b""
        if len(secret) != KEY_BYTES:
            raise InvalidInput(
                "this is no code of a device",
                hint="mcp-memory pair, on your other device, shows it: 32 letters and digits",
            )
        if secret == self.secret:
            return False
        with self._lock, naming_the_cause(str(self._file)):
            replace_file(self._file, secret)
        return True
