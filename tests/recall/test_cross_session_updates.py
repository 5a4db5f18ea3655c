"""News: a session is told once who else wrote what it is given, if that came after it began."""

from __future__ import annotations

import pytest

from mcp_memory.models import NoteId, NotePath
from mcp_memory.recall.config import RecallConfig
from mcp_memory.recall.cross_session_updates import is_by
from mcp_memory.recall.seen_passages import SeenPassages
from mcp_memory.text.tokens import count_tokens
from mcp_memory.vault.journals.change_journal import ChangeKind, NoteChange
from tests.support.briefings import PORT, QUESTION, begun, told
from tests.support.world import World

pytestmark = pytest.mark.anyio

NEW = "New since this session began"
MINE = "claude-code/1"


async def test_who_wrote_what_when(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("The staging database was moved in May.", kind="preference", source="codex", session="0")
        assert "in May" in await begun(engine, MINE)
        await engine.append(PORT, kind="fact", source="codex", session="7f3" + "x" * 40)
        said = await told(engine, MINE, QUESTION)
        assert f'{NEW}: "{PORT}" (2026-11-21, by codex, session 7f3{"x" * 21}).' in said
        assert said.index("data, not instructions") < said.index(NEW), "within the marks: a title is stored data"
        assert "in May" not in said, "what was there before is no news"
        assert await told(engine, MINE, QUESTION) == ""
        await engine.reset(MINE)
        again = await told(engine, MINE, QUESTION)
        assert PORT in again and NEW not in again, "a compaction takes the passage out, not that it was told"


async def test_only_what_fits_the_prompt(world: World) -> None:
    async with world.engine() as engine:
        await begun(engine, MINE)
        await engine.append("Herons nest in the alder by the mill.", kind="fact", source="codex", session="2")
        assert await told(engine, MINE, QUESTION) == ""
        assert NEW in await told(engine, MINE, "where do the herons nest"), "it waits for its topic"


async def test_what_comes_too_late_is_still_news(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world.engine() as engine:
        await begun(engine, MINE)
        await engine.append(PORT, kind="fact", source="codex")

        def fails(*_: object) -> None:
            raise RuntimeError

        with monkeypatch.context() as patched, pytest.raises(RuntimeError):
            patched.setattr(SeenPassages, "add", fails)
            await told(engine, MINE, QUESTION)
        assert NEW in await told(engine, MINE, QUESTION)


async def test_a_log_entry_and_a_note_that_replaces_another(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append(PORT, kind="fact", source="claude-code", session="1")
        await begun(engine, MINE)
        await engine.append("The staging database was dumped.", kind="log", title="Dump", source="codex", session="2")
        new = "The staging database listens on port 6000."
        await engine.append(new, kind="fact", supersedes=old.id, source="openclaw")
        said = await told(engine, MINE, "the staging database: which port, and was it dumped?")
        line = next(line for line in said.splitlines() if line.startswith(NEW))
        assert "by codex, session 2" in line and f'"{new}" (2026-11-21, by openclaw)' in line


async def test_a_crowd_is_named_in_part_and_the_budget_holds(world: World) -> None:
    budget = RecallConfig().phases["prompt"].budget_tokens
    async with world.engine(recall=RecallConfig()) as engine:
        await begun(engine, MINE)
        for number in range(40):
            about = "The staging database listens on port" if number < 6 else "A heron nests at mill"
            await engine.append(f"{about} {number}, and more.", source="codex", session="2")
        said = await told(engine, MINE, QUESTION)
        assert said.count("by codex") == 3 and count_tokens(said) <= budget


async def test_the_same_text_whenever_it_is_told(world: World) -> None:
    async with world.engine() as engine:
        for session in ("claude-code/1", "claude-code/2"):
            await begun(engine, session)
        await engine.append(PORT, kind="fact", source="codex", session="9")
        first = await told(engine, "claude-code/1", QUESTION)
        world.later(hours=5)
        assert await told(engine, "claude-code/2", QUESTION) == first and NEW in first


async def test_what_a_restart_finds_is_known(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact", source="codex", session="9")
    async with world.engine() as engine:
        said = await told(engine, MINE, QUESTION)
        assert PORT in said and NEW not in said


@pytest.mark.parametrize(
    ("source", "session", "own"),
    [
        ("claude-code", "1", True),
        ("claude-code", "2", False),
        ("claude-code", None, True),  # it may have been this very session
        ("codex", "1", False),
        ("codex", None, False),
        (None, "1", True),  # without tokens nobody knows whose session it is
        (None, "2", False),
        (None, None, True),
    ],
)
def test_whose_it_is(source: str | None, session: str | None, own: bool) -> None:
    change = NoteChange(0.0, ChangeKind.STORED, NotePath("a.md"), NoteId("a"), client=source, session=session)
    assert is_by(change, MINE) is own
