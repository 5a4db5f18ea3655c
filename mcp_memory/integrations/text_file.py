"""Reads and replaces a text file that a person or another program also writes, such as a configuration."""

import os
import stat
from datetime import datetime
from pathlib import Path

from mcp_memory.errors import Refused
from mcp_memory.runtime.private_files import naming_the_cause

MAX_BYTES = 64_000_000
"""A size above that of any configuration a client could load."""


def read(file: Path) -> bytes | None:
    """Return the file's bytes, None if the file doesn't exist. Raises Refused if it isn't a regular file,
    StorageFailed."""
    with naming_the_cause(str(file)):
        try:
            # O_NONBLOCK: opening a FIFO must not wait for its writer.
            descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Refused(f"{file} is not a regular file", hint="move it away, then try again")
            with open(descriptor, "rb", closefd=False) as opened:
                content = opened.read(MAX_BYTES + 1)
        finally:
            os.close(descriptor)
    if len(content) > MAX_BYTES:
        raise Refused(f"{file} has more than {MAX_BYTES:,} bytes", hint="too large for a configuration: check it")
    return content


def read_text(file: Path) -> str:
    """Return the file's text, empty if the file doesn't exist. Raises as `read`, and Refused if it isn't UTF-8."""
    return decode(read(file))


def decode(content: bytes | None) -> str:
    """Return a file's text; empty for a missing file. Raises Refused if it isn't UTF-8."""
    try:
        return (content or b"").decode()
    except UnicodeDecodeError as error:
        raise Refused(f"byte {error.start} is not UTF-8") from None


def replace(file: Path, old: bytes | None, new: bytes) -> None:
    """Write the file if it still has its `old` bytes (None: is missing). Raises PreconditionFailed, StorageFailed."""
    # Imported here because each search in a shell reads the list of projects, and few write it.
    from mcp_memory.integrations import config_files
    from mcp_memory.integrations.config_plan import ConfigChange, ConfigTarget

    config_files.apply(ConfigChange(ConfigTarget(file, ()), old, new), datetime.now().astimezone())
