"""A prompt that is little but a name in code is answered by what is stored about it, in a vault of any size; and what
a small vault is asked is no weaker answered than in a large one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.search.searcher import WEAK
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, embedded

pytestmark = pytest.mark.anyio

OTHERS = Path(__file__).parents[1] / "eval" / "developer" / "vault" / "notes"
NAMES = ("DATABASE_URL", "E4021", "pg_dump", "HTTP_PROXY", "x86_64", "useEffect", "MS5837", "ENOSPC", "INC-2231")
PROMPTS = ("{}", "{} issue", "{} again", "what about {}", "fix the {} error")
LONG = (
    "After the move to the new rack we had three outages in a row. The first came from a stale entry, the second from "
    "the backup window, and the third one had to do with {}: Marta traced it, and the agreed way is to page the "
    "platform team and leave the queue paused until they answer. Customers were told, and the report is in the folder."
)
SIZES = (1, 5, 50)
SILENCE = "Nothing relevant is stored."


@asynccontextmanager
async def vault_of(
    size: int, folder: Path, model_cache: Path
) -> AsyncGenerator[Callable[[str], Awaitable[KeywordEngine]]]:
    """A vault of so many notes, with the bundled model: gives its engine once it has this note instead of the last."""
    world = World(folder / "vault", folder / "state", model_cache)
    for at, file in enumerate(sorted(OTHERS.rglob("*.md"))[: size - 1]):
        world.write(f"notes/{at}.md", file.read_bytes())
    async with world.engine(embedder=EmbedderConfig()) as engine:

        async def with_note(note: str) -> KeywordEngine:
            world.write("notes/wanted.md", note)
            await engine.sweep()
            await embedded(engine)
            return engine

        yield with_note


@pytest.mark.parametrize("size", SIZES)
async def test_what_is_stored_about_a_name_is_told(size: int, tmp_path: Path, model_cache: Path) -> None:
    async with vault_of(size, tmp_path, model_cache) as with_note:
        for name in NAMES:
            engine = await with_note(LONG.format(name))
            for prompt in (each.format(name) for each in PROMPTS):
                assert LONG.format(name) in await engine.recall(prompt, phase="prompt"), (prompt, size)
                assert (await engine.search(prompt)).note is None, (prompt, size)


@pytest.mark.parametrize("size", SIZES)
async def test_a_name_that_nothing_says_wants_nothing(size: int, tmp_path: Path, model_cache: Path) -> None:
    note = "The buses stop at nine, and the tests continue with the 2nd of the two options."
    async with vault_of(size, tmp_path, model_cache) as with_note:
        engine = await with_note(note)
        for prompt in ("ZSTD_LEVEL", "E7755", "INC-7755", "STOP", "CONTINUE", "the 2nd one", "yes, go on"):
            assert SILENCE in await engine.recall(prompt, phase="prompt"), (prompt, size)


ANSWERED = {
    "Staging gets a fresh copy of the production data every Monday at six; mail addresses are replaced.": (
        "who empties staging at the start of the week", "how often is staging refreshed from live",
    ),
    "The office printer needs the blue tray pulled out before it takes A3 paper.": (
        "how do I print posters at work", "why does the printer refuse large sheets",
    ),
}  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
async def test_a_question_that_a_note_answers_in_other_words_is_not_weak(
    size: int, tmp_path: Path, model_cache: Path
) -> None:
    async with vault_of(size, tmp_path, model_cache) as with_note:
        for note, questions in ANSWERED.items():
            engine = await with_note(note)
            for asked in questions:
                answer = await engine.search(asked)
                assert answer.note is None, (asked, size, answer.confidence)
            answer = await engine.search("which dentist did Aunt Rosa recommend")
            assert answer.note == WEAK, (size, answer.confidence)
