"""Lists the symbols of source files in a child process, so that no file stalls the daemon or fills its memory."""

import hashlib
import logging
from pathlib import PurePosixPath
from time import monotonic

from mcp_memory.errors import DeadlineExceeded
from mcp_memory.grounding.code_symbols import Symbol, has_symbols
from mcp_memory.runtime.limited_child import ChildLimits, LimitedChild, LimitExceeded
from mcp_memory.runtime.lru_cache import LruCache

LIMITS = ChildLimits(memory_bytes=512 << 20, processor_s=5, answer_bytes=8 << 20)
KEPT_FILES, MOST_SKIPPED = 8, 1000

log = logging.getLogger(__name__)


class SymbolReader:
    """Reads symbols for a single thread. `skipped` maps the hash of a file's content to the reason why the file isn't
    read again. `faults` maps the path of each unreadable file to that reason, since the mapping was last cleared.
    `until` (monotonic seconds) is set for each repository."""

    def __init__(self) -> None:
        self.skipped: dict[str, str] = {}
        self.faults: dict[str, str] = {}
        self.until = 0.0
        self._child = LimitedChild("mcp_memory.grounding.code_symbols", LIMITS)
        self._known = LruCache[str, list[Symbol]](KEPT_FILES)

    def list_symbols(self, path: str, data: bytes) -> list[Symbol]:
        """List the symbols of a file. Raises LimitExceeded for a file that cannot be read, DeadlineExceeded after
        `until`."""
        if not has_symbols(path):
            return []
        if monotonic() > self.until:
            raise DeadlineExceeded("reading its files took too long: the rest of its notes are checked in the next run")
        key = hashlib.sha256(f"{PurePosixPath(path).name}\0".encode("utf-8", "replace") + data).hexdigest()
        if (known := self._known.get(key)) is not None:
            return known
        try:
            if why := self.skipped.get(key):
                raise LimitExceeded(why)
            return self._known.store(key, self._asked(path, data))
        except LimitExceeded as error:
            if key not in self.skipped:
                log.warning("grounding: %s is skipped: %s", path, error.message)
                self.skipped[key] = error.message
                self.skipped = dict(list(self.skipped.items())[-MOST_SKIPPED:])
            self.faults[path] = error.message
            raise

    def close(self) -> None:
        """End the child process; the next file starts another."""
        self._child.close()

    def _asked(self, path: str, data: bytes) -> list[Symbol]:
        answer = self._child.ask({"path": PurePosixPath(path).name, "data": data.decode("latin-1")})
        return [
            Symbol(name, first, last, tuple(token.encode("latin-1") for token in tokens))
            for name, first, last, tokens in answer
        ]
