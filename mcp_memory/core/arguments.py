"""Makes requests from arguments as clients and models really send them: a list as a string, a number in quotes, a date
in words, null or "" for an omitted argument. Only unambiguous values are accepted; all others are refused in sentences
that quote no value.
"""

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import MISSING, fields, replace
from datetime import datetime
from functools import cache, partial
from types import NoneType
from typing import Annotated, Any, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

from mcp_memory.core.core import Core
from mcp_memory.core.requests import UNLISTED, Mode
from mcp_memory.core.serializers import Payload
from mcp_memory.errors import InvalidInput
from mcp_memory.models import ABSENT
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.dates.spoken import Leans, is_iso, read_date
from mcp_memory.text.escape_invisible import in_line
from mcp_memory.vault.draft import MAX_WORD

MOST_ARGUMENTS, MOST_ITEMS = 1000, 100_000
"""A number of arguments that no call takes. Each fault is named, so a million faults would block the daemon for
seconds."""

MOST_NAMED = 10
"""Unknown arguments that an error names."""

MOST_BLANK = 100
"""The most characters of a text that is read as an omitted argument."""

_FREE_TEXT = frozenset({"content", "query", "text", "title", "reason"})
"""Arguments in which "none" and "[draft]" may be meant as they are."""

_WHOLE_NUMBER = re.compile(r"\s*([+-]?[0-9]{1,18})(?:\.0+)?\s*")
_HASHTAGS = re.compile(r"\s*#[^\s#,]+(?:[\s,]+#[^\s#,]+)*\s*")
_TRUTH = {"true": True, "false": False}

_LEANS: Mapping[str, Leans] = {"since": "past", "until": "past", "expires": "future", "due": "future"}
READ_S = 10.0

R = TypeVar("R")


class RequestField(NamedTuple):
    """A field of a request. `hint`: its type, without None; `about`: what agents read, None if they aren't offered it;
    `is_listed`: whether they are shown it."""

    name: str
    hint: Any
    about: str | None
    is_listed: bool = True
    is_required: bool = False


class _Misfit(Exception):
    """A value that is not of the wanted type, which it names."""


class _TooMany(_Misfit):
    """A list that is too long. Its text is the number of items."""


@cache
def fields_of(request: type[Any]) -> tuple[RequestField, ...]:
    """The fields of a request, in order, those that agents are shown first."""
    hints, found = get_type_hints(request, include_extras=True), list[RequestField]()
    for member in fields(request):
        hint, notes = hints[member.name], ()
        if get_origin(hint) is Annotated:
            hint, *notes = get_args(hint)
        if NoneType in get_args(hint):
            (hint,) = (kind for kind in get_args(hint) if kind is not NoneType)
        about = next((note for note in notes if isinstance(note, str)), None)
        found.append(RequestField(member.name, hint, about, UNLISTED not in notes, member.default is MISSING))
    return tuple(sorted(found, key=lambda field: not field.is_listed))


def read_arguments(known: Sequence[RequestField], arguments: Mapping[str, Any], facts: Mapping[str, Any]) -> Payload:
    """The arguments as the fields take them, without the omitted arguments. `facts`: the values for the braces in the
    fields' descriptions.

    Raises InvalidInput with a sentence for each argument that is missing, unknown or of the wrong type."""
    if len(arguments) > MOST_ARGUMENTS:
        raise InvalidInput(f"Too many arguments: {len(arguments):,}.")
    named, taken, wrong = {field.name: field for field in known}, Payload(), list[str]()
    for name, value in arguments.items():
        if field := named.get(name):
            try:
                if (found := _value(field, value)) is not None:
                    taken[name] = found
            except _TooMany as fault:
                wrong.append(f"`{name}` has {fault} items; at most {MOST_ITEMS:,} are allowed.")
            except _Misfit as fault:
                about = f": {field.about.format(**facts)}" if field.about else "."
                wrong.append(f"`{name}` must be {fault}{about}")
    missing = [field.name for field in known if field.is_required and arguments.get(field.name) is None]
    unknown = [name for name in arguments if name not in named]
    faults = [f"Missing `{name}`." for name in missing]
    faults += [f"Unknown argument `{in_line(name[:80])}`." for name in unknown[:MOST_NAMED]]
    if faults or wrong:
        raise InvalidInput(" ".join([*faults, *wrong]), hint=_suggestion(unknown, missing, list(named)))
    return taken


def request_from(request: type[R], arguments: Mapping[str, Any], facts: Mapping[str, Any]) -> R:
    """A request made from JSON; an argument that is None is treated as not given. `facts`: the values for the braces in
    the annotations of requests.

    Raises InvalidInput for an argument that is unknown, missing or of the wrong type."""
    return request(**read_arguments(fields_of(request), arguments, facts))


