"""Runs under the shim: every fault at every call of one change to a vault or to a client's settings, each in a forked
child. What was refused must not be done, and what was answered must be, there and after the next start.

Usage: vault_driver.py SCENARIO FOLDER STRIDE. At each call one in STRIDE actions is tried, in turn. Prints JSON, one
object a line: each case that broke the promise, and then a summary.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcp_memory.core.core import EngineConfig
from mcp_memory.core.opening import make_state_private, open_vault
from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations import config_files, text_file
from mcp_memory.integrations.config_plan import ConfigChange, ConfigTarget
from mcp_memory.models import NoteId, NotePath
from mcp_memory.text.markdown import sections
from mcp_memory.vault.config import NoteKinds
from mcp_memory.vault.draft import Draft
from mcp_memory.vault.marker import open_marker, write_readme
from mcp_memory.vault.note_file import MEMORY, entries_of
from mcp_memory.vault.vault import Vault
from tests.faults.driver import FAIL, SHORT, shim

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
KINDS = NoteKinds({})
ACTIONS = [
    ("short", SHORT, 0),
    *((name, FAIL, getattr(errno, name)) for name in ("ENOSPC", "EIO", "EROFS", "EDQUOT", "EMFILE")),
]
NOTE, LOG = NotePath("notes/fact/kettle.md"), NotePath("memory/2026-11-21.md")
GREEN_TEA = sections.entries("Green tea")[0].hash
SPENT = "settings.json.mcp-memory-20261120-120000.bak"


@dataclass(frozen=True)
class Scenario:
    act: Callable[[Any], object]
    make: Callable[[Vault], object] = lambda _: None
    """What is there before, besides a note and a log of two entries."""
    settings: bool = False
    """Acts on the folder of a client's settings."""


def superseding(vault: Vault) -> object:
    draft = Draft("The kettle boils at ninety-five", KINDS.get("fact"), id=NoteId("01M83FW3J7PGSASWXWME01H6CS"))
    return vault.append(draft, supersedes=NOTE)


def first_entry(vault: Vault, path: NotePath = LOG) -> str:
    return entries_of(path, vault.read(path).text)[0].hash


def remember(vault: Vault, content: str = "Green tea", **more: str) -> object:
    return vault.append(Draft(content, KINDS.get("note"), path=MEMORY, section="Tea", **more))


def replace_entry(vault: Vault) -> object:
    return remember(vault, "Black tea", replaces=first_entry(vault, MEMORY))


def settings_change(folder: Path) -> ConfigChange:
    old = text_file.read(folder / "settings.json")
    return ConfigChange(ConfigTarget(folder / "settings.json", ()), old, b'{"ours": 1}\n', keeps_old=True)


def apply(folder: Path) -> object:
    return config_files.apply(settings_change(folder), NOON)


def apply_locked(folder: Path) -> object:
    change = settings_change(folder)
    target = ConfigTarget(change.file, (), lock=folder / "settings.json.lock")
    return config_files.apply(ConfigChange(target, change.old, change.new, keeps_old=True), NOON)


def take_out(folder: Path) -> object:
    change = ConfigChange(
        ConfigTarget(folder / "settings.json", ()), b'{"theirs": 1}\n', b"{}\n", spent=(folder / SPENT,)
    )
    return config_files.apply(change, NOON)


def create(folder: Path) -> object:
    return config_files.apply(ConfigChange(ConfigTarget(folder / "new" / "mcp.json", ()), None, b"{}\n"), NOON)


def remove(folder: Path) -> object:
    return config_files.apply(ConfigChange(ConfigTarget(folder / "settings.json", ()), b'{"theirs": 1}\n', None), NOON)


SCENARIOS = {
    "append": Scenario(lambda vault: vault.append(Draft("Tea at six", KINDS.get("fact"), id=NoteId("01M83FW3J7")))),
    "append-superseding": Scenario(superseding),
    "append-entry": Scenario(lambda vault: vault.append(Draft("A cup broke", KINDS.get("log")))),
    "forget": Scenario(lambda vault: vault.forget(NOTE)),
    "forget-entry": Scenario(lambda vault: vault.forget(LOG, first_entry(vault))),
    "restore": Scenario(lambda vault: vault.restore(NOTE), lambda vault: vault.forget(NOTE)),
    "restore-entry": Scenario(
        lambda vault: vault.restore(LOG, first_entry(vault)), lambda vault: vault.forget(LOG, first_entry(vault))
    ),
    "edit": Scenario(lambda vault: vault.editing.edit(NOTE, None, "The kettle is new", None)),
    "edit-entry": Scenario(lambda vault: vault.editing.edit(LOG, first_entry(vault), "Sold tea", None)),
    "archive": Scenario(lambda vault: vault.archive(NOTE)),
    "unarchive": Scenario(lambda vault: vault.restore(NOTE), lambda vault: vault.archive(NOTE)),
    "remember": Scenario(remember),
    "replace-entry": Scenario(replace_entry, remember),
    "take-out-entry": Scenario(lambda vault: vault.forget(MEMORY, first_entry(vault, MEMORY)), remember),
    "put-back-entry": Scenario(
        lambda vault: vault.restore(MEMORY, GREEN_TEA), lambda vault: (remember(vault), replace_entry(vault))
    ),
    "settings": Scenario(apply, settings=True),
    "settings-locked": Scenario(apply_locked, settings=True),
    "settings-take-out": Scenario(take_out, settings=True),
    "settings-create": Scenario(create, settings=True),
    "settings-remove": Scenario(remove, settings=True),
}


