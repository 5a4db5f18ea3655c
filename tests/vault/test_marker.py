"""The marker: who a vault is, and where its home is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

from mcp_memory.errors import ConfigInvalid, StorageFailed
from mcp_memory.vault.marker import MARKER, Marker, MarkerGuard, open_marker
from tests.support.world import REPOSITORY, made, python

OPEN = "import sys; from pathlib import Path; from mcp_memory.vault.marker import open_marker\n"


def test_home_is_the_root_of_a_new_or_empty_folder(tmp_path: Path) -> None:
    assert open_marker(tmp_path / "a" / "new").home == ""
    (tmp_path / "hidden" / ".git").mkdir(parents=True)
    made = open_marker(tmp_path / "hidden")
    assert (made.home, made.made, made.writable) == ("", True, True)


def test_home_is_agent_in_a_folder_with_somebodys_notes(tmp_path: Path) -> None:
    (tmp_path / "diary.md").write_text("dear diary")
    assert open_marker(tmp_path).home == "Agent"


def test_it_is_read_the_second_time(tmp_path: Path) -> None:
    first = open_marker(tmp_path)
    (tmp_path / "later.md").write_text("written by hand")
    assert open_marker(tmp_path) == Marker(first.id, "", made=False)
    assert [p.name for p in (tmp_path / ".mcp-memory").iterdir()] == ["vault.toml"]


def test_two_processes_make_one(tmp_path: Path) -> None:
    code = OPEN + "input(); print(open_marker(Path(sys.argv[1])).id)"
    for attempt in range(3):
        racers = [python(code, tmp_path / str(attempt), stdin=subprocess.PIPE) for _ in range(4)]
        for racer in racers:
            racer.stdin.write("\n")
            racer.stdin.flush()
        ids = {racer.communicate()[0].strip() for racer in racers}
        kept = tomllib.loads((tmp_path / str(attempt) / MARKER).read_text())["id"]
        assert ids == {kept}


def test_a_draft_that_a_crash_left_behind_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".mcp-memory").mkdir()
    (tmp_path / ".mcp-memory" / f".vault.toml.{os.getpid()}").write_text("half of it")
    assert open_marker(tmp_path).made


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\xff\xfe", b"not toml", b'id = "x"', b'id = "x"\nformat = "soon"\nhome = ""', b'format = 1\nhome = ""',
        b'id = "x"\nformat = 1\nhome = "../outside"', b'id = "x"\nformat = 1\nhome = ".hidden"',
    ],
)  # fmt: skip
def test_a_damaged_one_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / MARKER
    file.parent.mkdir()
    file.write_bytes(content)
    with pytest.raises(ConfigInvalid, match="damaged"):
        open_marker(tmp_path)
    assert file.read_bytes() == content


def test_a_later_format_asks_for_an_upgrade(tmp_path: Path) -> None:
    file = tmp_path / MARKER
    file.parent.mkdir()
    file.write_text('id = "x"\nformat = 2\nhome = ""\n')
    with pytest.raises(ConfigInvalid, match="upgrade"):
        open_marker(tmp_path)


def test_a_root_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed, match="cannot open the vault") as caught:
        open_marker(tmp_path / "file")
    assert "--vault DIR" in (caught.value.hint or "")


@pytest.mark.anyio
async def test_home_decides_where_notes_land(tmp_path: Path) -> None:
    world = made(tmp_path)
    world.write("Journal/monday.md", "mine")
    async with world.engine() as engine:
        receipt = await engine.append("Tea is at four", kind="fact")
        assert receipt.path == "Agent/notes/fact/tea-is-at-four.md"
        assert (await engine.status())["home"] == "Agent"
    assert {path.name for path in world.root.iterdir()} == {".mcp-memory", "Agent", "Journal"}


READ_ONLY = """
import asyncio, json, sys
from pathlib import Path
from mcp_memory.errors import McpMemoryError
from tests.support.world import World, found

async def main():
    world = World(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[2]))
    async with world.engine() as engine:
        try:
            refused = (await engine.append("new words", kind="fact")).path
        except McpMemoryError as error:
            refused = str(error)
        said = [finding.what for finding in await engine.doctor()]
        print(json.dumps([await found(engine, "teapot"), refused, (await engine.status())["read_only"], said]))

asyncio.run(main())
"""
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.fixture
def mortal() -> list[str]:
    """The start of a command that runs Python as somebody whom file modes bind."""
    command = [sys.executable] if os.geteuid() else [*NOBODY, sys.executable]
    if shutil.which(command[0]) is None:
        pytest.skip("root ignores file modes, and setpriv is not there")
    if subprocess.run([*command, "-c", "import tests.support.world"], cwd=REPOSITORY, capture_output=True).returncode:
        pytest.skip("another user cannot read this installation")
    return command


@pytest.mark.parametrize("marked", [False, True])
def test_a_vault_that_cannot_be_written_is_searched_and_says_so(mortal: list[str], marked: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        world = made(Path(folder))
        world.write("tea.md", "a violet teapot")
        world.state.mkdir()
        if marked:
            open_marker(world.root)
        for place, mode in ((Path(folder), 0o755), (world.root, 0o555)):
            place.chmod(mode)
        if os.geteuid() == 0:
            os.chown(world.state, 65534, 65534)
        outcome = subprocess.run(
            [*mortal, "-c", READ_ONLY, world.root, world.state], cwd=REPOSITORY, capture_output=True, text=True
        )
        assert outcome.returncode == 0, outcome.stderr
        hits, refused, read_only, said = json.loads(outcome.stdout)
    assert hits == ["tea.md"]
    assert "read-only" in refused or "ermission denied" in refused
    assert read_only
    assert any("cannot be written" in line for line in said)


def test_the_first_write_marks_a_vault_that_was_read_only_and_from_then_on_the_marker_is_missed(
    tmp_path: Path,
) -> None:
    root, copy, marked = tmp_path / "vault", tmp_path / "state" / "vault.toml", list[bool]()
    root.mkdir()
    copy.parent.mkdir()
    guard = MarkerGuard(
        root, Marker("id", "", writable=False, present=False), copy, on_marked=lambda: marked.append(True)
    )
    assert not marked and not guard.vanished
    guard.must_be_there()
    guard.must_be_there()
    assert marked == [True] and (root / MARKER).is_file() and copy.is_file()
    (root / MARKER).unlink()
    assert guard.vanished
    with pytest.raises(StorageFailed, match="the vault is not there"):
        guard.must_be_there()
    assert not (root / MARKER).exists()
