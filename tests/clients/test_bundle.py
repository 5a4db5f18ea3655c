"""The bundle for desktop apps, as the format's own program sees it."""

from __future__ import annotations

from pathlib import Path

from tests.clients.machine import CHECKOUT, Machine
from tests.clients.programs import Programs, run

FOLDER = CHECKOUT / "configs/mcpb"


def test_it_is_valid_and_packs(programs: Programs, tmp_path: Path) -> None:
    machine = Machine.make(tmp_path / "home", programs)
    packed, unpacked = tmp_path / "made.mcpb", tmp_path / "unpacked"
    for step in (("validate", FOLDER / "manifest.json"), ("pack", FOLDER, packed), ("unpack", packed, unpacked)):
        run("mcpb", *map(str, step), environ=machine.environ(), cwd=tmp_path).succeeded()
    assert {file.name: file.read_bytes() for file in unpacked.iterdir()} == {
        file.name: file.read_bytes() for file in FOLDER.iterdir()
    }
