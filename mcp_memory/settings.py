"""Settings: defaults, then a TOML file, then the environment, then flags; the last one wins.

Standard library only, because `headers` and `hook` wait for it. Only composition roots (daemon, CLI, tests) read
settings; each component gets its own frozen section. `configs/default.toml` documents every key.
"""

from __future__ import annotations

import difflib
import hashlib
import math
import os
import re
import tomllib
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.engine.config import KindConfig, RecallConfig, VaultConfig, WatchConfig
from mcp_memory.errors import ConfigInvalid, StorageFailed
from mcp_memory.text.chunking import ChunkingConfig

PREFIX = "MCP_MEMORY_"
PREFERRED_PORT = 8423

Origin = Callable[[str], str]
"""Dotted key → what set it, for error messages: a file, an environment variable, a flag."""


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
        path = _folder(self.vault.path)
        try:
            return path.resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise ConfigInvalid(f"vault.path {str(path)!r} leads nowhere: {error}") from error

    @property
    def state(self) -> StateFolder:
        """The device-local folder of this vault's derived and private files."""
        return StateFolder.of(self.vault_path, self.environ)


@dataclass(frozen=True, slots=True)
class StateFolder:
    """Where everything that is not the vault lives. Private (0700), never synced."""

    root: Path
    models: Path

    @classmethod
    def of(cls, vault: Path, environ: Mapping[str, str]) -> StateFolder:
        home = state_home(environ)
        digest = hashlib.sha256(os.fsencode(vault)).hexdigest()[:10]
        slug = re.sub(r"[^A-Za-z0-9]+", "-", vault.name).strip("-").lower() or "vault"
        models = environ.get(PREFIX + "MODELS")
        return cls(home / "vaults" / f"{slug}-{digest}", _folder(models) if models else home / "models")

    @property
    def home(self) -> Path:
        """The folder that all vaults of this user share."""
        return self.root.parents[1]

    @property
    def lock(self) -> Path:
        return self.root / "daemon.lock"

    @property
    def daemon(self) -> Path:
        return self.root / "daemon.json"

    @property
    def tokens(self) -> Path:
        return self.root / "tokens.json"

    @property
    def port(self) -> Path:
        return self.root / "port"

    @property
    def index(self) -> Path:
        return self.root / "index"

    @property
    def ledger(self) -> Path:
        return self.root / "ledger.jsonl"

    @property
    def undo(self) -> Path:
        return self.root / "undo"

    @property
    def locks(self) -> Path:
        return self.root / "locks"

    @property
    def log(self) -> Path:
        return self.root / "log" / "daemon.log"

    def make(self) -> None:
        """Create the folder, private from the start.

        Raises ConfigInvalid for one that somebody else owns, StorageFailed where it cannot be made.
        """
        try:
            for folder in (self.home, self.root.parent, self.root):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                owner = folder.stat().st_uid
                if owner != os.geteuid():
                    raise ConfigInvalid(
                        f"the state folder {folder} belongs to user {owner}",
                        hint=f"set {PREFIX}STATE to a folder of your own",
                    )
            self.root.chmod(0o700)
            for folder in (self.undo, self.locks, self.index, self.log.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageFailed(
                f"cannot use the state folder {self.root}: {error.strerror}",
                hint=f"set {PREFIX}STATE to a folder that you can write",
            ) from error


def state_home(environ: Mapping[str, str]) -> Path:
    """`$MCP_MEMORY_STATE`, else `$XDG_STATE_HOME/mcp-memory`, else `~/.local/state/mcp-memory`."""
    if chosen := environ.get(PREFIX + "STATE"):
        return _folder(chosen)
    return _folder(environ.get("XDG_STATE_HOME") or "~/.local/state") / "mcp-memory"


def config_path(environ: Mapping[str, str]) -> Path:
    """`$MCP_MEMORY_CONFIG`, else `$XDG_CONFIG_HOME/mcp-memory/config.toml`, else the same under `~/.config`."""
    if chosen := environ.get(PREFIX + "CONFIG"):
        return _folder(chosen)
    return _folder(environ.get("XDG_CONFIG_HOME") or "~/.config") / "mcp-memory" / "config.toml"


def load(
    environ: Mapping[str, str], *, file: Path | None = None, flags: Mapping[str, object] | None = None
) -> Settings:
    """Read the settings; `flags` maps dotted keys (`"daemon.port"`) to values, None = not given.

    Raises ConfigInvalid for an unreadable file, an unknown key (the message names the nearest known one) or a
    value of the wrong type.
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
    settings = _build(Settings, tree, "", lambda key: given.get(key, str(path)), skip={"file", "environ"})
    checked = _with(settings, file=read, environ=dict(environ))
    _check(checked)
    return checked


def shipped(name: str) -> str:
    """A file of `configs/`: inside the installed package, or beside it in a source tree."""
    inside = Path(__file__).parent / "configs"
    folder = inside if inside.is_dir() else Path(__file__).parents[1] / "configs"
    return (folder / name).read_text(encoding="utf-8")


def as_tree(settings: Settings) -> dict[str, Any]:
    """The effective settings as plain tables, for `config show`."""
    return {f.name: _plain(getattr(settings, f.name)) for f in fields(settings) if f.name not in {"file", "environ"}}


def _folder(path: str) -> Path:
    """Absolute, because a daemon works in another folder than the shell that started it."""
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise ConfigInvalid(f"no user's home for {path!r}", hint="spell the path out") from error


def _check(settings: Settings) -> None:
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
            raise _wrong(parent, below, "a table", lambda _: file)
        tree = cast("dict[str, Any]", below)
    tree[last] = value


def _build(cls: type[Any], tree: Mapping[str, Any], prefix: str, origin: Origin, skip: set[str] | None = None) -> Any:
    hints = get_type_hints(cls)
    known = [f.name for f in fields(cls) if f.name not in (skip or set())]
    values: dict[str, Any] = {}
    for key, value in tree.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {prefix}{near[0]}?" if near else f"known: {', '.join(known)}"
            raise ConfigInvalid(f"unknown key {prefix}{key} in {origin(prefix + key)}", hint=hint)
        values[key] = _convert(value, hints[key], f"{prefix}{key}", origin)
    for f in fields(cls):
        if f.name not in values and f.default is MISSING and f.default_factory is MISSING:
            raise ConfigInvalid(f"{prefix}{f.name} is missing in {origin(prefix + f.name)}")
    return cls(**values)


def _convert(value: Any, hint: Any, key: str, origin: Origin) -> Any:
    kind, args = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        if not isinstance(value, dict):
            raise _wrong(key, value, "a table", origin)
        return _build(cast("type[Any]", hint), cast("dict[str, Any]", value), f"{key}.", origin)
    if kind in (Union, types.UnionType):
        return _convert(value, next(a for a in args if a is not type(None)), key, origin)
    if kind is Literal:
        if value not in args:
            raise _wrong(key, value, f"one of {', '.join(map(repr, args))}", origin)
        return value
    if kind is tuple:
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, list):
            raise _wrong(key, value, "a list", origin)
        listed = cast("list[Any]", items)
        return tuple(_convert(i.strip() if isinstance(i, str) else i, args[0], key, origin) for i in listed)
    if kind is not None and issubclass(kind, Mapping):
        if not isinstance(value, dict):
            raise _wrong(key, value, "a table", origin)
        table = cast("dict[str, Any]", value)
        return {name: _convert(v, args[1], f"{key}.{name}", origin) for name, v in table.items()}
    return _scalar(value, hint, key, origin)


def _scalar(value: Any, hint: Any, key: str, origin: Origin) -> Any:
    """Text from the environment is read as the type that the key has."""
    if hint is bool:
        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if isinstance(value, str) and value.lower() in words:
            return words[value.lower()]
        if isinstance(value, bool):
            return value
        raise _wrong(key, value, "true or false", origin)
    if hint in (int, float):
        return _number(value, hint, key, origin)
    if not isinstance(value, (str, Path)):
        raise _wrong(key, value, "a string", origin)
    return str(value)


def _number(value: Any, hint: type[int] | type[float], key: str, origin: Origin) -> int | float:
    """No setting is negative, infinite or not a number."""
    wanted = "a whole number" if hint is int else "a number"
    try:
        number = hint(value) if isinstance(value, str) else value
        plain = isinstance(number, (int, float)) and not isinstance(number, bool)
        if plain and math.isfinite(number) and number >= 0 and number == hint(number):
            return hint(number)
    except ValueError:
        pass
    raise _wrong(key, value, f"{wanted}, 0 or more", origin)


def _wrong(key: str, value: object, wanted: str, origin: Origin) -> ConfigInvalid:
    return ConfigInvalid(f"{key} in {origin(key)} must be {wanted}, not {_kind_of(value)} {value!r}")


def _kind_of(value: object) -> str:
    names: dict[type[Any], str] = {
        dict: "a table",
        list: "a list",
        str: "the string",
        bool: "the truth value",
        int: "the number",
        float: "the number",
    }
    return names.get(type(value), type(value).__name__)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in cast("Mapping[str, Any]", value).items()}
    return list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value


def _with(settings: Settings, **changes: Any) -> Settings:
    values = {f.name: getattr(settings, f.name) for f in fields(settings)}
    return Settings(**{**values, **changes})
