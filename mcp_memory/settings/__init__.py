"""Settings: defaults, then a TOML file, then the environment, then flags; the last one wins.

Standard library only, because `headers` and `hook` wait for it. Only composition roots (daemon, CLI, tests) read
settings; each component gets its own frozen section. `configs/default.toml` documents every key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, cast

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.engine.config import KindConfig, RecallConfig, VaultConfig, WatchConfig
from mcp_memory.errors import ConfigInvalid
from mcp_memory.settings.limits import check
from mcp_memory.settings.state import PREFIX, StateFolder, absolute, config_path
from mcp_memory.settings.tables import build, plain, wrong
from mcp_memory.text.chunking import ChunkingConfig

PREFERRED_PORT = 8423


@dataclass(frozen=True, slots=True)
class DaemonConfig:
    """Section `[daemon]`."""

    host: str = "127.0.0.1"
    port: int = 0
    uds: str = ""
    auth: Literal["token", "none"] = "token"
    allow_remote: bool = False
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    max_body_bytes: int = 4_000_000
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_bytes: int = 10_000_000
    log_files: int = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """All of it, and where it came from."""

    vault: VaultConfig = field(default_factory=VaultConfig)
    daemon: DaemonConfig = field(default_factory=DaemonConfig)
    embedder: EmbedderConfig = field(default_factory=EmbedderConfig)
    chunking: ChunkingConfig = field(default_factory=ChunkingConfig)
    recall: RecallConfig = field(default_factory=RecallConfig)
    watch: WatchConfig = field(default_factory=WatchConfig)
    kinds: Mapping[str, KindConfig] = field(default_factory=dict[str, KindConfig])
    file: Path | None = None
    """The configuration file that was read, if any."""
    environ: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def vault_path(self) -> Path:
        """The vault's folder, links resolved, so that one vault has one daemon however it is spelled."""
        path = absolute(self.vault.path)
        try:
            return path.resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise ConfigInvalid(f"vault.path {str(path)!r} leads nowhere: {error}") from error

    @property
    def state(self) -> StateFolder:
        """The device-local folder of this vault's derived and private files."""
        return StateFolder.of(self.vault_path, self.environ)


def load(
    environ: Mapping[str, str], *, file: Path | None = None, flags: Mapping[str, object] | None = None
) -> Settings:
    """Read the settings; `flags` maps dotted keys (`"daemon.port"`) to values, None = not given.

    Raises ConfigInvalid for an unreadable file, an unknown key (the message names the nearest known one) or a
    value of the wrong type or out of bounds.
    """
    path = file or config_path(environ)
    named = file is not None or bool(environ.get(PREFIX + "CONFIG"))
    tree: dict[str, Any] = {}
    read: Path | None = None
    if named or path.exists():
        tree, read = _read_toml(path), path
    given: dict[str, str] = {}
    for name, key, value in _from_environment(environ):
        _put(tree, key, value, str(path))
        given[key] = f"the environment ({name})"
    for key, value in (flags or {}).items():
        if value is not None:
            _put(tree, key, value, str(path))
            given[key] = "the command line"

    def origin(key: str) -> str:
        return given.get(key, str(path))

    settings = build(Settings, tree, "", origin, skip={"file", "environ"})
    checked = _with(settings, file=read, environ=dict(environ))
    check(as_tree(checked), origin)
    _check_daemon(checked)
    return checked


def shipped(name: str) -> str:
    """A file of `configs/`: inside the installed package, or beside it in a source tree."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    folder = inside if inside.is_dir() else package.parent / "configs"
    return (folder / name).read_text(encoding="utf-8")


def as_tree(settings: Settings) -> dict[str, Any]:
    """The effective settings as plain tables, for `config show`."""
    return {f.name: plain(getattr(settings, f.name)) for f in fields(settings) if f.name not in {"file", "environ"}}


def _check_daemon(settings: Settings) -> None:
    daemon = settings.daemon
    if not settings.vault.path.strip():
        raise ConfigInvalid("vault.path is empty", hint="name the folder of your notes, e.g. ~/memory")
    if not 0 <= daemon.port <= 65535:
        raise ConfigInvalid(f"daemon.port is {daemon.port}", hint="use 0 (chosen once and kept) or 1 to 65535")
    if daemon.host not in {"127.0.0.1", "::1", "localhost"} and not daemon.allow_remote:
        raise ConfigInvalid(
            f"daemon.host is {daemon.host!r}, which other machines can reach",
            hint="use 127.0.0.1, or set daemon.allow_remote = true if you mean it",
        )
    if daemon.allow_remote and daemon.auth == "none":
        raise ConfigInvalid("daemon.allow_remote needs a token", hint='set daemon.auth = "token"')


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigInvalid(f"no configuration file at {path}", hint="mcp-memory config path") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"cannot read {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigInvalid(f"{path} is not valid TOML: {error}") from error


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Name, dotted key and value of `MCP_MEMORY_VAULT` and `MCP_MEMORY_<SECTION>_<KEY>`.

    Other names are not ours to judge, and an empty variable is one that was not set.
    """
    sections = {f.name for f in fields(Settings)} - {"file", "environ", "kinds"}
    for name, value in environ.items():
        if not name.startswith(PREFIX) or not value:
            continue
        rest = name.removeprefix(PREFIX).lower()
        if rest == "vault":
            yield name, "vault.path", value
            continue
        section, _, key = rest.partition("_")
        if section in sections and key:
            yield name, f"{section}.{key}", value


def _put(tree: dict[str, Any], dotted: str, value: object, file: str) -> None:
    *parents, last = dotted.split(".")
    for parent in parents:
        below = tree.setdefault(parent, {})
        if not isinstance(below, dict):
            raise wrong(parent, below, "a table", lambda _: file)
        tree = cast("dict[str, Any]", below)
    tree[last] = value


def _with(settings: Settings, **changes: Any) -> Settings:
    values = {f.name: getattr(settings, f.name) for f in fields(settings)}
    return Settings(**{**values, **changes})
