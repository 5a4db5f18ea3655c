"""The daemon's log: ids, counts and times, never the text of a note; private, and rotated by size."""

from __future__ import annotations

import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

from mcp_memory.settings import DaemonConfig

# These libraries log arguments and results; ours say what happened without them.
TALKATIVE = ("fastmcp", "mcp", "httpx", "httpcore", "sentence_transformers", "transformers", "watchfiles")


def open_log(file: Path, config: DaemonConfig) -> logging.Logger:
    """Send our log, and the web server's warnings, to `file`."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600))
    handler = RotatingFileHandler(
        file, maxBytes=config.log_bytes, backupCount=max(0, config.log_files - 1), encoding="utf-8"
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    for name in TALKATIVE:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = False
        logger.addHandler(logging.NullHandler())
    for name, level in (("mcp_memory", config.log_level.upper()), ("uvicorn", "WARNING")):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(level)
    return logging.getLogger("mcp_memory.daemon")
