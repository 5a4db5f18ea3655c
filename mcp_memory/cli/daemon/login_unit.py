"""The systemd user unit that starts the daemon at login."""

import os
import shlex
import shutil
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

from mcp_memory.cli.clients.snippets import command_path, vault_option
from mcp_memory.cli.options import CommandContext
from mcp_memory.daemon import launch
from mcp_memory.errors import DeadlineExceeded, McpMemoryError, Refused
from mcp_memory.integrations import config_files, text_file
from mcp_memory.integrations.commands import FOREIGN
from mcp_memory.integrations.config_plan import ConfigChange, ConfigTarget, diff
from mcp_memory.runtime.paths import PREFIX, absolute
from mcp_memory.settings.settings import Settings

SYSTEMCTL_S = 60.0

_UNIT = """[Unit]
Description=mcp-memory: long-term memory for agents

[Service]
ExecStart={command}
UnsetEnvironment={foreign}
{environment}WorkingDirectory=/
Restart=on-failure
RestartSec=5
# A wrong configuration, or a vault that another process has, does not change by itself.
RestartPreventExitStatus=2 3
TimeoutStopSec=20

[Install]
WantedBy=default.target
"""

NO_SYSTEMD = "no systemd answers for your user here"
WITHOUT = (
    "clients with a headers helper (Claude Code, Codex) start the daemon when they need it; for others run "
    "mcp-memory start at login"
)


def start_at_login(cli: CommandContext) -> None:
    """Write the unit, enable it, and let systemd take over the daemon. Raises Refused without systemd."""
    settings = cli.settings
    file = unit_file(settings)
    old = text_file.read(file)
    # An old unit may hold your edits, so it is kept.
    change = ConfigChange(ConfigTarget(file, ()), old, unit(settings).encode(), keeps_old=old is not None)
    config_files.check(change)
    if not _has_systemd():
        raise Refused(NO_SYSTEMD, hint=f"nothing was changed; {WITHOUT}")
    changes = diff(change, str(file))
    backup = config_files.apply(change, datetime.now().astimezone())
    _systemctl("daemon-reload")
    if not _is_active(file):
        launch.stop(settings)  # a daemon that systemd did not start has the vault's lock
    _systemctl("enable", "--now", file.name)
    lines = [changes.rstrip() or f"{file} is up to date", *_backup_line(backup), f"enabled: {file.name}"]
    lines.append("  → it runs while you are logged in; to run it at other times too: loginctl enable-linger")
    cli.show({"unit": str(file), "done": True, "diff": changes}, lines)


def remove_unit(settings: Settings) -> tuple[dict[str, Any], list[str]]:
    """Stop and disable the unit, and remove it. If you have edited it, a copy with a date is kept beside it. Returns
    what was done as plain JSON values, and as lines."""
    file = unit_file(settings)
    old = text_file.read(file)
    change = ConfigChange(ConfigTarget(file, ()), old, None, keeps_old=old != unit(settings).encode())
    config_files.check(change)
    backup: Path | None = None
    if old is not None:
        if _has_systemd():
            _systemctl("disable", "--now", file.name)
        backup = config_files.apply(change, datetime.now().astimezone())
        if _has_systemd():
            _systemctl("daemon-reload")
    lines = [f"removed: {file}" if old is not None else f"there is no {file}", *_backup_line(backup)]
    return {"unit": str(file), "removed": old is not None, "backup": backup and str(backup)}, lines


def describe_unit(settings: Settings) -> str:
    """Describe the unit in one line; empty without one."""
    file = unit_file(settings)
    if not file.exists():
        return ""
    is_enabled = _has_systemd() and _run("is-enabled", file.name).stdout.strip() == "enabled"
    return f"started by {file.name}" if is_enabled else f"{file.name} is not enabled: mcp-memory start --at-login"


def _backup_line(backup: Path | None) -> list[str]:
    return [f"backup: {backup}"] if backup else []


def unit_file(settings: Settings) -> Path:
    folder = Path(absolute(settings.environ.get("XDG_CONFIG_HOME") or "~/.config")) / "systemd" / "user"
    own = f"-{settings.state.root.name}" if vault_option(settings) else ""
    return folder / f"mcp-memory{own}.service"


def unit(settings: Settings) -> str:
    """Return the unit's text. systemd starts the unit without our environment, so the text names our variables."""
    words = [*shlex.split(command_path()), "serve", "--vault", str(settings.vault_path)]
    if settings.file:
        words += ["--config", str(settings.file.absolute())]
    ours = {name: value for name, value in sorted(settings.environ.items()) if name.startswith(PREFIX)}
    environment = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in ours.items())
    command = " ".join(_quoted(word).replace("$", "$$") for word in words)
    return _UNIT.format(command=command, environment=environment, foreign=" ".join(FOREIGN))


def restarted_by_systemd(settings: Settings) -> bool:
    """Restart the daemon if systemd runs it, and return whether it does. Raises McpMemoryError."""
    file = unit_file(settings)
    if not (file.exists() and _has_systemd() and _is_active(file)):
        return False
    _systemctl("restart", file.name)
    return True


def _quoted(word: str) -> str:
    """Return one word of a unit, where a percent sign begins a specifier. Raises Refused for a word with a line
    break."""
    if "\n" in word or "\r" in word:
        raise Refused("a systemd unit can't hold a path with a line break", hint="rename the folder")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _has_systemd() -> bool:
    return shutil.which("systemctl") is not None and _run("show-environment").returncode == 0


def _is_active(file: Path) -> bool:
    return _run("is-active", file.name).stdout.strip() == "active"


def _systemctl(*arguments: str) -> None:
    done = _run(*arguments)
    if done.returncode:
        reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        command = f"systemctl --user {shlex.join(arguments)}"
        raise McpMemoryError(f"{command}: {reason}", hint="for details: journalctl --user -e")


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["systemctl", "--user", "--no-pager", *arguments],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=SYSTEMCTL_S,
            env={**os.environ, "SYSTEMD_COLORS": "0"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DeadlineExceeded(f"systemctl did not answer within {SYSTEMCTL_S:g} s") from None
