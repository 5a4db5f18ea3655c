"""What a session is told."""

from __future__ import annotations

SOON = 30.0
PORT = "The staging database listens on port 5433."
QUESTION = "on which port does the staging database listen"


async def told(engine, session: str, prompt: str, **rest) -> str:
    return (await engine.parts.briefer.prompt(session, prompt, rest.get("project"), deadline_s=SOON)).text


async def begun(engine, session: str = "s", project: str | None = None) -> str:
    return (await engine.parts.briefer.start(session, project, deadline_s=SOON)).text
