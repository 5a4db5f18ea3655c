"""Reads your settings, unchecked: a TOML file, then the environment, then flags, merged into plain tables.

Imports little, because agents wait for `headers` and `hook`, which use it to find their vault.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping

from mcp_memory.errors import ConfigInvalid
from mcp_memory.runtime.paths import PREFIX, config_file

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

SESSION_START_MS = 1500
"""Half of the three seconds that `install` gives a hook, less than the two of OpenClaw's plugin. On two cores with a
load of 17, a session's start took .38 s (median), .55 s at the 90th of 100 and .56 s at most (30 calls). A budget of
500 ms leaves .425 s for the answer."""

PROMPT_MS = 300

BUSY_PROMPT_MS = 1000
"""The budget on a machine with more to do than it has processors, where the client itself takes seconds. Beside five
programs that each use up a processor, on two cores, a prompt took .46 s (median) and .70 s at the 96th of 100. Within
300 ms, three of four prompts got nothing."""

Origin = Callable[[str], str]
"""Dotted key → the source of its value, for error messages: a file, an environment variable, a flag."""


class RawSettings:
    """The settings as read. `tree`: the tables, unchecked; `file`: the configuration file that was read."""

    def __init__(self, tree: dict[str, Any], file: str | None, origin: Origin) -> None:
        self.tree = tree
        self.file = file
        self.origin = origin

    def text(self, section: str, key: str, default: str) -> str:
        """Return one value; no other is checked. Raises ConfigInvalid if it isn't text."""
        value = self.table(section).get(key, default)
        if not isinstance(value, str):
            raise invalid_value(f"{section}.{key}", value, "a string", self.origin)
        return value

    def table(self, section: str) -> dict[str, Any]:
        """Return one section, its values unchecked. Raises ConfigInvalid if it isn't a table."""
        found = self.tree.get(section, {})
        if not isinstance(found, dict):
            raise invalid_value(section, found, "a table", self.origin)
        return self.tree.get(section, {})


def read_raw_settings(
    environ: Mapping[str, str],
    sections: Collection[str],
    *,
    file: str | Path | None,
    flags: Mapping[str, object],
    only: str | None = None,
) -> RawSettings:
    """Read the settings. `flags` maps dotted keys (`"daemon.port"`) to values, None = not set; the environment can set
    keys of `sections`. `only`: the one table to read of a file that may have mistakes. Raises ConfigInvalid for an
    unreadable file and for a value where a table must be."""
    path = str(file or config_file(environ))
    named = file is not None or bool(environ.get(PREFIX + "CONFIG"))
    found = named or os.path.exists(path)
    tree: dict[str, Any] = _read_toml(path, only=only) if found else {}
    origins: dict[str, str] = {}
    for name, key, value in _from_environment(environ, sections):
        _set(tree, key, value, path)
        origins[key] = f"the environment ({name})"
    for key, value in flags.items():
        if value is not None:
            _set(tree, key, value, path)
            origins[key] = "the command line"
    return RawSettings(tree, path if found else None, lambda key: origins.get(key, path))


def invalid_value(key: str, value: object, wanted: str, origin: Origin, *, hint: str | None = None) -> ConfigInvalid:
    """Return the error for an invalid value. `wanted` describes the valid values."""
    kinds: dict[type, str] = {
        dict: "a table",
        list: "a list",
        str: "the string",
        bool: "the truth value",
        int: "the number",
        float: "the number",
    }
    kind = kinds.get(type(value), type(value).__name__)
    return ConfigInvalid(f"{key} in {origin(key)} must be {wanted}, not {kind} {value!r}", hint=hint)


def _read_toml(path: str, *, only: str | None) -> dict[str, Any]:
    import tomllib

    try:
        with open(path, encoding="utf-8", opener=_regular) as file:
            text = file.read()
        return tomllib.loads(text) if only is None else _read_table(text, only)
    except FileNotFoundError as error:
        raise ConfigInvalid(f"no configuration file at {path}", hint="mcp-memory config path") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"cannot read {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigInvalid(f"{path} is not valid TOML: {error}") from error


def _read_table(text: str, name: str) -> dict[str, Any]:
    """Read one table from its lines that are valid by themselves. Mistakes elsewhere don't matter."""
    import tomllib

    table = ""
    found: dict[str, Any] = {}
    for line in text.splitlines():
        is_header = re.match(r"\s*\[\s*[\w.-]+\s*\]?\s*(?:#|\Z)", line)
        try:
            parsed = tomllib.loads(line)
        except tomllib.TOMLDecodeError:
            table = "unreadable" if is_header else table
            continue
        if is_header:
            table = ".".join(parsed)
        elif table == name:
            found |= parsed
        elif not table and isinstance(parsed.get(name), dict):
            found |= parsed[name]
    return {name: found} if found else {}


def _regular(path: str, flags: int) -> int:
    """Open a regular file; a FIFO would wait for a writer. Raises ConfigInvalid, OSError."""
    import stat

    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise ConfigInvalid(
        f"cannot read {path}: it is not a regular file", hint="put your settings into a plain TOML file"
    )


def _from_environment(environ: Mapping[str, str], sections: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the name, dotted key and value of `MCP_MEMORY_VAULT` and `MCP_MEMORY_<SECTION>_<KEY>`. Other variables are
    ignored, and so are empty ones."""
    for name, value in environ.items():
        section, _, key = name.removeprefix(PREFIX).lower().partition("_")
        if name == f"{PREFIX}VAULT":
            section, key = "vault", "path"
        if name.startswith(PREFIX) and value and section in sections and key:
            yield name, f"{section}.{key}", value


def _set(tree: dict[str, Any], dotted: str, value: object, file: str) -> None:
    *parents, last = dotted.split(".")
    for parent in parents:
        below: Any = tree.setdefault(parent, {})
        if not isinstance(below, dict):
            raise invalid_value(parent, below, "a table", lambda _: file)
        tree = tree[parent]
    tree[last] = value
