"""Durable names in the state folder."""

from __future__ import annotations

import os
from pathlib import Path

from mcp_memory.storage.publish import sync


def sync_folder(folder: Path) -> None:
    """A new file is no safer than its name. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)
