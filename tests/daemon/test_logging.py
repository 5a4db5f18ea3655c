"""The daemon's log, whatever happens to its file."""

from __future__ import annotations

import logging
import shutil
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_memory.daemon.logging import MOST_A_MINUTE, open_log
from mcp_memory.settings.settings import DaemonConfig
from tests.daemon.place import Place
from tests.support.constants import with_constants


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log" / "daemon.log"


@pytest.fixture
def log(file: Path) -> Iterator[logging.Logger]:
    yield open_log(file, DaemonConfig())
    for name in ("mcp_memory", "uvicorn"):
        logger = logging.getLogger(name)
        for handler in logger.handlers[:]:
            logger.removeHandler(handler)
            handler.close()
        logger.propagate = True


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_costs_lines_and_says_how_many(file: Path, log: logging.Logger, capfd: pytest.CaptureFixture[str]):
    file.parent.mkdir()
    file.symlink_to("/dev/full")
    for number in range(3):
        log.info("lost %s", number)
    file.unlink()
    log.info("there is room")
    said = file.read_text().splitlines()
    assert len(said) == 2
    assert said[0].endswith("there is room")
    assert "3 lines before this one could not be written" in said[1]
    assert capfd.readouterr().err == "", "no traceback with a line's arguments"


def test_a_removed_log_is_made_again_and_stays_private(file: Path, log: logging.Logger):
    log.info("before")
    shutil.rmtree(file.parent)
    log.info("after")
    assert file.read_text().endswith("after\n")
    assert "before" not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_log_whose_folder_cannot_be_looked_at_stops_nobody(file: Path, log: logging.Logger):
    log.info("before")
    file.parent.rename(away := file.parent.with_name("away"))
    file.parent.write_text("a file, so that looking below it is refused")
    log.info("meanwhile")
    file.parent.unlink()
    away.rename(file.parent)
    log.info("after")
    assert [line.rpartition(" ")[2] for line in file.read_text().splitlines()] == ["before", "meanwhile", "after"]


def test_who_speaks_no_http_cannot_rotate_the_log_away(place: Place):
    with place.serving(**with_constants(daemon_log_bytes=20_000, daemon_log_files=2)) as served:
        for _ in range(200):
            with socket.create_connection((served.address.host, served.address.port), timeout=30) as connection:
                connection.sendall(b"no http\r\n\r\n")
                assert connection.recv(1000).startswith(b"HTTP/1.1 400 ")
        assert served.journal.count("Invalid HTTP") <= 3 * MOST_A_MINUTE, "for each minute that it has taken"
        assert "listening" in served.journal


def test_lines_that_were_left_out_are_counted(file: Path, log: logging.Logger, monkeypatch: pytest.MonkeyPatch):
    for number in range(MOST_A_MINUTE + 5):
        log.warning("again %d", number)
    log.warning("another")
    a_minute_later = time.monotonic() + 61
    monkeypatch.setattr(time, "monotonic", lambda: a_minute_later)
    for number in range(2):
        log.warning("again %d", number)
    *before, another, first, second = file.read_text().splitlines()
    assert len(before) == MOST_A_MINUTE
    assert another.endswith("another")
    assert first.endswith("again 0 (5 such lines before this one were left out)")
    assert second.endswith("again 1")
