"""service: the daemon as a systemd unit of this user, so that it is up from login on."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import click

from mcp_memory.cli.clients.snippets import command_path, vault_option
from mcp_memory.cli.console import emit, say
from mcp_memory.cli.options import CommonOptions, command_options, located
from mcp_memory.daemon import launch
from mcp_memory.errors import DeadlineExceeded, McpMemoryError, Refused
from mcp_memory.integrations import config_files
from mcp_memory.integrations.config_plan import ConfigChange, ConfigTarget, diff
from mcp_memory.runtime.paths import PREFIX, absolute
from mcp_memory.settings.settings import Settings

SYSTEMCTL_S = 60.0

_UNIT = """[Unit]
Description=mcp-memory: long-term memory for agents

[Service]
ExecStart={command}
{environment}WorkingDirectory=/
Restart=on-failure
RestartSec=5
# A wrong configuration, or a vault that another process has, does not change by itself.
RestartPreventExitStatus=2 3
TimeoutStopSec=20

[Install]
WantedBy=default.target
"""


@click.group()
@located
def service() -> None:
    """Have the daemon started at login, by systemd.

    \b
    mcp-memory service install
    mcp-memory service status
    """


@service.command("install")
@click.option("--dry-run", is_flag=True, help="Only show the unit.")
@command_options
def install(common: CommonOptions, dry_run: bool, as_json: bool) -> None:
    """Write the unit, enable it, and let systemd take over the daemon.

    \b
    mcp-memory service install
    """
    settings = common.settings()
    file = unit_file(settings)
    old = config_files.read(file)
    change = ConfigChange(
        ConfigTarget(file, ()), old, unit(settings).encode(), keeps_old=old is not None
    )  # perhaps a person's edit
    config_files.check(change)
    backup: Path | None = None
    if not dry_run:
        _require_systemd()
        backup = config_files.apply(change, datetime.now().astimezone())
        _systemctl("daemon-reload")
        if not _is_active(file):
            launch.stop(settings)  # a daemon of another parent has the vault
        _systemctl("enable", "--now", file.name)
    if as_json:
        emit({"unit": str(file), "done": not dry_run, "diff": diff(change, str(file))})
        return
    say(diff(change, str(file)).rstrip() or f"{file} is as it should be")
    if backup:
        say(f"kept as it was: {backup}")
    if not dry_run:
        say(f"enabled: {file.name}")
        say("  → it runs while you are logged in; to have it also at other times: loginctl enable-linger")


@service.command("uninstall")
@command_options
def uninstall(common: CommonOptions, as_json: bool) -> None:
    """Stop and disable the unit, and remove it. One that somebody has edited is kept beside itself, with a date.

    \b
    mcp-memory service uninstall
    """
    settings = common.settings()
    file = unit_file(settings)
    old = config_files.read(file)
    change = ConfigChange(ConfigTarget(file, ()), old, None, keeps_old=old != unit(settings).encode())
    config_files.check(change)
    backup: Path | None = None
    if old is not None:
        if _has_systemd():
            _systemctl("disable", "--now", file.name)
        backup = config_files.apply(change, datetime.now().astimezone())
        if _has_systemd():
            _systemctl("daemon-reload")
    if as_json:
        emit({"unit": str(file), "removed": old is not None, "backup": backup and str(backup)})
        return
    say(f"removed: {file}" if old is not None else f"there is no {file}")
    if backup:
        say(f"kept as it was: {backup}")


@service.command("status")
@command_options
def status(common: CommonOptions, as_json: bool) -> None:
    """Say whether the unit is there, enabled and active.

    \b
    mcp-memory service status
    """
    file = unit_file(common.settings())
    has_systemd = _has_systemd()
    facts = {
        "systemd": has_systemd,
        "unit": str(file) if file.exists() else None,
        "enabled": has_systemd and _asked("is-enabled", file.name) == "enabled",
        "active": has_systemd and _is_active(file),
    }
    if as_json:
        emit(facts)
        return
    if not has_systemd:
        say(f"{NO_SYSTEMD}: {WITHOUT}")
        return
    say(f"{file.name}: {'there' if facts['unit'] else 'not installed'}")
    if facts["unit"]:
        say(f"  enabled  {'yes' if facts['enabled'] else 'no'}")
        say(f"  active   {'yes' if facts['active'] else 'no'}")


NO_SYSTEMD = "no systemd answers for your user here"
WITHOUT = (
    "clients with a headers helper (Claude Code, Codex) start the daemon when they need it; for others run "
    "mcp-memory start at login"
)


def unit_file(settings: Settings) -> Path:
    folder = Path(absolute(settings.environ.get("XDG_CONFIG_HOME") or "~/.config")) / "systemd" / "user"
    own = f"-{settings.state.root.name}" if vault_option(settings) else ""
    return folder / f"mcp-memory{own}.service"


def unit(settings: Settings) -> str:
    """The unit's text. systemd starts it without our environment: what is ours of it is spelled out."""
    words = [*shlex.split(command_path()), "serve", "--vault", str(settings.vault_path)]
    if settings.file:
        words += ["--config", str(settings.file.absolute())]
    ours = {name: value for name, value in sorted(settings.environ.items()) if name.startswith(PREFIX)}
    environment = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in ours.items())
    command = " ".join(_quoted(word).replace("$", "$$") for word in words)
    return _UNIT.format(command=command, environment=environment)


def restarted_by_systemd(settings: Settings) -> bool:
    """Whether systemd runs the daemon, and has restarted it. Raises McpMemoryError."""
    file = unit_file(settings)
    if not (file.exists() and _has_systemd() and _is_active(file)):
        return False
    _systemctl("restart", file.name)
    return True


def _quoted(word: str) -> str:
    """One word of a unit, where a percent sign begins a specifier. Raises Refused for one that no unit can hold."""
    if "\n" in word or "\r" in word:
        raise Refused("a path with a line end in it cannot stand in a unit", hint="rename the folder")
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _require_systemd() -> None:
    if not _has_systemd():
        raise Refused(NO_SYSTEMD, hint=f"nothing was changed; {WITHOUT}")


def _has_systemd() -> bool:
    return shutil.which("systemctl") is not None and _run("show-environment").returncode == 0


def _is_active(file: Path) -> bool:
    return _asked("is-active", file.name) == "active"


def _asked(question: str, name: str) -> str:
    return _run(question, name).stdout.strip()


def _systemctl(*arguments: str) -> None:
    done = _run(*arguments)
    if done.returncode:
        said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        command = f"systemctl --user {shlex.join(arguments)}"
        raise McpMemoryError(f"{command}: {said}", hint="journalctl --user -e tells more")


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
