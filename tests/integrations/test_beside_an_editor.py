"""install and uninstall beside a program that saves the same file all the time: none of its saves is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_memory.errors import PreconditionFailed
from mcp_memory.integrations import config_files, text_file
from mcp_memory.integrations.config_plan import ConfigChange, ConfigTarget
from tests.integrations.machine import NOON

EDITOR = """
import json, os, sys, time
file = sys.argv[1]
print("ready", flush=True)
n = 0

def said():
    with open(file) as opened:
        return json.load(opened)

while not os.path.exists(file + ".stop"):
    # What stands there must tell of its last save; for an instant, until the name is given back, it may not.
    patience = time.monotonic() + 5
    while said()["n"] != n and time.monotonic() < patience:
        pass
    if said()["n"] != n:
        print("lost", n, flush=True)
    n += 1
    with open(file + ".new", "w") as out:
        out.write(json.dumps({"n": n}))
    os.replace(file + ".new", file)
    for _ in range(int(sys.argv[2])):
        pass
print("saved", n, flush=True)
"""


@pytest.mark.parametrize("pause", [20_000, 100_000])
def test_no_save_of_a_program_that_saves_all_the_time_is_lost(tmp_path: Path, pause: int) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"n": 0}')
    command = [sys.executable, "-c", EDITOR, str(file), str(pause)]
    editor = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert editor.stdout
    assert editor.stdout.readline() == "ready\n"
    written = refused = 0
    for number in range(400):
        old = text_file.read(file)
        assert old is not None
        new = json.dumps({**json.loads(old), "ours": number}).encode()
        try:
            config_files.apply(ConfigChange(ConfigTarget(file, ()), old, new), NOON)
            written += 1
        except PreconditionFailed:
            refused += 1
    (tmp_path / "settings.json.stop").touch()
    *lost, saved = editor.communicate(timeout=60)[0].splitlines()
    assert lost == []
    assert json.loads(file.read_bytes())["n"] == int(saved.split()[1])
    assert refused
    assert written
    assert {place.name for place in tmp_path.iterdir()} == {file.name, "settings.json.stop"}
