"""What a person set: a TOML file, then the environment, then flags, merged into plain tables.

Imports so little that `headers` and `hook`, which an agent waits for, can ask where their vault is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping

from mcp_memory.errors import ConfigInvalid
from mcp_memory.runtime.paths import PREFIX, config_file

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

Origin = Callable[[str], str]
"""Dotted key → what set it, for error messages: a file, an environment variable, a flag."""


class RawSettings:
    """`tree` holds the tables as they were given, not yet checked; `file` is the configuration file that was read."""

    def __init__(self, tree: dict[str, Any], file: str | None, origin: Origin) -> None:
        self.tree = tree
        self.file = file
        self.origin = origin

    def text(self, section: str, key: str, default: str) -> str:
        """One value by itself, no other looked at. Raises ConfigInvalid where it is no text."""
        table = self.table(section)
        value = table.get(key, default)
        if not isinstance(value, str):
            raise invalid_value(f"{section}.{key}", value, "a string", self.origin)
        return value

    def table(self, section: str) -> dict[str, Any]:
        """One section, nothing in it looked at. Raises ConfigInvalid where it is no table."""
        found = self.tree.get(section, {})
        if not isinstance(found, dict):
            raise invalid_value(section, found, "a table", self.origin)
        return self.tree.get(section, {})


def read_raw_settings(
    environ: Mapping[str, str], sections: Collection[str], *, file: str | Path | None, flags: Mapping[str, object]
) -> RawSettings:
    """`flags` maps dotted keys (`"daemon.port"`) to values, None = not given; `sections` are those of which the
    environment can set keys. Raises ConfigInvalid for an unreadable file and for a value where a table must be."""
    path = str(file or config_file(environ))
    named = file is not None or bool(environ.get(PREFIX + "CONFIG"))
    found = named or os.path.exists(path)
    tree: dict[str, Any] = _read_toml(path) if found else {}
    by: dict[str, str] = {}
    for name, key, value in _from_environment(environ, sections):
        _put(tree, key, value, path)
        by[key] = f"the environment ({name})"
    for key, value in flags.items():
        if value is not None:
            _put(tree, key, value, path)
            by[key] = "the command line"

    def origin(key: str) -> str:
        return by.get(key, path)

    return RawSettings(tree, path if found else None, origin)


def invalid_value(key: str, value: object, wanted: str, origin: Origin, *, hint: str | None = None) -> ConfigInvalid:
    """The error for a value that cannot be; `wanted` says what can."""
    return ConfigInvalid(f"{key} in {origin(key)} must be {wanted}, not {_kind_of(value)} {value!r}", hint=hint)


def _read_toml(path: str) -> dict[str, Any]:
    import tomllib

    try:
        with open(path, encoding="utf-8", opener=_regular) as file:
            return tomllib.loads(file.read())
    except FileNotFoundError as error:
        raise ConfigInvalid(f"no configuration file at {path}", hint="mcp-memory config path") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"cannot read {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigInvalid(f"{path} is not valid TOML: {error}") from error


def _regular(path: str, flags: int) -> int:
    """Opens a regular file; a FIFO would keep us waiting for a writer. Raises ConfigInvalid, OSError."""
    import stat

    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise ConfigInvalid(f"cannot read {path}: it is no regular file", hint="put your settings into a plain TOML file")


def _from_environment(environ: Mapping[str, str], sections: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Name, dotted key and value of `MCP_MEMORY_VAULT` and `MCP_MEMORY_<SECTION>_<KEY>`.

    Other names are not ours to judge, and an empty variable is one that was not set.
    """
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
        below: Any = tree.setdefault(parent, {})
        if not isinstance(below, dict):
            raise invalid_value(parent, below, "a table", lambda _: file)
        tree = tree[parent]
    tree[last] = value


def _kind_of(value: object) -> str:
    names: dict[type, str] = {
        dict: "a table",
        list: "a list",
        str: "the string",
        bool: "the truth value",
        int: "the number",
        float: "the number",
    }
    return names.get(type(value), type(value).__name__)
