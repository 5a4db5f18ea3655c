"""Explains settings in the words of the shipped file, says where each has its value, and changes one in your file."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from mcp_memory.errors import Refused
from mcp_memory.integrations import config_files, toml
from mcp_memory.integrations.config_plan import ConfigChange, ConfigTarget
from mcp_memory.integrations.text_file import decode, read
from mcp_memory.runtime.paths import PREFIX, config_file
from mcp_memory.settings.settings import Settings, as_tree, load, shipped

_SETTING = re.compile(r"(?:# )?([\w-]+) = .*?\s# (.*)")
_CONTINUED = re.compile(r"\s+# (.*)")


@dataclass(frozen=True)
class ExplainedSetting:
    """A setting of the file. `now`: its value in effect; `value`: after a restart; `line`: for your file."""

    section: str
    key: str
    meaning: str
    now: Any
    value: Any
    origin: str
    line: str


def explain(running: Settings) -> Iterator[ExplainedSetting]:
    """Yield the settings that the shipped file explains. Raises ConfigInvalid if the file can't be used now."""
    file = file_of(running)
    before, tree = as_tree(running), as_tree(load(running.environ, file=running.file))
    own = toml.value_of(decode(read(file)))
    for (section, key), meaning in _meanings().items():
        value, now = (_at(one, section, key) for one in (tree, before))
        variable = _variable(section, key)
        origin = variable if running.environ.get(variable) else str(file) if _at(own, section, key) is not None else ""
        yield ExplainedSetting(section, key, meaning, now, value, origin, toml.line_of(key, value))


def change(running: Settings, section: str, key: str, value: str) -> Path:
    """Give a setting a value, written as in an environment variable. Every other byte of the file stays. Returns the
    file. Raises ConfigInvalid for an unusable value, Refused, StorageFailed."""
    if running.environ.get(variable := _variable(section, key)):
        raise Refused(f"{variable} sets {section}.{key}", hint="change it in the environment, then: mcp-memory restart")
    tree = as_tree(load(running.environ, file=running.file, flags={f"{section}.{key}": value}))
    file = file_of(running)
    old = read(file)
    new = toml.set_table(decode(old), section.split("."), {key: _at(tree, section, key)}).encode()
    planned = ConfigChange(ConfigTarget(file, ()), old, new, keeps_old=old is not None)
    config_files.check(planned)
    config_files.apply(planned, datetime.now().astimezone())
    return file


def file_of(settings: Settings) -> Path:
    """Return the configuration file, which may be missing."""
    return settings.file or Path(config_file(settings.environ or os.environ))


def _meanings() -> Mapping[tuple[str, str], str]:
    """Return the comments of the shipped file by section and key."""
    found, section, latest = dict[tuple[str, str], str](), "", None
    for line in shipped("default.toml").splitlines():
        if line.startswith("["):
            section, latest = line[1:].partition("]")[0], None
        elif setting := _SETTING.fullmatch(line):
            latest = (section, setting[1])
            found[latest] = setting[2]
        elif latest and (more := _CONTINUED.fullmatch(line)):
            found[latest] += f" {more[1]}"
    return found


def _at(tree: Mapping[str, Any], section: str, key: str) -> Any:
    found: Any = tree
    for name in (*section.split("."), key):
        found = cast("Mapping[str, Any]", found).get(name) if isinstance(found, Mapping) else None
    return found


def _variable(section: str, key: str) -> str:
    return f"{PREFIX}{section}_{key}".replace(".", "_").replace("-", "_").upper()
