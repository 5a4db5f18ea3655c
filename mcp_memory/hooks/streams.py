"""Standard input and output as whole byte strings, past Python's buffers: what is left in these fails at the end."""

from __future__ import annotations

import os

from mcp_memory.hooks.said import Unusable

MOST_BYTES = 16_000_000
"""Of standard input; no client sends more."""

_STEP = 1 << 20


def read_input() -> bytes:
    """All of it. Raises Unusable for too much, OSError."""
    data = bytearray()
    while part := os.read(0, _STEP):
        data += part
        if len(data) > MOST_BYTES:
            raise Unusable("the input is too long")
    return bytes(data)


def write_output(data: bytes) -> None:
    """Raises OSError where nobody reads it."""
    while data:
        data = data[os.write(1, data) :]
