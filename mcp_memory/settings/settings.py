"""Reads and checks all settings, section by section: their types, their ranges and known names. Errors name the key,
the value and what to use."""

import importlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from math import inf
from pathlib import Path
from typing import Any, Literal, cast

from mcp_memory.capture.config import SHIPPED_FOLDERS
from mcp_memory.constants import constant
from mcp_memory.core.config import Sections
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.engine.features import read_sections
from mcp_memory.errors import ConfigInvalid
from mcp_memory.index import IndexConfig
from mcp_memory.recall.config import SHIPPED_PHASES
from mcp_memory.runtime.backend_registry import Registry
from mcp_memory.runtime.paths import vault_folder
from mcp_memory.settings.raw_settings import PROMPT_MS, SESSION_START_MS, Origin, invalid_value, read_raw_settings
from mcp_memory.settings.state import StateFolder
from mcp_memory.settings.tables import build_dataclass, fill_in, to_plain
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.text.language.word_tables import read_table
from mcp_memory.vault.config import SHIPPED_KINDS, TRANSCRIPTS, VaultConfig

RANGES: Mapping[str, tuple[float, float]] = read_table("mcp_memory.settings", "ranges.toml")
"""Key → minimum and maximum."""

HOOK_PARTS = ("subagents", "actions", "stops", "errors", "withdrawn", "commitments", "left-off", "own-tools")
"""The parts of hooks that `hooks.off` can switch off."""

_REGISTRIES = {
    "vault.storage": (VaultConfig().storage, "mcp_memory.storage:STORAGE"),
    "index.engine": (IndexConfig().engine, "mcp_memory.index:INDEXES"),
    "embedder.provider": (EmbedderConfig().provider, "mcp_memory.embedders.open_embedder:EMBEDDERS"),
    "summarizer.provider": (SummarizerConfig().provider, "mcp_memory.summarizers.base:SUMMARIZERS"),
}
"""Key → the shipped name, and the place of its registry."""

PRIVATE = re.compile(r"(?:kind|tag):[^/\n]*[^/\s]|(?!kind:|tag:)(?!.*(?://|\.\.))[^\n]*[^/\n]/")
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def check_limits(tree: Mapping[str, Any], origin: Origin) -> None:
    """Check the effective settings, `tree`, given as plain tables. Raises ConfigInvalid for the first value out of
    bounds."""
    for key, value in values(tree, ""):
        least, most = RANGES.get(re.sub(r"^(recall\.phases)\..*(\.\w+)$", r"\1.*\2", key), (-inf, inf))
        if isinstance(value, (int, float)) and not least <= value <= most:
            wanted = f"{least:g} or more" if most == inf else f"{least:g} to {most:.0f}"
            raise invalid_value(key, value, wanted, origin)
    # Other packages' providers are only looked up if a setting names one, because that takes time.
    for key, (shipped, place) in _REGISTRIES.items():
        section, _, name = key.partition(".")
        if tree[section][name] != shipped:
            module, _, attribute = place.partition(":")
            registry: Registry = getattr(importlib.import_module(module), attribute)
            _one_of(key, tree[section][name], registry.names(), origin, hint=registry.others)
    for name in tree["vault"]["sources"]:
        if not WORD.fullmatch(name):
            wanted = "named by plain words (letters, digits, '.', '-' and '_')"
            raise invalid_value("vault.sources", name, wanted, origin)
        if name == TRANSCRIPTS:
            wanted = f"named otherwise: @{TRANSCRIPTS} has the captured sessions"
            raise invalid_value("vault.sources", name, wanted, origin)
    for mark in tree["recall"]["private"]:
        if not PRIVATE.fullmatch(mark):
            wanted = 'folders ("notes/health/"), "kind:NAME" and "tag:NAME"'
            raise invalid_value("recall.private", mark, wanted, origin, hint="a folder ends with /")
    for part in tree["hooks"]["off"]:
        _one_of("hooks.off", part, HOOK_PARTS, origin)
    for client in tree["capture"]["folders"]:
        _one_of("capture.folders", client, tuple(SHIPPED_FOLDERS), origin)


