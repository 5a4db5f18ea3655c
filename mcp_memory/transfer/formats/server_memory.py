"""Reads the JSONL file of the MCP reference memory server: one entity or relation per line. Each entity becomes a note,
with its observations as a list and its relations as links. Pure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from mcp_memory.errors import InvalidInput
from mcp_memory.storage.path_rules import portable
from mcp_memory.text.markdown.frontmatter import Value
from mcp_memory.text.markdown.links import relative_link
from mcp_memory.text.parsed_values import table_at, text_at, value_at
from mcp_memory.transfer.item import ImportItem, ImportSource, SkippedItem, SourceReading, digest_of
from mcp_memory.transfer.target_paths import free_paths

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")
"""Characters that JSON can have and a Markdown file can't."""


@dataclass
class _Entity:
    name: str
    sort: str
    observations: dict[str, None] = field(default_factory=dict[str, None])
    relations: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])
    """Verb and target, in order."""


def read(source: ImportSource, data: bytes, modified_s: float) -> SourceReading:
    """Read the entities and relations. A line that isn't JSON or has another form is skipped, since the last line may
    be half written."""
    left: list[SkippedItem] = []
    entities: dict[str, _Entity] = {}
    relations: list[tuple[int, str, str, str]] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            for value in _values_in(line):
                _take(number, value, entities, relations)
        except (ValueError, RecursionError, InvalidInput) as error:
            why = str(error) if isinstance(error, InvalidInput) else "it is not JSON"
            left.append(SkippedItem(f"line {number}", why))
    for number, subject, verb, target in relations:
        if subject in entities:
            entities[subject].relations[verb, target] = None
        else:
            left.append(SkippedItem(f"line {number}", "it is a relation of an entity that is not there"))
    paths = free_paths({name: f"{portable(name)}.md" for name in entities})
    when = datetime.fromtimestamp(modified_s).astimezone().replace(microsecond=0)
    return SourceReading(source, [_item(entity, paths, when) for entity in entities.values()], left)


def _values_in(line: bytes) -> Iterator[object]:
    """Yield the values of a line. A line has several values if two servers wrote at the same time, without a line
    break. Raises ValueError, RecursionError after the last whole value."""
    text, at, decoder = line.decode(), 0, json.JSONDecoder()
    while rest := text[at:].lstrip(" \t\r,"):
        value, read = decoder.raw_decode(rest)
        yield value
        at = len(text) - len(rest) + read


def _take(number: int, line: object, entities: dict[str, _Entity], relations: list[tuple[int, str, str, str]]) -> None:
    """Add the line's entity or relation to those found. Raises InvalidInput if the line is neither an entity nor a
    relation."""
    match value_at(line, "type"):
        case "entity":
            name, observations = value_at(line, "name"), table_at(line).get("observations", [])
            if not isinstance(name, str) or not name.strip() or not isinstance(observations, list):
                raise InvalidInput("it is an entity without a name or observations")
            entity = entities.setdefault(name, _Entity(name, _plain(value_at(line, "entityType"))))
            found = map(_observation, cast("list[object]", observations))
            entity.observations |= dict.fromkeys(text for text in found if text)
        case "relation":
            subject, verb, target = (text_at(line, key) for key in ("from", "relationType", "to"))
            if not (subject.strip() and verb.strip() and target.strip()):
                raise InvalidInput("it is a relation without both ends")
            relations.append((number, subject, verb, target))
        case _:
            raise InvalidInput("it is neither an entity nor a relation")


def _observation(value: object) -> str:
    """Return the observation's text. Some servers of this family write objects."""
    return _printable(value if isinstance(value, str) else text_at(value, "content")).strip()


def _item(entity: _Entity, paths: Mapping[str, str], when: datetime) -> ImportItem:
    here = paths[entity.name]
    parts = [f"# {_plain(entity.name)}\n"]
    if entity.observations:
        texts = ("\n  ".join(text.splitlines()) for text in entity.observations)
        parts.append("".join(f"- {text}\n" for text in texts))
    if entity.relations:
        lines = (f"- {_plain(verb)} {_link(here, target, paths)}\n" for verb, target in entity.relations)
        parts.append("## Relations\n\n" + "".join(lines))
    text = "\n".join(parts)
    added = {"tags": [entity.sort[:100]]} if entity.sort else {}
    properties: dict[str, Value] = {"kind": "fact", "title": _plain(entity.name)[:200], "created": when}
    return ImportItem(entity.name, here, text, properties, added, digest=digest_of(text.encode()))


def _link(here: str, target: str, paths: Mapping[str, str]) -> str:
    label = _plain(target)
    if target not in paths:
        return label
    escaped = re.sub(r"([\[\]\\])", r"\\\1", label)
    return f"[{escaped}]({relative_link(here, paths[target])})"


def _plain(value: object) -> str:
    """Return the value on one line."""
    return " ".join(_printable(str(value)).split()) if value is not None else ""


def _printable(text: str) -> str:
    return _NO_TEXT.sub("\ufffd", text)


def is_memory(lines: Iterable[bytes]) -> bool:
    """Return whether the first line that is JSON has this form."""
    for line in lines:
        with suppress(ValueError, RecursionError):
            return value_at(json.loads(line), "type") in ("entity", "relation")
    return False
