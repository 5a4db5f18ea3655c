"""The settings that a running daemon goes by, as it wrote them down at its start, beside those that count now."""

from __future__ import annotations

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
"""Options of `serve` may say these, and a port is kept: they count as changed only where they are set now."""

_NOT_THE_DAEMONS = ("vault.path", "hooks.")
"""The path led to this state folder, and each hook reads its section anew."""


class Changed(NamedTuple):
    """`key` is dotted; `in_force` is what the daemon goes by, `configured` what it would go by after a restart."""

    key: str
    in_force: Any
    configured: Any


def record_settings(settings: Settings) -> None:
    """Write down that this process goes by them. Raises OSError."""
    kept = {"pid": os.getpid(), "vault": str(settings.vault_path), "settings": as_tree(settings)}
    replace_file(settings.state.in_force, json.dumps(kept).encode())


def find_changes(settings: Settings) -> list[Changed]:
    """What of these settings the running daemon does not go by; nothing where none runs."""
    try:
        kept: dict[str, Any] = json.loads(settings.state.in_force.read_bytes())
        before, now = _flat(kept["settings"]), _flat(json.loads(json.dumps(as_tree(settings))))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # of another version
        return []
    if kept.get("pid") != holder(settings.state):
        return []
    keys = [key for key in {**before, **now} if not key.startswith(_NOT_THE_DAEMONS)]
    found = [Changed(key, before.get(key), now.get(key)) for key in keys if before.get(key) != now.get(key)]
    return [each for each in found if each.configured != _OF_ITS_START.get(each.key, ...)]


def vault_of(state: StateFolder) -> Path | None:
    """The folder of the vault that was served last with this state; None where nobody wrote it down."""
    try:
        return Path(json.loads(state.in_force.read_bytes())["vault"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def describe_changes(changes: list[Changed]) -> str:
    """The names, for a line."""
    return ", ".join(f"{each.key} = {each.configured!r} (still {each.in_force!r})" for each in changes)


def _flat(tree: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{section}.{key}": value for section, table in tree.items() for key, value in table.items()}
