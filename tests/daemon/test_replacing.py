"""Two versions on one machine: the newer one's daemon stays. A version is a copy of the package with another number."""

from __future__ import annotations

import http.client
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcp_memory import __version__
from mcp_memory.client.connection import Address
from mcp_memory.daemon.instance import holder
from tests.daemon.place import CHECKOUT, Place, Running
from tests.daemon.wire import Wire

OLDER, NEWER = "0.0.9", "99.0"
STARTS = 6


@pytest.fixture(scope="session")
def versions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Version → the folder to import it from."""
    return {version: str(copy(tmp_path_factory.mktemp("version"), version)) for version in (OLDER, NEWER)}


def copy(root: Path, version: str) -> Path:
    for name in ("mcp_memory", "configs"):
        shutil.copytree(CHECKOUT / name, root / name)  # with the bytecode, else each process compiles the package
    init = root / "mcp_memory" / "__init__.py"
    text = init.read_text(encoding="utf-8")
    init.write_text(text.replace(f'"{__version__}"', f'"{version}"'), encoding="utf-8")
    return root


def test_a_newer_start_takes_over_when_running_calls_are_answered(place: Place, versions: dict[str, str]):
    older = place.run("start", "--json", PYTHONPATH=versions[OLDER]).ok().json
    assert older["version"] == OLDER
    running = Running(place, Address.read(place.state.daemon))
    receipts: list[dict] = []
    begun = threading.Barrier(5)

    def append(n: int) -> None:
        with Wire(running, client=f"client-{n}") as wire:
            for m in range(10_000):
                try:
                    answer = wire.api("append", {"content": f"note {n} {m}"})
                except (OSError, http.client.HTTPException):
                    return
                assert answer.status == 200
                receipts.append(answer.json)
                if m == 0:
                    begun.wait(60)
                if answer.headers.get("connection") == "close":
                    return

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(append, n) for n in range(4)]
        begun.wait(60)
        with ThreadPoolExecutor(STARTS) as starters:
            said = list(starters.map(lambda _: place.run("start", "--json").ok(), range(STARTS)))
        for writer in writers:
            writer.result(60)
    answers = [each.json for each in said]
    (pid,) = {answer["pid"] for answer in answers}
    assert pid == holder(place.state) != older["pid"]
    assert {answer["version"] for answer in answers} == {__version__}
    assert {answer["url"] for answer in answers} == {older["url"]}, "clients are configured once"
    assert sum(answer["started"] for answer in answers) == 1
    assert any(f"version {OLDER} (pid {older['pid']}) ends" in each.err for each in said)
    assert len(receipts) >= 4
    for receipt in receipts:
        assert (place.vault / receipt["path"]).is_file()
    log = place.state.log.read_text(encoding="utf-8")
    assert log.count("stopped") == 1, "the older one came to its own end, and nobody ended the newer one"


def test_an_older_program_uses_the_newer_daemon_and_says_so(place: Place, versions: dict[str, str]):
    newer = place.run("start", "--json", PYTHONPATH=versions[NEWER]).ok().json
    ours = place.run("start", "--json").ok()
    assert (ours.json["pid"], ours.json["started"], ours.json["version"]) == (newer["pid"], False, NEWER)
    assert f"version {NEWER}" in ours.err
    assert __version__ in ours.err
    assert place.run("headers").ok().json["Authorization"].startswith("Bearer ")
    assert holder(place.state) == newer["pid"]
    beside = place.run("serve")
    assert beside.code == 3, "whoever asks for this version in the foreground does not get it"
    for said in (f"pid {newer['pid']}", f"version {NEWER}", newer["url"], f"version {__version__}"):
        assert said in beside.err


def test_headers_of_a_newer_version_bring_up_its_daemon(place: Place, versions: dict[str, str]):
    older = place.run("start", "--json", PYTHONPATH=versions[OLDER]).ok().json
    headers = place.run("headers", "--client", "codex").ok().json
    address = Address.read(place.state.daemon)
    assert (address.version, address.url) == (__version__, older["url"])
    assert address.pid != older["pid"]
    with Wire(Running(place, address)) as wire:
        assert wire.send("POST", "/api/status", b"{}", token=None, **headers).status == 200
