"""Writes the daemon's log: ids, counts and times, never the text of a note. The log is private, and rotated by size."""

import logging
import os
import time
import traceback
from collections import Counter
from contextlib import suppress
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from mcp_memory.runtime.private_files import make_private
from mcp_memory.settings.settings import DaemonConfig

MOST_A_MINUTE = 20
"""The most lines of one kind a minute; lines of one kind differ only in their arguments. The first line in the next
minute has the number of omitted lines. Otherwise a program without a token could rotate away the rest of the log."""

# These libraries log arguments and results, which our own lines never contain.
TALKATIVE = ("fastmcp", "mcp", "httpx", "httpcore", "sentence_transformers", "transformers", "watchfiles")


def open_log(file: Path, config: DaemonConfig) -> logging.Logger:
    """Send our log, and the web server's warnings, to `file`."""
    kept = max(0, config.log_files - 1)
    handler = _PrivateFile(file, maxBytes=config.log_bytes, backupCount=kept, encoding="utf-8", delay=True)
    handler.addFilter(_Floods())
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
    """A log file with mode 0600 from its creation, also after a rotation or a removal. A line that can't be written,
    for example on a full disk, is counted and dropped."""

    _lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        self._follow_name()
        lost = self._lost
        super().emit(record)
        if lost and self._lost == lost:
            self._lost = 0
            line = f"{lost} lines before this one could not be written"
            super().emit(logging.makeLogRecord({"name": __name__, "levelname": "WARNING", "msg": line}))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002 -- logging's signature
        """Count the lost line; the original method would print the line's arguments."""
        self._lost += 1

    def _follow_name(self) -> None:
        """Close a file that was removed or replaced; the next line opens the new file."""
        if not self.stream:
            return
        try:
            if os.path.samestat(os.fstat(self.stream.fileno()), os.stat(self.baseFilename)):  # noqa: PTH116 -- a str
                return
        except FileNotFoundError:
            pass
        except OSError:  # the name can't be checked now, but the open file takes lines
            return
        with suppress(OSError):  # closing retries lines that couldn't be written, which are counted already
            self.stream.close()
        self.stream = None  # pyright: ignore[reportAttributeAccessIssue] -- as logging itself does

    def _open(self) -> TextIOWrapper:
        make_private(Path(self.baseFilename).parent)
        os.close(os.open(self.baseFilename, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600))
        return super()._open()


class _Floods(logging.Filter):
    """Passes at most MOST_A_MINUTE lines of each kind, and all debug lines."""

    def __init__(self) -> None:
        super().__init__()
        self._minute = 0.0
        self._seen: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.INFO:
            return True
        if time.monotonic() >= self._minute:
            self._minute = time.monotonic() + 60
            for kind, count in self._seen.items():
                self._left_out[kind] += max(0, count - MOST_A_MINUTE)
            self._seen.clear()
        kind = f"{record.name} {record.msg}"
        self._seen[kind] += 1
        if more := self._left_out.pop(kind, 0):
            record.msg = f"{record.msg} ({more} such lines before this one were left out)"
        return self._seen[kind] <= MOST_A_MINUTE


class _Discreet(logging.Formatter):
    """Shows an exception as its type and the places in the code, because its message may quote a note or a query."""

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None],
    ) -> str:
        kind, _, trace = ei
        places = (f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace))
        return "\n".join([f"  {kind.__name__ if kind else 'no exception'} at", *(f"    {place}" for place in places)])
