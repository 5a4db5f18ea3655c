"""Turns TOML tables into frozen dataclasses. Errors name the unknown key or the key with the wrong type."""

import math
import types
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from mcp_memory.constants import is_setting
from mcp_memory.errors import ConfigInvalid
from mcp_memory.settings.raw_settings import Origin, invalid_value

_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def build_dataclass(
    cls: type[Any],
    tree: Mapping[str, Any],
    prefix: str,
    origin: Origin,
    skip: Collection[str] = (),
    others: Collection[str] = (),
) -> Any:
    """Build a dataclass from a table, without the fields to `skip`. `others`: keys that are valid, but not its own.

    Raises ConfigInvalid."""
    hints = get_type_hints(cls)
    known = [f.name for f in fields(cls) if is_setting(f) and f.name not in skip]
    values: dict[str, Any] = {}
    for key, value in tree.items():
        if key not in known:
            import difflib

            known += others
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {prefix}{near[0]}?" if near else f"known: {', '.join(known)}"
            raise ConfigInvalid(f"unknown key {prefix}{key} in {origin(prefix + key)}", hint=hint)
        values[key] = _convert(value, hints[key], f"{prefix}{key}", origin)
    for field in fields(cls):
        if field.name not in values and field.default is MISSING and field.default_factory is MISSING:
            raise ConfigInvalid(f"{prefix}{field.name} is missing in {origin(prefix + field.name)}")
    return cls(**values)


def _convert(value: Any, hint: Any, key: str, origin: Origin) -> Any:
    kind, args = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        return build_dataclass(cast("type[Any]", hint), _table(value, key, origin), f"{key}.", origin)
    if kind in (Union, types.UnionType):
        first, *others = (a for a in args if a is not type(None))
        return _convert(value, others[0] if others and isinstance(value, dict) else first, key, origin)
    if kind is Literal:
        if value not in args:
            raise invalid_value(key, value, f"one of {', '.join(map(repr, args))}", origin)
        return value
    if kind is tuple:
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, list):
            raise invalid_value(key, value, "a list", origin)
        listed = cast("list[Any]", items)
        if args[-1] is not ... and len(listed) != len(args):
            raise invalid_value(key, value, f"a list of {len(args)}", origin)
        return tuple(_convert(i.strip() if isinstance(i, str) else i, args[0], key, origin) for i in listed)
    if kind is not None and issubclass(kind, Mapping):
        table = _table(value, key, origin)
        return {name: _convert(v, args[1], f"{key}.{name}", origin) for name, v in table.items()}
    return _scalar(value, hint, key, origin)


def _table(value: Any, key: str, origin: Origin) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise invalid_value(key, value, "a table", origin)
    return cast("dict[str, Any]", value)


def _scalar(value: Any, hint: Any, key: str, origin: Origin) -> Any:
    """Read text from the environment as the type of the key."""
    if hint is bool:
        truth = _TRUTH.get(value.lower()) if isinstance(value, str) else value
        if not isinstance(truth, bool):
            raise invalid_value(key, value, "true or false", origin)
        return truth
    if hint in (int, float):
        return _number(value, hint, key, origin)
    if not isinstance(value, (str, Path)):
        raise invalid_value(key, value, "a string", origin)
    return str(value)


def _number(value: Any, hint: type[int] | type[float], key: str, origin: Origin) -> int | float:
    """Return the value as a number. No setting is negative, infinite or NaN."""
    wanted = "a whole number" if hint is int else "a number"
    try:
        number = hint(value) if isinstance(value, str) else value
        plain = isinstance(number, (int, float)) and not isinstance(number, bool)
        if plain and math.isfinite(number) and number >= 0 and number == hint(number):
            return hint(number)
    except ValueError:
        pass
    raise invalid_value(key, value, f"{wanted}, 0 or more", origin)


def fill_in(table: Any, shipped: Mapping[str, Any]) -> Any:
    """Give each entry of a table that changes a shipped one the values that it leaves out. `shipped`: dataclasses."""
    if not isinstance(table, dict):
        return table
    filled = dict(cast("dict[str, Any]", table))
    for name, entry in filled.items():
        if name in shipped and isinstance(entry, dict):
            filled[name] = {**to_plain(shipped[name]), **entry}
    return filled


def to_plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in fields(value) if is_setting(f)}
    if isinstance(value, Mapping):
        return {k: to_plain(v) for k, v in cast("Mapping[str, Any]", value).items()}
    return list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value
