"""A system without the calls that only Linux has, as macOS: everything that a person does works."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_memory.runtime.atomic_rename import sync
from tests.daemon.place import CHECKOUT, Place, end

TAKEN_AWAY = """
import select
del select.epoll  # before asyncio's selectors are imported
import builtins, ctypes, errno, fcntl, io, os, signal, socket, time

FUNCTIONS = {"renameat2", "mallopt", "malloc_trim", "prctl", "inotify_init", "epoll_create"}
ATTRIBUTES = {
    os: '''sched_getaffinity sched_setaffinity sched_setscheduler posix_fadvise posix_fallocate copy_file_range splice
        memfd_create eventfd pidfd_open getrandom fdatasync pipe2 getxattr setxattr listxattr removexattr O_TMPFILE
        O_PATH O_NOATIME O_DIRECT P_PIDFD preadv pwritev unshare setns getresuid setresuid timerfd_create''',
    fcntl: "F_SETPIPE_SZ F_GETPIPE_SZ F_ADD_SEALS F_OFD_SETLK F_OFD_SETLKW F_NOTIFY F_SETLEASE",
    signal: "SIGRTMIN SIGRTMAX sigtimedwait sigwaitinfo pidfd_send_signal",
    socket: "SO_PEERCRED AF_NETLINK AF_PACKET SO_BINDTODEVICE",
    time: "CLOCK_BOOTTIME CLOCK_TAI",
}
for module, names in ATTRIBUTES.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

class Library(ctypes.CDLL):
    def __getattr__(self, name):
        if name in FUNCTIONS:
            raise AttributeError(name)
        return super().__getattr__(name)

def refusing(real):
    def opening(file, *arguments, **options):
        if isinstance(file, (str, os.PathLike)) and os.fspath(file).startswith(("/proc", "/sys/")):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), file)
        return real(file, *arguments, **options)
    return opening

ctypes.CDLL = Library
builtins.open = io.open = refusing(io.open)
os.open = refusing(os.open)
"""
"""What macOS has not; read by Python at its start, in each process."""


@pytest.fixture
def place(tmp_path: Path, model_cache: Path) -> Iterator[Place]:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(TAKEN_AWAY, encoding="utf-8")
    made = Place(tmp_path, model_cache, {"PYTHONPATH": f"{tmp_path / 'site'}{os.pathsep}{CHECKOUT}"}).make()
    yield made
    end(made)


def test_notes_are_stored_changed_found_and_given_without_them(place: Place):
    with place.started():
        first = place.run("append", "--json", "-k", "fact", "The lock of Rya opens at six.").ok().json
        newer = place.run("append", "--json", "-k", "fact", "The lock of Rya opens at five now.",
                          "--supersedes", first["id"]).ok().json  # fmt: skip
        log = place.run("append", "--json", "-k", "log", "Repaired the sluice gate.").ok().json
        place.run("append", "-k", "log", "Painted the sluice gate.").ok()
        assert (place.vault / log["path"]).read_text(encoding="utf-8").count("sluice gate") == 2
        found = place.run("search", "--json", "when does the lock open").ok().json
        assert found["hits"][0]["id"] == newer["id"] and not found.get("degraded")
        place.run("forget", newer["id"]).ok()
        place.run("restore", newer["id"]).ok()
        prompt = b'{"session_id": "one", "cwd": "/x", "prompt": "when does the lock of Rya open?"}'
        assert "opens at five" in place.run("hook", "prompt", "--client", "claude-code", stdin=prompt).ok().out
        problems = place.run("doctor", "--json").json
        assert not [each for each in problems.get("problems", []) if "failed" in str(each)], problems
        place.run("doctor", "--reindex").ok()


@pytest.mark.parametrize("code", [errno.ENOTSUP, errno.EINVAL, errno.ENOTTY])
def test_a_disk_that_has_no_full_sync_is_synced_as_it_can(code: int, monkeypatch: pytest.MonkeyPatch):
    synced = list[int]()

    def refuse(_descriptor: int, _what: int) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", refuse)
    monkeypatch.setattr(os, "fsync", synced.append)
    sync(7)
    assert synced == [7]
    code = errno.EIO
    with pytest.raises(OSError, match="Input/output"):
        sync(7)
