"""Open the database file with one writing and a few reading connections, and replace it where it is damaged.

All content is derived, so a damaged file is moved aside and a new one takes its place. The move waits until no
connection is open: SQLite removes a write-ahead log by name when the last connection closes, and would remove the new
log.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from mcp_memory.errors import IndexReplaced, IndexUnavailable
from mcp_memory.index.sqlite.damage import DamagedRow, is_damage, unavailable
from mcp_memory.index.sqlite.schema import APPLICATION_ID, SHARED, VERSION
from mcp_memory.index.sqlite.soundness import require_sound, require_sound_throughout
from mcp_memory.models import Problem

_KEPT_DAMAGED = 2
_IDLE_READERS = 8
BUSY_S = 5.0
_DRAIN_S = 30.0
_CACHE_KIB, _READER_CACHE_KIB = 2_000, 500
_JOURNAL_BYTES = 16 << 20
"""The write-ahead log is truncated to this size after a checkpoint; a bulk build may exceed it for a while."""


class Database:
    """The database. `read` and `write` yield a connection inside a transaction.

    All methods raise IndexUnavailable. `on_reset` is called, under the writer's lock, whenever a new file has replaced
    another."""

    def __init__(self, path: Path, on_reset: Callable[[], None]) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self._on_reset = on_reset
        self._writing = threading.RLock()
        self._gate = threading.Condition()
        self._idle: list[sqlite3.Connection] = []
        self._in_use = 0
        self._resetting = False
        self._closed = False
        self._epoch = 0
        self._token = 0
        self._inode = 0
        self._is_cut = False
        self._writer: sqlite3.Connection | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._writer = self._open_or_replace()
        except (sqlite3.Error, OSError) as error:
            raise unavailable(error) from error

    @contextmanager
    def read(self) -> Generator[sqlite3.Connection]:
        """Open a snapshot of the last committed state; never waits for a writer."""
        epoch, connection = self._take()
        healthy = False
        try:
            try:
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
                healthy = True
            finally:
                self._give_back(connection, reuse=healthy)
        except (sqlite3.Error, DamagedRow) as error:
            raise self._failure(error, epoch) from error

    @contextmanager
    def write(self) -> Generator[sqlite3.Connection]:
        """Commit all changes together, or none."""
        with self._exclusive() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def check(self) -> None:
        """Read every page; a damaged file is replaced, and IndexReplaced raised. Ends early when this is closed."""
        with self.read() as connection:
            require_sound_throughout(connection, lambda: self._closed)

    def vacuum(self) -> None:
        """Rewrite the file without its free pages; call `cut_log` afterwards."""
        with self._exclusive() as connection:
            self._is_cut = False
            connection.execute("VACUUM")

    def cut_log(self, *, busy_s: float = 0.0) -> bool:
        """Truncate the log, so that neither it nor the file has the pages that a `vacuum` dropped, or that were there
        at the start. Return False if a reader still uses the old state after `busy_s`."""
        with self._writing:
            if self._is_cut and not self._closed:
                return True
            with self._exclusive() as connection:
                connection.execute(f"PRAGMA busy_timeout = {int(busy_s * 1000)}")
                try:
                    ((is_busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                finally:
                    connection.execute(f"PRAGMA busy_timeout = {int(BUSY_S * 1000)}")
            self._is_cut = not is_busy
            return self._is_cut

    @contextmanager
    def _exclusive(self) -> Generator[sqlite3.Connection]:
        """Open the writing connection, outside a transaction; an error rolls back."""
        with self._writing:
            self._require_open()
            self._replace_if_vanished()
            epoch = self._epoch
            try:
                if self._writer is None:
                    self._writer = self._connect()
                yield self._writer
            except BaseException as error:
                self._roll_back()
                if isinstance(error, (sqlite3.Error, DamagedRow)):
                    raise self._failure(error, epoch) from error
                raise

    def next_token(self, connection: sqlite3.Connection) -> int:
        """Increment the token; call it inside `write`. A new file continues the damaged one's count."""
        (self._token,) = connection.execute("UPDATE state SET token = token + 1 RETURNING token").fetchone()
        return self._token

    def close(self) -> None:
        with self._writing, self._gate:
            self._closed = True
            self._gate.wait_for(lambda: self._in_use == 0, timeout=_DRAIN_S)
            self.close_connections()

    # -- connections -------------------------------------------------------------------------------------------
    def _take(self) -> tuple[int, sqlite3.Connection]:
        self._replace_if_vanished()
        with self._gate:
            self._gate.wait_for(lambda: not self._resetting, timeout=_DRAIN_S)
            self._require_open()
            self._in_use += 1
            epoch, connection = self._epoch, self._idle.pop() if self._idle else None
        if connection is not None:
            return epoch, connection
        try:
            return epoch, self._connect(cache_kib=_READER_CACHE_KIB)
        except sqlite3.Error as error:
            self._give_back(None, reuse=False)
            raise self._failure(error, epoch) from error

    def _give_back(self, connection: sqlite3.Connection | None, *, reuse: bool) -> None:
        with self._gate:
            if connection is not None and reuse and len(self._idle) < _IDLE_READERS and not self._closed:
                self._idle.append(connection)
            elif connection is not None:
                connection.close()
            self._in_use -= 1
            self._gate.notify_all()

    def _connect(self, *, create: bool = False, cache_kib: int = _CACHE_KIB) -> sqlite3.Connection:
        """Open a connection. Without `create` a missing file is an error, since SQLite would silently make an empty
        one."""
        uri = f"{self.path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        connection = sqlite3.connect(uri, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            connection.execute(f"PRAGMA cache_size = -{cache_kib}")
            # After a power cut the latest commits may be missing; they are indexed again from the files.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA journal_size_limit = {_JOURNAL_BYTES}")
            connection.execute("PRAGMA secure_delete = FAST")
            connection.execute("PRAGMA temp_store = MEMORY")  # keeps notes' words out of /tmp
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _roll_back(self) -> None:
        if self._writer is None:
            return
        try:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
        except sqlite3.Error:
            self._writer.close()  # rolls back as well
            self._writer = None

    def close_connections(self) -> None:
        for connection in [*self._idle, *([self._writer] if self._writer else [])]:
            connection.close()
        self._idle.clear()
        self._writer = None

    def _require_open(self) -> None:
        if self._closed:
            raise IndexUnavailable("the index is closed")

    # -- failures ----------------------------------------------------------------------------------------------
    def _failure(self, error: Exception, epoch: int) -> IndexUnavailable:
        if not is_damage(error):
            return unavailable(error)
        self._replace(f"damaged: {error}", epoch)
        return IndexReplaced("the index was damaged and is being built anew", hint="nothing is lost; ask again soon")

    def _replace_if_vanished(self) -> None:
        epoch = self._epoch
        try:
            same = self.path.stat().st_ino == self._inode
        except OSError:
            same = False
        if not same and not self._closed:
            self._replace("its file vanished or was exchanged while in use", epoch)

    def _replace(self, reason: str, epoch: int) -> None:
        """Make a new file unless another thread did so since `epoch`."""
        with self._writing:
            with self._gate:
                if self._closed or self._epoch != epoch:
                    return
                self._resetting = True
                self._gate.wait_for(lambda: self._in_use == 0, timeout=_DRAIN_S)
            try:
                self.close_connections()
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._move_aside(reason)
                self._writer = self._create()
                self._on_reset()
            except (sqlite3.Error, OSError) as error:
                raise unavailable(error) from error
            finally:
                with self._gate:
                    self._epoch += 1
                    self._resetting = False
                    self._gate.notify_all()

    def _open_or_replace(self) -> sqlite3.Connection:
        if not self.path.exists() or self.path.stat().st_size == 0:
            return self._create()
        with ExitStack() as opened:
            try:
                connection = self._connect()
                opened.callback(connection.close)
                (owner,) = connection.execute("PRAGMA application_id").fetchone()
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                reason = "" if owner == APPLICATION_ID else "another program's file stood in its place"
                if not reason and version == VERSION:
                    (self._token,) = connection.execute("SELECT token FROM state").fetchone()
                    connection.execute("SELECT * FROM sqlite_sequence").fetchall()
                    require_sound(connection)
                    self._inode = self.path.stat().st_ino
                    opened.pop_all()
                    return connection
            except (sqlite3.DatabaseError, TypeError, DamagedRow) as error:  # TypeError: a table without its row
                if isinstance(error, sqlite3.Error) and not is_damage(error):
                    raise
                reason = f"damaged: {error}"
        if reason:
            self._move_aside(reason)
        return self._create()

    def _create(self) -> sqlite3.Connection:
        """Make an empty file. An old log must not be replayed into it."""
        _remove(self.path)
        connection = self._connect(create=True)
        self.path.chmod(0o600)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN IMMEDIATE; {SHARED}")
        connection.execute("INSERT INTO state VALUES (?)", (self._token,))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
        self._inode = self.path.stat().st_ino
        return connection

    def _move_aside(self, reason: str) -> None:
        now_ns = time.time_ns()
        stamp = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now_ns // 10**9))}.{now_ns % 10**9:09}"
        aside = self.path.with_name(f"{self.path.name}.corrupt-{stamp}")
        for file, target in zip(_files(self.path), _files(aside), strict=True):
            with suppress(FileNotFoundError):
                file.rename(target)
        self.problems.append(Problem(self.path.name, reason))
        for old in sorted(self.path.parent.glob(f"{self.path.name}.corrupt-*[0-9]"))[:-_KEPT_DAMAGED]:
            _remove(old)


def _files(path: Path) -> list[Path]:
    """Return the database file, its log and the log's index."""
    return [path.with_name(f"{path.name}{suffix}") for suffix in ("", "-wal", "-shm")]


def _remove(path: Path) -> None:
    for file in _files(path):
        file.unlink(missing_ok=True)
