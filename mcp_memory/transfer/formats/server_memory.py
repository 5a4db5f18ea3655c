"""Reads the JSONL file of the MCP reference memory server: one entity or relation per line. Each entity becomes a note,
with its observations as a list and its relations as links. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from mcp_memory.text.markdown.frontmatter import Value
from mcp_memory.text.markdown.links import relative_link
from mcp_memory.transfer.item import ImportItem, ImportSource, SkippedItem, SourceReading, digest_of
from mcp_memory.transfer.target_paths import free_paths, portable

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")


@dataclass(slots=True)
class _Entity:
    name: str
    sort: str
    observations: list[str] = field(default_factory=list[str])
    relations: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """What it is to whom."""


def read(source: ImportSource, data: bytes, modified_s: float) -> SourceReading:
    """A line that is no JSON, or of another form, is left out: the last one may be half written."""
    left: list[SkippedItem] = []
    entities: dict[str, _Entity] = {}
    relations: list[tuple[int, str, str, str]] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            _take(number, json.loads(line), entities, relations)
        except (ValueError, RecursionError) as error:
            why = str(error) if isinstance(error, _Odd) else "it is no JSON"
            left.append(SkippedItem(f"line {number}", why))
    for number, subject, verb, target in relations:
        if subject in entities:
            if (verb, target) not in entities[subject].relations:
                entities[subject].relations.append((verb, target))
        else:
            left.append(SkippedItem(f"line {number}", "it is a relation of an entity that is not there"))
    paths = free_paths({name: f"{portable(name)}.md" for name in entities})
    when = datetime.fromtimestamp(modified_s).astimezone().replace(microsecond=0)
    return SourceReading(source, [_item(each, paths, when) for each in entities.values()], left)


class _Odd(ValueError):
    """JSON, but no entity and no relation."""


def _take(number: int, said: Any, entities: dict[str, _Entity], relations: list[tuple[int, str, str, str]]) -> None:
    if not isinstance(said, dict):
        raise _Odd("it is no object")
    line = cast("Mapping[str, Any]", said)
    match line.get("type"):
        case "entity":
            name, observations = line.get("name"), line.get("observations", [])
            if not isinstance(name, str) or not name.strip() or not isinstance(observations, list):
                raise _Odd("it is an entity without a name or observations")
            entity = entities.setdefault(name, _Entity(name, _plain(line.get("entityType"))))
            news = [each for each in map(_observation, cast("list[Any]", observations)) if each]
            entity.observations += [each for each in dict.fromkeys(news) if each not in entity.observations]
        case "relation":
            ends = [line.get(key) for key in ("from", "relationType", "to")]
            if not all(isinstance(each, str) and each.strip() for each in ends):
                raise _Odd("it is a relation without both ends")
            subject, verb, target = map(str, ends)
            relations.append((number, subject, verb, target))
        case _:
            raise _Odd("it is neither an entity nor a relation")


def _observation(said: Any) -> str:
    """Some servers of this family write objects."""
    if isinstance(said, dict):
        said = cast("Mapping[str, Any]", said).get("content")
    return _clean(said).strip() if isinstance(said, str) else ""


def _item(entity: _Entity, paths: Mapping[str, str], when: datetime) -> ImportItem:
    here = paths[entity.name]
    parts = [f"# {_plain(entity.name)}\n"]
    if entity.observations:
        parts.append("".join(f"- {_indented(each)}\n" for each in entity.observations))
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
    escaped = "".join(f"\\{each}" if each in "[]\\" else each for each in label)
    return f"[{escaped}]({relative_link(here, paths[target])})"


def _indented(text: str) -> str:
    return "\n  ".join(text.splitlines())


def _plain(said: Any) -> str:
    """On one line."""
    return " ".join(_clean(str(said)).split()) if said is not None else ""


def _clean(text: str) -> str:
    """Without what no Markdown file should hold."""
    return _NO_TEXT.sub("\ufffd", text)


def names(lines: Iterable[bytes]) -> bool:
    """Whether the first line that is JSON is one of this form."""
    for line in lines:
        try:
            said: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        return isinstance(said, dict) and cast("Mapping[str, Any]", said).get("type") in {"entity", "relation"}
    return False
