"""Sessions that are kept apart get their own notes, those of no session, and the topics that are shared with them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mcp_memory.errors import AlreadyExists, ConfigInvalid, InvalidInput, NotFound, PreconditionFailed, Refused
from mcp_memory.models import Receipt
from mcp_memory.recall.config import RecallConfig
from mcp_memory.vault.journals.tombstones import Caller
from tests.capture.written import line
from tests.extraction.talks import ingest, person
from tests.support.keyword_engine import KeywordEngine
from tests.support.sessions import Sessions
from tests.support.topics import ALL_AT_ONCE, RAIL, TEA, told
from tests.support.world import World, embedded

pytestmark = pytest.mark.anyio

APART = RecallConfig(sessions_apart=True, start_usual_tokens=1000)
TEA_QUESTION, RAIL_QUESTION = (
    "how is green tea from Uji made",
    "from which platform does the night train to Vienna leave",
)
DECIDED = "We decided to order green tea from Uji by the kilo, because of the price."


async def store(engine: KeywordEngine, session: str, texts: list[str], **rest: str) -> list[Receipt]:
    return [await engine.append(text, session=session, source="codex", **rest) for text in texts]


async def seen(engine: KeywordEngine, session: str | None, query: str, **rest: str) -> str:
    """What the session gets in answer to a question, by both tools."""
    found = await engine.search(query, limit=50, session=session, **rest)
    return "\n".join([*(hit.snippet for hit in found.hits), await engine.recall(query, session=session, **rest)])


async def told_unasked(engine: KeywordEngine, session: str, prompt: str) -> str:
    return (await engine.perform("brief", {"session": session, "prompt": prompt, "project": "kitchen"}))["text"]


async def test_each_session_has_its_own_notes_and_those_of_no_session(world: World) -> None:
    async with world.engine(recall=APART) as engine:
        await engine.append("The teapot is from Kyoto.", kind="preference")
        for name, color in (("a", "crimson"), ("b", "azure")):
            await store(engine, name, [f"The kettle of {name} is {color}."], kind="decision", project="kitchen")
            await engine.append(f"Bought a {color} kettle.", kind="log", session=name, source="codex")
        for name, own, other in (("a", "crimson", "azure"), ("b", "azure", "crimson")):
            texts = [
                await seen(engine, name, "which kettle and teapot"),
                await seen(engine, name, "which kettle and teapot", project="kitchen"),
                await engine.recall(session=name),
            ]
            for text in texts:
                assert own in text and "Kyoto" in text and other not in text
            assert "session:" not in texts[0].partition("\n")[2], "a session needn't read its own name"
            unasked = await told_unasked(engine, f"codex/{name}/subagent-1", "which kettle do we have")
            assert own in unasked and other not in unasked
        for other in ("c", None, "../a", "a/", "a\u0301"):
            text = await seen(engine, other, "which kettle and teapot")
            assert "Kyoto" in text and "crimson" not in text and "azure" not in text
        everything = (await engine.perform("recall", {"query": "which kettle"}))["text"]
        assert "crimson" in everything and "azure" in everything, "a person"


async def test_no_door_leads_to_another_session(world: World) -> None:
    """`b` asks for what `a` stored, `a` as the counterproof."""
    async with world.engine(recall=APART) as engine:
        (note,) = await store(engine, "a", ["The kettle of Ada is crimson."], kind="decision", project="kitchen")
        entry = await engine.append("Bought a crimson kettle.", kind="log", session="a", source="codex")
        await engine.append("Polished the teapot.", kind="log", session="b", source="codex")
        await store(engine, "a", ["Order a crimson lid."], kind="commitment", due="2026-11-22")
        world.write("notes/all.md", f"The teapot goes with [[{note.id}]].\n")
        await engine.sweep()
        for name, sees in (("a", True), ("b", False), (None, False)):
            asked = {"session": name, "budget_tokens": 2000}
            for target in ({"ids": [note.id]}, {"ids": [note.id[-6:]]}, {"path": note.path}, {"ids": [entry.id]}):
                if sees:
                    assert "crimson" in await engine.recall(**asked, **target)
                else:
                    with pytest.raises(NotFound, match="no such note"):
                        await engine.recall(**asked, **target)
            texts = [
                await engine.recall(**asked, path=entry.path),
                await engine.recall(**asked, path=entry.path, lines="1-"),
                await engine.recall(**asked),
                await engine.recall("what have I promised", **asked),
                await seen(engine, name, "which kettle", project="*"),
                await seen(engine, name, "which kettle", project="kitchen"),
                await seen(engine, name, "which kettle", project="session:a"),
                str(await engine.search("kettle", session=name, explain=True, include_archived=True, path="notes")),
                str(await engine.search("kettle", session=name, path="@claims")),
                str(await engine.ask("titles", Caller("codex", name), ids=[note.id])),
                str(await engine.ask("tree", Caller("codex", name))),
                await engine.recall(**asked, path="notes/all.md"),
            ]
            found = [number for number, text in enumerate(texts) if "rimson" in text or "kettle of Ada" in text]
            assert (found == []) is not sees, found
        for who in ({"session": "b"}, {}):
            for call in (
                engine.append("The kettle is azure.", supersedes=note.id, **who),
                engine.append("The kettle is azure.", supersedes=entry.id, **who),
                engine.forget(note.id, **who),
                engine.forget(entry.id, **who),
                engine.ask("restore", target=note.id, **who),
            ):
                with pytest.raises(NotFound, match="no such note"):
                    await call
        with pytest.raises((AlreadyExists, NotFound, Refused, PreconditionFailed)):
            await engine.append("The kettle is azure.", path=note.path, session="b")
        assert "crimson" in (await engine.perform("recall", {"ids": [note.id]}))["text"], "a person"
        assert (await engine.forget(note.id, session="a")).status == "deleted"


async def test_hooks_give_a_session_only_its_own(world: World) -> None:
    error = "PaymentMismatchError: ledger 4711 expects cents, not euros"
    async with world.engine(recall=APART) as engine:
        await store(engine, "a", [f"{error} is fixed by the crimson adapter."], kind="fix", project="kitchen")
        await store(engine, "a", ["We decided on crimson kettles only."], kind="decision", project="kitchen")
        await store(engine, "a", ["Order a crimson lid."], kind="commitment", due="2026-11-22")
        for name, sees in (("a", True), ("b", False)):
            for project in (None, "kitchen"):
                calls = (
                    ("brief", {"left_off": True, "for_person": True}),
                    ("brief", {"prompt": "which kettles did we decide on"}),
                    ("brief", {"prompt": "which kettles did we decide on", "subagent": True, "lasting": False}),
                    ("brief", {"due": True}),
                    ("advise", {"output": error}),
                )
                for number, (operation, wanted) in enumerate(calls):
                    session = {"session": f"codex/{name}/{number}{project}", "project": project}
                    answer = await engine.perform(operation, session | wanted)
                    assert ("crimson" in str(answer)) is sees, (name, project, operation, wanted)


async def test_sessions_are_told_apart_by_their_whole_name(world: World) -> None:
    names = ["x" * 99 + end for end in "12"] + ["team/ada", "team/bob", "../team"]
    async with world.engine(recall=APART) as engine:
        for number, name in enumerate(names):
            await store(engine, name, [f"The kettle has the number {number}77."])
        for number, name in enumerate(names):
            text = await seen(engine, name, "which number has the kettle")
            assert [at for at in range(len(names)) if f"number {at}77" in text] == [number]
    assert not [path for path in world.root.parent.iterdir() if "team" in path.name]


async def test_a_text_is_a_note_in_each_session_and_no_receipt_quotes_another_session(world: World) -> None:
    text = "The heron feeder is refilled by Ada on Mondays and Fridays."
    async with world.engine(recall=APART) as engine:
        first, second = [(await store(engine, name, [text]))[0] for name in ("a", "b")]
        assert first.id != second.id and not second.similar
        assert "Ada" in await seen(engine, "a", "who refills the heron feeder")
        for_all = await engine.append("The heron feeder is refilled by Ada.", session="a", project="*")
        later = await engine.append(f"{text} Not on holidays.", session="c", supersedes=for_all.id)
        assert not later.similar
        for name in ("b", "c"):
            assert "holidays" in await seen(engine, name, "who refills the heron feeder"), "it was for all before"
        own = await engine.append(f"{text} By bike.", session="a", supersedes=first.id, project="kitchen")
        assert own.superseded is not None
        assert "bike" not in await seen(engine, "b", "who refills the heron feeder")


async def test_off_by_default_changes_nothing(world: World) -> None:
    async with world.engine() as engine:
        await store(engine, "a", ["The kettle is crimson."], project="kitchen")
        world.write("_sessions.json", '[{"session": "a", "topic": "notes"}]')
        assert "crimson" in await seen(engine, "b", "which kettle", project="kitchen")
        assert "crimson" not in await seen(engine, "a", "which kettle", project="cellar")
        assert b"project: kitchen" in b"".join(world.files().values())


async def test_what_is_captured_of_a_session_belongs_to_it(world: World) -> None:
    sessions = Sessions(world)
    async with sessions.engine(recall=APART) as engine:
        await sessions.capture(engine, line(1, "I prefer tea from Uji. We use tabs, never spaces."), "s-7")
        for asked in ("which tea do I prefer", "tabs or spaces"):
            assert "Uji" in await seen(engine, "s-7", "which tea do I prefer, tabs or spaces")
            assert "Uji" not in await seen(engine, "s-8", asked), "not even what a person prefers everywhere"
        await engine.sweep()
        said = await engine.search("tea", session="s-8", path="@transcripts")
        assert not said.hits and (await engine.search("tea", session="s-7", path="@transcripts")).hits
        await ingest(engine, "chat.jsonl", "python", "s-9", [person("We always use spaces, never tabs.")])
        assert "use spaces" in await seen(engine, "s-9", "tabs or spaces")
        assert "use spaces" not in await seen(engine, "s-7", "tabs or spaces")
        assert not await engine.conflicts()


async def shared(
    engine: KeywordEngine, topic: str | None = None, session: str | None = None, **rest: bool
) -> dict[str, str]:
    """Each topic that is shared, with its session."""
    answer = await engine.perform("grants", {"topic": topic, "session": session, **rest})
    return {grant["topic"]: grant["session"] for grant in answer["grants"]}


async def grown(engine: KeywordEngine) -> str:
    """Two sessions with a topic each; returns the folder of the tea's."""
    await store(engine, "a", TEA)
    await store(engine, "a", [DECIDED], kind="decision")
    await store(engine, "b", RAIL)
    await told(engine, ["Nobody's note about a lighthouse."])
    await embedded(engine)
    await engine.compact()
    topics = (await engine.perform("tree", {}))["topics"]
    assert [topic["title"] for topic in topics] == ["session:a", "session:b"], "one folder a session"
    return topics[0]["path"]


