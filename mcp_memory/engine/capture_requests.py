"""What can be asked about transcripts, by name, as plain JSON values in and out; see `engine.operations`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_memory.engine.serializers import Payload

if TYPE_CHECKING:
    from mcp_memory.engine.engine import Engine


async def grown(engine: Engine, arguments: Payload) -> Payload:
    """A turn of the session has ended: `transcript` is captured to its end, behind the answer. `delegated`: another
    agent runs the session, so that its prompts are no person's words."""
    if transcript := arguments.get("transcript"):
        delegated = arguments.get("delegated", False)
        await engine.parts.capture_worker.follow_durably(
            client_of(arguments["session"]), transcript, delegated=delegated
        )
    return {}


async def transcripts(engine: Engine, arguments: Payload) -> Payload:
    """Where there is something to capture: what `file` holds, or all of a client's or of every client's."""
    file, client = arguments.get("file"), arguments.get("client")
    found = await (
        engine.parts.capture_worker.service.list_in_file(file, client)
        if file
        else engine.parts.capture_worker.service.list_transcripts(client)
    )
    return {"transcripts": [{"client": place.client, "file": place.name} for place in found]}


async def capture(engine: Engine, arguments: Payload) -> Payload:
    """What is new in these transcripts, or with `dry_run` what it comes to; of as many as a moment is enough for. One
    that is not at its end, or has no report, is to be asked for again."""
    return {
        "reports": await engine.parts.capture_worker.capture_files(
            arguments["files"], dry_run=arguments.get("dry_run", False)
        )
    }


def client_of(session: str) -> str:
    """Hooks name a session CLIENT/ID."""
    return session.partition("/")[0]
