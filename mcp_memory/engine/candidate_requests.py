"""What can be asked about transcripts and candidates, by name, as plain JSON values in and out; see `operations`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mcp_memory.capture.readers.plain import read_plain
from mcp_memory.errors import InvalidInput

if TYPE_CHECKING:
    from mcp_memory.engine.engine import Engine

Payload = dict[str, Any]


async def extract(engine: Engine, arguments: Mapping[str, Any]) -> Payload:
    """Take what is worth remembering from `messages`, in the plain form."""
    messages = read_plain(arguments["messages"].encode(), engine.parts.vault.layout.tz)
    client, session = arguments.get("client", "default"), arguments["session"]
    taken = await engine.parts.candidate_ingest.ingest(
        arguments["file"], client, session, messages, project=arguments.get("project")
    )
    return asdict(taken)


async def held(engine: Engine, arguments: Mapping[str, Any]) -> Payload:
    """By which note each of these statements is held, or None."""
    found = [await engine.parts.neighbours.holder(text) for text in arguments["texts"]]
    return {"held": [each and asdict(each) for each in found]}


async def inbox(engine: Engine, _: Mapping[str, Any]) -> Payload:
    return {"waiting": [each.payload() for each in await engine.parts.review.waiting()]}


async def review(engine: Engine, arguments: Mapping[str, Any]) -> Payload:
    """`verb`: accept (with `content` instead of its text, `supersede` in place of what it contradicts), merge (`into`
    another note), drop, or undo what became active at once."""
    verb, target, etag = arguments["verb"], arguments["target"], arguments.get("etag")
    match verb:
        case "accept":
            supersede = arguments.get("supersede", False)
            record = await engine.parts.review.accept(target, etag, arguments.get("content"), supersede=supersede)
        case "merge":
            if "into" not in arguments:
                raise InvalidInput("merge needs into", hint="pass the id or path of a note")
            record = await engine.parts.review.merge(target, arguments["into"], etag)
        case "drop":
            record = await engine.parts.review.drop(target, etag)
        case "undo":
            record = await engine.parts.review.undo(target)
        case _:
            raise InvalidInput(f"unknown verb {verb[:40]!r}", hint="accept, merge, drop or undo")
    return {"id": record.id, "path": record.path, "title": record.title, "kind": record.kind}
