"""All settings, section by section, read and checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from mcp_memory.capture.config import CaptureConfig
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.errors import ConfigInvalid
from mcp_memory.extraction.config import ExtractionConfig
from mcp_memory.git.config import GitConfig
from mcp_memory.index.config import IndexConfig
from mcp_memory.indexing.config import WatchConfig
from mcp_memory.recall.config import RecallConfig
from mcp_memory.runtime.paths import vault_folder
from mcp_memory.search.confidence_config import ConfidenceConfig
from mcp_memory.settings.budgets import PROMPT_MS, SESSION_START_MS
from mcp_memory.settings.limits import check_limits
from mcp_memory.settings.raw_settings import read_raw_settings
from mcp_memory.settings.state import StateFolder
from mcp_memory.settings.tables import build_dataclass, to_plain
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.text.chunking.config import ChunkingConfig
from mcp_memory.topics.config import TopicsConfig
from mcp_memory.vault.config import KindConfig, VaultConfig

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
    max_connections: int = 512
    transfer_timeout_s: float = 10.0
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_bytes: int = 10_000_000
    log_files: int = 3


@dataclass(frozen=True, slots=True)
class HooksConfig:
    """Section `[hooks]`. `mcp-memory hook` reads it by itself: this module would take as long as its whole answer."""

    enabled: bool = True
    session_start_ms: int = SESSION_START_MS
    prompt_ms: int = PROMPT_MS


@dataclass(frozen=True, slots=True)
class Settings:
    """All of it, and where it came from."""

    vault: VaultConfig = field(default_factory=VaultConfig)
    daemon: DaemonConfig = field(default_factory=DaemonConfig)
    index: IndexConfig = field(default_factory=IndexConfig)
    embedder: EmbedderConfig = field(default_factory=EmbedderConfig)
    topics: TopicsConfig = field(default_factory=TopicsConfig)
    summarizer: SummarizerConfig = field(default_factory=SummarizerConfig)
    extraction: ExtractionConfig = field(default_factory=ExtractionConfig)
    git: GitConfig = field(default_factory=GitConfig)
    chunking: ChunkingConfig = field(default_factory=ChunkingConfig)
    confidence: ConfidenceConfig = field(default_factory=ConfidenceConfig)
    recall: RecallConfig = field(default_factory=RecallConfig)
    watch: WatchConfig = field(default_factory=WatchConfig)
    capture: CaptureConfig = field(default_factory=CaptureConfig)
    hooks: HooksConfig = field(default_factory=HooksConfig)
    kinds: Mapping[str, KindConfig] = field(default_factory=dict[str, KindConfig])
    file: Path | None = None
    """The configuration file that was read, if any."""
    environ: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def vault_path(self) -> Path:
        """The vault's folder, links resolved, so that one vault has one daemon however it is spelled."""
        return Path(vault_folder(self.vault.path))

    @property
    def state(self) -> StateFolder:
        """The device-local folder of this vault's derived and private files."""
        return StateFolder.for_vault(self.vault_path, self.environ)


def load(
    environ: Mapping[str, str], *, file: Path | None = None, flags: Mapping[str, object] | None = None
) -> Settings:
    """Read the settings; `flags` maps dotted keys (`"daemon.port"`) to values, None = not given.

    Raises ConfigInvalid for an unreadable file, an unknown key (the message names the nearest known one) or a
    value of the wrong type or out of bounds.
    """
    sections = {f.name for f in fields(Settings)} - {"file", "environ", "kinds"}
    given = read_raw_settings(environ, sections, file=file, flags=flags or {})
    settings = build_dataclass(Settings, given.tree, "", given.origin, skip={"file", "environ"})
    settings = _with(settings, vault=replace(settings.vault, sources=_sources(settings, given.file)))
    checked = _with(settings, file=Path(given.file) if given.file else None, environ=dict(environ))
    check_limits(as_tree(checked), given.origin)
    vault_folder(checked.vault.path)  # raises where it can be none
    _check_daemon(checked.daemon)
    return checked


def shipped(name: str) -> str:
    """The text of a file of `configs/`."""
    return shipped_path(name).read_text(encoding="utf-8")


def shipped_path(name: str) -> Path:
    """Where a file of `configs/` is: inside the installed package, or beside it in a source tree."""
    package = Path(__file__).parents[1]
    inside = package / "configs"
    return (inside if inside.is_dir() else package.parent / "configs") / name


def as_tree(settings: Settings) -> dict[str, Any]:
    """The effective settings as plain tables, for `config show`."""
    return {f.name: to_plain(getattr(settings, f.name)) for f in fields(settings) if f.name not in {"file", "environ"}}


def _sources(settings: Settings, file: object) -> dict[str, str]:
    """Their folders, `~` as the user's home; a relative one is beside the configuration file."""
    # Unlike a Path's, this expanduser never raises: an unknown user is a folder that is missing.
    folders = {name: Path(os.path.expanduser(folder)) for name, folder in settings.vault.sources.items()}  # noqa: PTH111
    return {
        name: str(folder if folder.is_absolute() or not file else Path(str(file)).absolute().parent / folder)
        for name, folder in folders.items()
    }


def _check_daemon(daemon: DaemonConfig) -> None:
    if not 0 <= daemon.port <= 65535:
        raise ConfigInvalid(f"daemon.port is {daemon.port}", hint="use 0 (chosen once and kept) or 1 to 65535")
    if daemon.host not in {"127.0.0.1", "::1", "localhost"} and not daemon.allow_remote:
        raise ConfigInvalid(
            f"daemon.host is {daemon.host!r}, which other machines can reach",
            hint="use 127.0.0.1, or set daemon.allow_remote = true if you mean it",
        )
    if daemon.allow_remote and daemon.auth == "none":
        raise ConfigInvalid("daemon.allow_remote needs a token", hint='set daemon.auth = "token"')


def _with(settings: Settings, **changes: Any) -> Settings:
    values = {f.name: getattr(settings, f.name) for f in fields(settings)}
    return Settings(**{**values, **changes})
