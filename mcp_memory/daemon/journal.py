"""The daemon's log: ids, counts and times, never the text of a note; private, and rotated by size."""

from __future__ import annotations

import logging
import os
import traceback
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from mcp_memory.settings import DaemonConfig

# These libraries log arguments and results; ours say what happened without them.
TALKATIVE = ("fastmcp", "mcp", "httpx", "httpcore", "sentence_transformers", "transformers", "watchfiles")


def open_log(file: Path, config: DaemonConfig) -> logging.Logger:
    """Send our log, and the web server's warnings, to `file`."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = _PrivateFile(file, maxBytes=config.log_bytes, backupCount=max(0, config.log_files - 1), encoding="utf-8")
    handler.setFormatter(_Discreet("%(asctime)s %(levelname)s %(name)s %(message)s"))
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


class _PrivateFile(RotatingFileHandler):
    """Each file of the log is 0600 from its creation, also after a rotation."""

    def _open(self) -> TextIOWrapper:
        os.close(os.open(self.baseFilename, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600))
        return super()._open()


class _Discreet(logging.Formatter):
    """An exception as its type and the places in the code: its message may quote a note or a query."""

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None],
    ) -> str:
        kind, _, trace = ei
        places = (f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace))
        return "\n".join([f"  {kind.__name__ if kind else 'no exception'} at", *(f"    {place}" for place in places)])