def main(name: str, folder: Path, stride: int) -> None:
    scenario, template = SCENARIOS[name], folder.with_name("template")
    made(scenario, template)
    before = facts(scenario, subject(scenario, prepared(template, folder)))
    calls, after = unharmed(scenario, template, folder)
    assert before != after, "the change shows"
    cases = broken = refused = 0
    for number in range(1, calls + 1):
        for action in ACTIONS[number % stride :: stride]:
            cases += 1
            answered, hit, at_once = run(scenario, prepared(template, folder), number, action)
            refused += not answered
            expected, later = after if answered else before, facts(scenario, subject(scenario, folder))
            if at_once != digest(expected) or later != expected:
                broken += 1
                said = {"call": number, "hit": hit, "action": action[0], "answered": answered}
                differing = sorted(
                    path for path in later.keys() | expected.keys() if later.get(path) != expected.get(path)
                )
                print(json.dumps({**said, "at once": at_once == digest(expected), "later": differing}))
    print(json.dumps({"calls": calls, "cases": cases, "refused": refused, "broken": broken}))


def made(scenario: Scenario, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if scenario.settings:
        (folder / "home").mkdir(parents=True)
        (folder / "home" / "settings.json").write_bytes(b'{"theirs": 1}\n')
        (folder / "home" / SPENT).write_bytes(b"{}\n")
        return
    vault = opened(folder)
    vault.append(Draft("The kettle boils at ninety degrees", KINDS.get("fact"), title="Kettle", id=NoteId("01M83FW")))
    for text in ("Bought tea", "Bought milk"):
        vault.append(Draft(text, KINDS.get("log")))
    scenario.make(vault)
    vault.backend.settle()


def prepared(template: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)
    return folder


def opened(folder: Path) -> Vault:
    config = EngineConfig(folder / "vault", folder / "state", folder / "models")
    make_state_private(config.state)
    marker = open_marker(config.root, config.state / "vault.toml")
    vault = open_vault(config, marker, lambda: NOON, UTC)
    if marker.made:
        write_readme(config.root, marker.home)
    return vault


def subject(scenario: Scenario, folder: Path) -> Any:
    """What the scenario acts on, as after a start."""
    return folder / "home" if scenario.settings else opened(folder)


def facts(scenario: Scenario, at: Any) -> dict[str, Any]:
    """All that a person or an agent can see of it."""
    if scenario.settings:
        # Every client tells a hidden draft, a lock or a backup too many, which could not be removed, from its settings.
        seen = [place for place in at.rglob("[!.]*") if place.is_file() and place.name != SPENT]
        return {str(place): place.read_bytes() for place in seen}
    seen: dict[str, Any] = {}
    for path in at.list().files:
        file = at.read(path)
        # What the undo folder says of an entry beside its log's own list shows in the record alone.
        seen[path] = (file.record.state, sorted(file.forgotten_entries), (at.roots()[""] / path).read_bytes())
    return seen


def digest(seen: dict[str, Any]) -> str:
    return repr(sorted(seen.items()))


def unharmed(scenario: Scenario, template: Path, folder: Path) -> tuple[int, dict[str, Any]]:
    at = subject(scenario, prepared(template, folder))
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        shim.shim_arm(os.fsencode(folder), 0, 0, 0)
        scenario.act(at)
        os.write(writer, str(shim.shim_count()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    calls = int(os.read(reader, 20))
    os.close(reader)
    os.close(writer)
    return calls, facts(scenario, subject(scenario, folder))


def run(scenario: Scenario, folder: Path, number: int, action: tuple[str, int, int]) -> tuple[bool, str, str]:
    """Whether the change was answered, the call that was hit, and what was seen at once."""
    at = subject(scenario, folder)
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reader)
        shim.shim_arm(os.fsencode(folder), number, *action[1:])
        try:
            scenario.act(at)
            answered = True
        except McpMemoryError:
            answered = False
        hit = shim.shim_name().decode()
        shim.shim_arm(b"", 0, 0, 0)
        with os.fdopen(writer, "w") as out:
            json.dump([answered, hit, digest(facts(scenario, at))], out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        told = said.read()
    os.waitpid(child, 0)
    return tuple(json.loads(told)) if told else (False, "", "an error of no kind of ours")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve(), int(sys.argv[3]))