async def test_a_topic_is_shared_and_taken_back(toy_world: World) -> None:
    async with toy_world.engine(recall=APART, topics=ALL_AT_ONCE) as engine:
        tea = await grown(engine)
        assert "warm pot" in await seen(engine, "a", TEA_QUESTION)
        for path in (None, "topics"):
            found = await engine.search(TEA_QUESTION, session="b", path=path)
            assert "warm pot" not in await seen(engine, "b", TEA_QUESTION) + str(found)
        assert await shared(engine, "session:a", "b") == {tea: "b"}
        text = await seen(engine, "b", TEA_QUESTION) + await seen(engine, "b", "how much green tea was ordered")
        assert "warm pot" in text and "by the kilo" in text, "also a note elsewhere that the topic links to"
        assert "warm pot" in str(await engine.search(TEA_QUESTION, session="b", path="topics"))
        assert "warm pot" in await told_unasked(engine, "codex/b", TEA_QUESTION)
        assert "Vienna" not in await seen(engine, "a", RAIL_QUESTION), "only in the one direction"
        assert "warm pot" not in await seen(engine, "c", TEA_QUESTION)
        assert await shared(engine, tea, "b", revoke=True) == {} == await shared(engine)
        assert "warm pot" not in await seen(engine, "b", TEA_QUESTION)
        assert await shared(engine, tea, "b", revoke=True) == {}, "again"
        with pytest.raises(NotFound, match="no topic"):
            await shared(engine, "coffee", "b")
        with pytest.raises(InvalidInput):
            await shared(engine, tea, "b\nc")


