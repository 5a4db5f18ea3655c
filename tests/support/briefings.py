"""What a session is told."""

from __future__ import annotations

from tests.support.keyword_engine import KeywordEngine

PORT = "The staging database listens on port 5433."
QUESTION = "on which port does the staging database listen"


async def told(engine: KeywordEngine, session: str, prompt: str, project: str | None = None) -> str:
    return (await engine.brief(session, prompt, project=project)).text


async def begun(engine: KeywordEngine, session: str = "s", project: str | None = None) -> str:
    return (await engine.brief(session, project=project)).text