def values(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from values(cast("Mapping[str, Any]", value), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _one_of(
    key: str, value: str, known: list[str] | tuple[str, ...], origin: Origin, *, hint: str | None = None
) -> None:
    if value not in known:
        raise invalid_value(key, value, f"one of {', '.join(map(repr, known))}", origin, hint=hint)


PREFERRED_PORT = 8423

_ORIGIN = {"file", "environ", "features"}
"""Fields of `Settings` that aren't sections."""


@dataclass(frozen=True)
class DaemonConfig:
    """Section `[daemon]`."""

    host: str = "127.0.0.1"
    port: int = 0
    uds: str = ""
    auth: Literal["token", "none"] = "token"
    allow_remote: bool = False
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    max_body_bytes: int = constant(4_000_000)
    """The largest append, escaped as JSON, has this size at most."""
    max_connections: int = constant(512)
    """At the limit the longest idle connection is closed. Lowered if the system allows fewer files."""
    transfer_timeout_s: float = constant(10.0)
    """The time for sending a request or receiving its answer; slower clients are cut off."""
    log_bytes: int = constant(10_000_000)
    log_files: int = constant(3)
    """Weeks of a busy daemon, in 30 MB."""


@dataclass(frozen=True)
class HooksConfig:
    """Section `[hooks]`. `mcp-memory hook` reads it without this module, which takes as long as its whole answer."""

    enabled: bool = True
    session_start_ms: int = SESSION_START_MS
    prompt_ms: int = PROMPT_MS
    ask_below: float = 0.0
    """The likelihood below which a prompt gets a line to ask the person by, instead of the note; 0 = never."""
    off: tuple[str, ...] = ()
    """The parts, of `HOOK_PARTS`, that hooks leave out."""


@dataclass(frozen=True, kw_only=True)
class Settings(Sections):
    """All sections, and their sources. `file`: the configuration file that was read, if any."""

    daemon: DaemonConfig = field(default_factory=DaemonConfig)
    hooks: HooksConfig = field(default_factory=HooksConfig)
    file: Path | None = None
    environ: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def vault_path(self) -> Path:
        """The vault's folder, with links resolved, so that one vault has one daemon however its path is written."""
        return Path(vault_folder(self.vault.path))

    @property
    def state(self) -> StateFolder:
        return StateFolder.for_vault(self.vault_path, self.environ)


def load(
    environ: Mapping[str, str], *, file: Path | None = None, flags: Mapping[str, object] | None = None
) -> Settings:
    """Read the settings; `flags` maps dotted keys (`"daemon.port"`) to values, None = not set.

    Raises ConfigInvalid for an unreadable file, an unknown key (the message names the nearest known one) or a
    value of the wrong type or out of bounds."""
    of_features = read_sections()
    sections = {field.name for field in fields(Settings)} - {*_ORIGIN, "kinds"} | of_features.keys()
    raw = read_raw_settings(environ, sections, file=file, flags=flags or {})
    features = {
        name: build_dataclass(section, raw.table(name), f"{name}.", raw.origin) for name, section in of_features.items()
    }
    tree = {name: table for name, table in raw.tree.items() if name not in features}
    tree["kinds"] = fill_in(tree.get("kinds", {}), SHIPPED_KINDS)
    tree["recall"] = {**raw.table("recall"), "phases": fill_in(raw.table("recall").get("phases", {}), SHIPPED_PHASES)}
    settings: Settings = build_dataclass(Settings, tree, "", raw.origin, skip=_ORIGIN, others=features)
    path = Path(raw.file) if raw.file else None
    vault = replace(settings.vault, sources=_sources(settings.vault, path))
    settings = replace(settings, vault=vault, features=features, file=path, environ=dict(environ))
    check_limits(as_tree(settings), raw.origin)
    vault_folder(settings.vault.path)  # raises ConfigInvalid
    daemon = settings.daemon
    if not 0 <= daemon.port <= 65535:
        raise ConfigInvalid(f"daemon.port is {daemon.port}", hint="use 0 (chosen once and kept) or 1 to 65535")
    if daemon.host not in {"127.0.0.1", "::1", "localhost"} and not daemon.allow_remote:
        raise ConfigInvalid(
            f"daemon.host is {daemon.host!r}, which other machines can reach",
            hint="use 127.0.0.1, or set daemon.allow_remote = true if you mean it",
        )
    if daemon.allow_remote and daemon.auth == "none":
        raise ConfigInvalid("daemon.allow_remote needs a token", hint='set daemon.auth = "token"')
    for job in ("", *settings.jobs.times):
        settings.jobs.time_of_day(job)  # raises ConfigInvalid
    return settings


def load_without_mistakes(environ: Mapping[str, str], file: Path | None, flags: Mapping[str, object]) -> Settings:
    """Return the defaults for the configured vault, for use when the configuration has a mistake. Raises ConfigInvalid
    if the vault's name can't be read."""
    raw = read_raw_settings(environ, {"vault"}, file=file, flags=flags, only="vault")
    folder = raw.text("vault", "path", "")
    if not folder and raw.file and re.search(r"\bpath\s*=", Path(raw.file).read_text(encoding="utf-8")):
        raise ConfigInvalid(f"{raw.file} does not say which vault", hint="correct it, or pass --vault DIR")
    settings = replace(Settings(), vault=VaultConfig(path=folder) if folder else VaultConfig())
    vault_folder(settings.vault.path)  # raises ConfigInvalid
    return replace(settings, file=Path(raw.file) if raw.file else None, environ=dict(environ))


def shipped(name: str) -> str:
    """Return the text of a file of `configs/`."""
    return shipped_path(name).read_text(encoding="utf-8")


def shipped_path(name: str) -> Path:
    """Return the path of a file of `configs/`: inside the installed package, or beside it in a source tree."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    return (inside if inside.is_dir() else package.parent / "configs") / name


def as_tree(settings: Settings) -> dict[str, Any]:
    """Return the effective settings as plain tables, for `config show`."""
    sections = (field.name for field in fields(settings) if field.name not in _ORIGIN)
    tree = {name: to_plain(getattr(settings, name)) for name in sections}
    return tree | {name: to_plain(settings.section(name, kind)) for name, kind in read_sections().items()}


def _sources(vault: VaultConfig, file: Path | None) -> dict[str, str]:
    """Return the sources' folders, with `~` expanded. A relative folder is beside the configuration file."""
    # Unlike Path.expanduser, this one never raises: for an unknown user, the folder is just missing.
    folders = {name: Path(os.path.expanduser(folder)) for name, folder in vault.sources.items()}  # noqa: PTH111 -- raises nothing
    return {
        name: str(folder if folder.is_absolute() or not file else file.absolute().parent / folder)
        for name, folder in folders.items()
    }
