"""Compares the recorded settings that a running daemon was started with to the current settings."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mcp_memory.daemon.instance import holder
from mcp_memory.runtime.private_files import replace_file
from mcp_memory.settings.settings import DaemonConfig, Settings, as_tree
from mcp_memory.settings.state import StateFolder

RESTART = "mcp-memory restart"

_OF_ITS_START = {"daemon.host": DaemonConfig().host, "daemon.port": 0, "daemon.uds": ""}
"""The settings that options of `serve` may set; also, a port is kept. They have changed only if they are configured
now."""

_NOT_THE_DAEMONS = ("vault.path", "hooks.")
"""The settings that the daemon doesn't use: the path leads to this state folder, and each hook reads its own
section."""


_MAY_HOLD_KEYS = (".endpoint", ".command")
"""The ends of settings whose values aren't shown: an address may contain a password, and a command a key."""

_NOT_SHOWN = "(not shown)"


class Changed(NamedTuple):
    """A changed setting. `key` is dotted; `in_force` is the daemon's value, `configured` the value after a restart."""

    key: str
    in_force: Any
    configured: Any


def record_settings(settings: Settings) -> None:
    """Record the settings of this process. Raises OSError."""
    kept = {"pid": os.getpid(), "vault": str(settings.vault_path), "settings": as_tree(settings)}
    replace_file(settings.state.in_force, json.dumps(kept).encode())


def find_changes(settings: Settings) -> list[Changed]:
    """Return the differences between the running daemon's settings and these; nothing if no daemon runs."""
    try:
        kept: dict[str, Any] = json.loads(settings.state.in_force.read_bytes())
        before, now = _flat(kept["settings"]), _flat(json.loads(json.dumps(as_tree(settings))))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # recorded by another version
        return []
    if kept.get("pid") != holder(settings.state):
        return []
    keys = [key for key in {**before, **now} if not key.startswith(_NOT_THE_DAEMONS)]
    found = [Changed(key, before.get(key), now.get(key)) for key in keys if before.get(key) != now.get(key)]
    found = [change for change in found if change.configured != _OF_ITS_START.get(change.key, ...)]
    return [
        Changed(change.key, _NOT_SHOWN, _NOT_SHOWN) if change.key.endswith(_MAY_HOLD_KEYS) else change
        for change in found
    ]


def vault_of(state: StateFolder) -> Path | None:
    """Return the folder of the vault that was last served with this state; None if unknown."""
    try:
        return Path(json.loads(state.in_force.read_bytes())["vault"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def describe_changes(changes: list[Changed]) -> str:
    return ", ".join(
        change.key
        if change.configured == _NOT_SHOWN
        else f"{change.key} = {change.configured!r} (still {change.in_force!r})"
        for change in changes
    )


def _flat(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{section}.{key}": value for section, table in tree.items() for key, value in table.items()}
