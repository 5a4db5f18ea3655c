"""Moves the state of a vault that was moved. Address, tokens, index and the rest belong to the vault's id, not its
path."""

import signal
import time
import tomllib
from contextlib import suppress
from pathlib import Path

from mcp_memory.daemon import settings_in_force
from mcp_memory.daemon.instance import HeldLock, end_holder, holder, only_instance
from mcp_memory.errors import DeadlineExceeded
from mcp_memory.settings.settings import Settings
from mcp_memory.settings.state import MARKER, StateFolder

TURN_S = 30.0
"""How long to wait for another process that moves the same state."""

END_S = 15.0
"""How long the daemon of the old folder may take to end before it is killed."""


def follow(settings: Settings) -> None:
    """Take over the state of this vault's former folder, if it was served from there. Raises HeldLock and OSError."""
    state, until = settings.state, time.monotonic() + TURN_S
    while not state.port.exists() and (old := _predecessor(settings)):
        pid = holder(old)
        if pid and old.daemon.exists():
            try:
                end_holder(old, pid, within_s=END_S)
            except DeadlineExceeded:
                end_holder(old, pid, signal.SIGKILL)
        try:
            with only_instance(old):
                if not state.port.exists():
                    state.make()
                    _move(old.root, state.root)
        except HeldLock:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def _predecessor(settings: Settings) -> StateFolder | None:
    own = _id_in(settings.vault_path / MARKER)
    if own is None:
        return None
    for port in sorted(settings.state.root.parent.glob("*/port")):
        old = StateFolder(port.parent, settings.state.models)
        was_at = settings_in_force.vault_of(old)
        if was_at and _id_in(old.root / "vault.toml") == own and _id_in(was_at / MARKER) != own:
            return old
    return None


def _id_in(marker: Path) -> str | None:
    try:
        return str(tomllib.loads(marker.read_text(encoding="utf-8"))["id"])
    except (OSError, ValueError, KeyError):
        return None


def _move(old: Path, new: Path) -> None:
    """Move the state. Files that the new folder has already stay, except the tokens, which clients use. The port comes
    last, because it marks the move as done."""
    names = sorted((file.name for file in old.iterdir()), key=lambda name: (name == "port", name))
    for name in names:
        if name.endswith(".lock"):
            continue
        target = new / name
        if name == "tokens.json" or not target.exists() or (target.is_dir() and not any(target.iterdir())):
            with suppress(FileNotFoundError):
                (old / name).replace(target)