async def test_a_start_shows_the_fresh_tail_of_the_session_and_of_what_is_shared(toy_world: World) -> None:
    tail = replace(ALL_AT_ONCE, fresh_tail_count=8)
    async with toy_world.engine(recall=APART, topics=tail) as engine:
        await store(engine, "a", ["A crimson kettle boils in ninety seconds on the small ring."])
        await store(engine, "b", ["An azure kettle boils in eighty seconds on the large ring."])
        for name, own, other in (("a", "crimson", "azure"), ("b", "azure", "crimson")):
            start = (await engine.perform("brief", {"session": f"codex/{name}"}))["text"]
            assert f"{own} kettle boils in" in start and other not in start


async def test_a_topic_that_moves_stays_shared(toy_world: World) -> None:
    async with toy_world.engine(recall=APART, topics=ALL_AT_ONCE) as engine:
        tea = await grown(engine)
        await shared(engine, tea, "b")
        await engine.perform("edit_topic", {"verb": "rename", "topic": tea, "name": "Hot drinks"})
        assert "warm pot" in await seen(engine, "b", TEA_QUESTION)
        (now,) = await shared(engine)
        assert now != tea and (toy_world.root / now).is_dir()
        assert await shared(engine, now, "b", revoke=True) == {}


async def test_the_file_is_the_truth(toy_world: World) -> None:
    async with toy_world.engine(recall=APART, topics=ALL_AT_ONCE) as engine:
        tea = await grown(engine)
        toy_world.write("_sessions.json", json.dumps([{"session": "b", "topic": f"{tea}/"}]))
        assert "warm pot" in await seen(engine, "b", TEA_QUESTION), "by hand, or from a sync"
        wrong = ({"b": tea}, [tea], [{"session": "b"}], [{"session": "b", "topic": 1}], [{"topics": tea}], None)
        for damaged in (*map(json.dumps, wrong), "[", "[" * 100_000, b"\xff"):
            toy_world.write("_sessions.json", damaged)
            assert "warm pot" not in await seen(engine, "b", TEA_QUESTION)
            assert any("_sessions.json" in one.what for one in await engine.doctor())
            with pytest.raises((ConfigInvalid, Refused)):
                await shared(engine, tea, "b")
        odd = [{"session": "b", "topic": topic, "page": "01JGONE"} for topic in ("", "/", "topics/09-gone")]
        toy_world.write("_sessions.json", json.dumps(odd))
        assert "warm pot" not in await seen(engine, "b", TEA_QUESTION)
        assert not any("_sessions.json" in one.what for one in await engine.doctor())