async def with_iso_dates(core: Core, request: R) -> R:
    """The request with its dates in ISO 8601, seen from now in the vault's zone. Raises InvalidInput."""
    given: Payload = {name: getattr(request, name, None) for name in _LEANS}
    spoken = {name: text for name, text in given.items() if isinstance(text, str) and text.strip() and not is_iso(text)}
    if not spoken:
        return request
    iso = await in_thread(
        _in_iso, spoken, core.clock().astimezone(core.vault.layout.tz), deadline_s=READ_S, what="reading a date"
    )
    return cast("R", replace(cast("Any", request), **iso))


def _in_iso(spoken: Mapping[str, str], now: datetime) -> dict[str, str]:
    """Read each argument. `until` a day includes that day, and a note that expires today does so at its end."""
    found: dict[str, str] = {}
    for name, text in spoken.items():
        date = read_date(name, text, _LEANS[name], now)
        is_over = name == "until" or (name == "expires" and date.start == now.date().isoformat())
        found[name] = date.end if is_over else date.start
    return found


def is_session(name: object) -> bool:
    """Return whether a note can have it; a client that we don't know may send anything."""
    return isinstance(name, str) and 0 < len(name) <= MAX_WORD and name.isprintable()


def _suggestion(unknown: Sequence[str], missing: Sequence[str], known: Sequence[str]) -> str | None:
    if not unknown:
        return None
    near = {match for name in unknown[:MOST_NAMED] for match in difflib.get_close_matches(name[:80], known, n=1)}
    if not near and len(unknown) == len(missing) == 1:
        near = {*missing}
    if near:
        return f"did you mean {' and '.join(f'`{name}`' for name in sorted(near))}?"
    return f"it takes: {', '.join(known) or 'nothing'}"


def _value(field: RequestField, value: Any) -> Any:
    """Return the value of a field; None if it is omitted. Raises _Misfit."""
    _check_length(value)
    is_free = field.name in _FREE_TEXT
    if value is None or (field.about and not field.is_required and _means_nothing(value, is_free=is_free)):
        return None
    wanted, read = _READERS[field.hint]
    if field.hint is str and not is_free and isinstance(value, list) and len(cast("Sized", value)) == 1:
        (value,) = cast("list[Any]", value)
    found = read(value)
    if found is None:
        raise _Misfit(wanted)
    _check_length(found)
    return found


def _check_length(value: Any) -> None:
    if isinstance(value, (list, dict)) and len(cast("Sized", value)) > MOST_ITEMS:
        raise _TooMany(f"{len(cast('Sized', value)):,}")


def _means_nothing(value: Any, *, is_free: bool) -> bool:
    if not isinstance(value, str) or len(value) > MOST_BLANK:
        return False
    return not value.strip() or (not is_free and value.strip().lower() in ABSENT)


def _of_type(kind: type[Any] | tuple[type[Any], ...], value: Any) -> Any:
    return value if isinstance(value, kind) else None


def _whole_number(value: Any) -> int | None:
    if isinstance(value, str) and (written := _WHOLE_NUMBER.fullmatch(value)):
        return int(written[1])
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _truth(value: Any) -> bool | None:
    if isinstance(value, str) and len(value) < 20:
        return _TRUTH.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def _mode(value: Any) -> str | None:
    word = value.strip().lower() if isinstance(value, str) and len(value) < 20 else None
    return word if word in get_args(Mode) else None


def _texts(value: Any) -> list[str] | None:
    if isinstance(value, str):
        return _listed(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in cast("list[Any]", value)):
        return cast("list[str]", value)
    return None


def _listed(text: str) -> list[str] | None:
    """`["clay", "kiln"]`, `[clay, kiln]`, `clay, kiln`, `#clay #kiln` or `clay`."""
    inner = text.strip()
    if inner.startswith("[") and inner.endswith("]"):
        for written in (inner, inner.replace("'", '"')):
            try:
                return _texts(items) if isinstance(items := json.loads(written), list) else None
            except (ValueError, RecursionError):
                continue
        inner = inner[1:-1]
    if _HASHTAGS.fullmatch(inner):
        return [word.removeprefix("#") for word in inner.replace(",", " ").split()]
    return [item for part in inner.split(",") if (item := part.strip().strip("\"'"))]


_READERS: Mapping[Any, tuple[str, Callable[[Any], Any]]] = {
    str: ("a string", partial(_of_type, str)),
    int: ("a whole number", _whole_number),
    float: ("a number", partial(_of_type, (int, float))),
    bool: ("true or false", _truth),
    Mode: (f"one of {', '.join(get_args(Mode))}", _mode),
    Sequence[str]: ("a list of strings", _texts),
    Mapping[str, Any]: ("an object", partial(_of_type, dict)),
    Sequence[Mapping[str, Any]]: ("a list of objects", partial(_of_type, list)),
}
"""Maps a type to its name in messages, and a function that reads a JSON value as this type, or returns None."""
