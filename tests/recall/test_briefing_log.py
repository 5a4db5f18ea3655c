from __future__ import annotations

import stat
from typing import Any

import pytest

from mcp_memory.errors import NotFound, Refused
from mcp_memory.recall.briefing_log import matched_words
from mcp_memory.recall.config import RecallConfig
from mcp_memory.runtime.json_lines import JsonLines
from mcp_memory.text.markdown import logs
from tests.support.briefings import PORT, QUESTION, begun, told
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, found

pytestmark = pytest.mark.anyio


async def why(engine: KeywordEngine, session: str = "last") -> list[dict[str, Any]]:
    return (await engine.perform("why", {"session": session}))["given"]


async def mute(engine: KeywordEngine, target: str, project: str | None = None, *, undo: bool = False) -> list[str]:
    return (await engine.perform("mute", {"target": target, "project": project, "undo": undo}))["muted"]


async def test_each_passage_is_recorded_with_its_words_and_scores_the_latest_first(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append(PORT, kind="fact")
        await told(engine, "codex/one", QUESTION, project="api")
        world.later(minutes=1)
        entry = await engine.append("The staging database listens on port 6000 since May", kind="log")
        await told(engine, "codex/two", QUESTION)
        await told(engine, "codex/two", "write a haiku about herons")  # is given nothing
        last = await why(engine)
        assert [one["session"] for one in last] == ["codex/two"]
        assert {passage["id"] for passage in last[0]["passages"]} == {note.id, entry.id}
        assert [one["session"] for one in await why(engine, "all")] == ["codex/two", "codex/one"]
        (first,) = await why(engine, "one")
        assert (first["event"], first["project"]) == ("prompt", "api")
        assert 0 < first["confidence"] <= 1
        (passage,) = first["passages"]
        assert (passage["path"], passage["title"]) == (note.path, PORT)
        assert set(passage["words"]) <= set(QUESTION.lower().rstrip("?").split())
        assert passage["words"]
        assert 0 < passage["score"] <= 1
        assert await why(engine, "nobody") == []


async def test_the_file_is_private_has_no_text_and_no_words_if_switched_off(world: World) -> None:
    async with world.engine(recall=RecallConfig(keep_words=False)) as engine:
        await engine.append(PORT, kind="fact")
        assert PORT in await told(engine, "codex/one", QUESTION)
        file = world.state / "briefings.jsonl"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert b"staging" not in file.read_bytes().replace(b"staging-database", b"")  # in the path alone
        assert "words" not in (await why(engine))[0]["passages"][0]


async def test_a_long_day_is_read_once_for_all_that_was_given_of_it(world: World) -> None:
    day = "".join(f"## {n // 60:02}:{n % 60:02} Step {n}\n\nHost alpha{n} was done in {n} s.\n\n" for n in range(1400))
    world.write("memory/2026-11-20.md", f"# 2026-11-20\n\n{day}")
    async with world.engine() as engine:
        ids = [f"memory/2026-11-20.md#{entry.hash}" for entry in logs.entries(day)]
        lines = JsonLines(world.state / "briefings.jsonl", synced=False)
        for n in range(400):
            passages = [{"id": ids[n + k], "path": "memory/2026-11-20.md"} for k in range(3)]
            lines.append({"session": "codex/one", "passages": passages})
        given = (await engine.perform("why", {"session": "all", "limit": 400}))["given"]  # in time
        assert [passage["title"] for passage in given[0]["passages"]] == ["Step 399", "Step 400", "Step 401"]


async def test_nothing_stays_of_a_turn_that_is_taken_back(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact")
        for session in ("codex/one", "codex/one", "codex/two"):
            await told(engine, session, QUESTION)
            world.later(minutes=1)
        await engine.append("The backup database listens on port 6000.", kind="fact")
        await told(engine, "codex/one", "on which port does the backup database listen")
        assert [one["session"] for one in await why(engine, "all")] == ["codex/one", "codex/two", "codex/one"]
        world.later(minutes=1)
        await told(engine, "codex/one", "forget what I just said, don't store that")
        assert [one["session"] for one in await why(engine, "all")] == ["codex/two", "codex/one"]
        assert b"backup" not in (world.state / "briefings.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("wish", "is_kept"),
    [
        ("Can I tell you something off the record?", [False, True]),
        ("Don't store anything from this conversation.", [False, False]),
        ("run the tests", [True, True]),
    ],
)
async def test_a_request_lasts_across_a_restart(world: World, wish: str, is_kept: list[bool]) -> None:
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact")
        await told(engine, "codex/one", wish)
    world.later(minutes=1)
    for expected in is_kept:
        async with world.engine() as engine:
            await engine.perform("brief", {"session": "codex/one", "prompt": QUESTION, "lasting": False})
            latest = (await why(engine))[0]
            assert any(passage.get("words") for passage in latest["passages"]) is expected
        world.later(minutes=1)


async def test_an_erased_note_leaves_no_words_there(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append(PORT, kind="fact")
        await told(engine, "codex/one", QUESTION)
        await engine.perform("erase", {"target": note.id, "sure": True})
        assert await why(engine) == []
        assert b"database" not in (world.state / "briefings.jsonl").read_bytes()


def test_words_match_in_any_form_and_stop_words_never() -> None:
    assert matched_words("Which ports does the database use?", "The database: its port is 1") == ["ports", "database"]
    for prompt, note, shared in (
        (
            "Le relance SMS, c'est lundi à 9h30 ?",
            "La relance des SMS part à 9h30.",
            ["relance", "sms", "9h30"],
        ),
        (
            "Wann läuft die Sicherung auf dem NAS?",
            "Die Sicherung läuft auf dem NAS.",
            ["läuft", "sicherung", "nas"],
        ),
        ("No, ¿el puerto de la base es el 1?", "El puerto de la base no es el 2.", ["puerto", "base"]),
    ):
        assert matched_words(prompt, note) == shared


@pytest.mark.parametrize("project", [None, "api"])
async def test_a_muted_note_is_never_given_unasked_but_found(world: World, project: str | None) -> None:
    async with world.engine() as engine:
        note = await engine.append(PORT, kind="preference")
        before = world.read(note.path)
        assert await mute(engine, note.id, project) == [project or "*"]
        assert await mute(engine, note.id, project) == [project or "*"]
        assert PORT not in await told(engine, "a/1", QUESTION, project="api")
        assert (PORT in await told(engine, "a/2", QUESTION, project="mill")) is (project is not None)
        assert PORT not in await begun(engine, "a/3", project="api")
        assert (PORT in await begun(engine, "a/4", project="mill")) is (project is not None)
        assert await found(engine, "database") == [note.path]
        assert PORT in await engine.recall(ids=[note.id])
        assert await mute(engine, note.id, undo=True) == []
        assert world.read(note.path) == before
        assert PORT in await told(engine, "a/5", QUESTION, project="api")


async def test_muting_leaves_what_a_person_wrote_beside_the_mark(world: World) -> None:
    head = "---\nmuted:  # ask Ada\n  - web  # until May\n---\nTea at four\n"
    world.with_home("").write("notes/tea.md", head)
    async with world.engine() as engine:
        assert await mute(engine, "notes/tea.md", "api") == ["web", "api"]
        assert world.read("notes/tea.md").decode() == head.replace("May\n", "May\n  - api\n")
        assert await mute(engine, "notes/tea.md", "api", undo=True) == ["web"]
        assert world.read("notes/tea.md").decode() == head


async def test_one_entry_of_a_log_is_muted(world: World) -> None:
    async with world.engine() as engine:
        entry = await engine.append(PORT, kind="log")
        other = await engine.append("The staging database listens on port 6000 since May", kind="log")
        await mute(engine, entry.id, "api")
        said = await told(engine, "a/1", QUESTION, project="api")
        assert PORT not in said
        assert "6000" in said
        start = await engine.recall(project="api")
        assert PORT not in start
        assert "6000" in start
        assert PORT in await told(engine, "a/2", QUESTION, project="mill")
        assert await mute(engine, other.id) == ["*"]
        assert await told(engine, "a/3", QUESTION, project="api") == ""
        assert await mute(engine, entry.id, "api", undo=True) == []
        assert await mute(engine, other.id, undo=True) == []
        assert world.read(entry.path).startswith(b"# 2026-11-21")
        assert PORT in await told(engine, "a/4", QUESTION, project="api")


async def test_what_cannot_be_muted_is_refused_and_a_mute_can_be_undone(world: World) -> None:
    async with world.engine() as engine:
        note = await engine.append(PORT, kind="fact")
        before = world.read(note.path)
        await mute(engine, note.path)
        (change, *_) = (await engine.perform("changes", {}))["changes"]
        assert (change["kind"], change["client"]) == ("muted", "cli")
        await engine.perform("undo", {"target": change["id"], "sure": True})
        assert world.read(note.path) == before
        with pytest.raises(NotFound):
            await mute(engine, "notes/none.md")
        with pytest.raises(NotFound):
            await mute(engine, "memory/2026-11-21.md#0000000000000000")
        memory = await engine.append("Use uv", path="MEMORY.md", section="Preferences")
        with pytest.raises(Refused, match="as a whole"):
            await mute(engine, memory.id)


async def test_no_words_of_a_prompt_that_is_off_the_record_are_kept(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(PORT, kind="fact")
        for session, prompts in {
            "codex/1": [f"off the record: {QUESTION}"],
            "codex/2": ["Can I tell you something off the record?", QUESTION],
            "codex/3": [f"<private>staging</private> {QUESTION}"],
        }.items():
            for prompt in prompts:
                await told(engine, session, prompt)
            assert [passage for one in await why(engine, session) for passage in one["passages"]
                    if passage.get("words")] == []  # fmt: skip
            assert {one["event"] for one in await why(engine, session)} <= {"prompt"}
