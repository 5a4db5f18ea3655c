"""Dreaming over a real vault: what is proposed, what a person's edits of DREAMS.md do, and what an undo restores."""

from __future__ import annotations

import json
import os
import shutil
from typing import Any

import pytest

from mcp_memory.curation.dreams.dream_page import MOVE_OUT, find_demotions
from mcp_memory.errors import DeadlineExceeded, InvalidInput, McpMemoryError, NotFound, Refused, StorageFailed
from mcp_memory.models import NotePath
from mcp_memory.recall.config import RecallConfig
from mcp_memory.vault.note_file import entries_of
from mcp_memory.vault.vault import Vault
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, found

pytestmark = pytest.mark.anyio

PNPM = "We decided to use pnpm for the web shop, never npm."
BERLIN = "I prefer answers in short bullet points."
THURSDAY = "I always want the release on a Thursday."
OLD, NEW = "We decided to keep the orders in MySQL.", "We moved the orders from MySQL to Postgres."


def logs(world: World) -> World:
    """Three statements that recur, one that is replaced, its replacement, and what isn't worth remembering."""
    for day in range(1, 11):
        said = ["Ran the tests, all green."]
        said += [PNPM] if day in {1, 4, 7, 9} else []
        said += [BERLIN] if day in {2, 3, 8} else []
        said += [THURSDAY] if day < 3 else []
        said += [OLD] if day in {1, 2, 3} else []
        said += [NEW] if day == 5 else []
        body = "".join(f"## {9 + n}:00 Work {day}.{n} (session: s{day})\n\n{text}\n\n" for n, text in enumerate(said))
        world.write(f"memory/2026-11-{day:02}.md", f"# 2026-11-{day:02}\n\n{body}")
    return world


async def dream(engine: KeywordEngine, **arguments: Any) -> dict[str, Any]:
    return await engine.perform("dream", arguments)


async def stored(engine: KeywordEngine, world: World, *texts: str) -> dict[str, Any]:
    """The run that stores these proposals, which were ticked."""
    await dream(engine)
    page = world.read("DREAMS.md").decode()
    for text in texts:
        page = page.replace(f"[ ] {text}", f"[x] {text}")
    world.write("DREAMS.md", page)
    done = await dream(engine)
    assert len(done["promoted"]) == len(texts)
    return done


def snapshot(world: World) -> dict[str, bytes]:
    found = (file for file in world.root.rglob("*") if file.is_file())
    return {file.relative_to(world.root).as_posix(): file.read_bytes() for file in found}


async def test_what_recurs_is_proposed_with_reasons_and_only_what_is_ticked_is_stored(world: World) -> None:
    logs(world).write("MEMORY.md", "# Memory\n\n## Decisions\n\n- Lena owns billing.\n")
    async with world.engine() as engine:
        before = snapshot(world)
        planned = await dream(engine, dry_run=True)
        assert snapshot(world) == before
        assert [one["text"] for one in planned["proposed"]] == [PNPM, BERLIN, THURSDAY, NEW]
        await dream(engine)
        page = world.read("DREAMS.md").decode()
        assert f"## Decisions\n\n- [ ] {PNPM} ^dream-" in page
        assert "said on 4 days from 2026-11-01 to 2026-11-09; score 0.68" in page
        assert "[2026-11-01](memory/2026-11-01.md)" in page
        once = snapshot(world)
        await dream(engine)
        assert snapshot(world) == once  # nothing new
        assert "DREAMS.md" not in await found(engine, "pnpm web shop npm")
        world.write("DREAMS.md", page.replace(f"[ ] {PNPM}", f"[x] {PNPM}"))
        done = await dream(engine)
        assert done["refused"] == []
        memory = world.read("MEMORY.md").decode()
        assert memory == (
            f"# Memory\n\n## Decisions\n\n- Lena owns billing.\n- {PNPM} ([2026-11-09](memory/2026-11-09.md))\n"
        )
        page = world.read("DREAMS.md").decode()
        assert PNPM not in page
        assert BERLIN in page
        await dream(engine)
        assert world.read("MEMORY.md").decode() == memory
        await engine.undo_run(done["run"])
        assert world.read("MEMORY.md") == once["MEMORY.md"]
        await engine.sweep()
        assert await engine.lost() == [], "what is taken back isn't lost"
        assert (await dream(engine))["proposed"] == [] and PNPM not in world.read("DREAMS.md").decode()
        assert world.read("MEMORY.md") == once["MEMORY.md"], "what is taken back isn't stored again"
        assert {path: data for path, data in snapshot(world).items() if path.startswith("memory/2026")} == {
            path: data for path, data in before.items() if path.startswith("memory/2026")
        }
        assert (await engine.undo_run(done["run"])).done == []


async def test_the_undo_of_a_run_takes_back_what_it_proposed_and_nobody_has_decided_about(world: World) -> None:
    async with logs(world).engine() as engine:
        run = (await dream(engine))["run"]
        page = world.read("DREAMS.md").decode()
        world.write("DREAMS.md", page.replace(f"- [ ] {BERLIN}", f"- [-] {BERLIN}") + "\nMine.\n")
        await dream(engine)
        assert (await engine.undo_run(run)).done == [f"the proposals of the dream {run}"]
        page = world.read("DREAMS.md").decode()
        assert "^dream-" not in page and "\nMine.\n" in page
        proposed = [one["text"] for one in (await dream(engine))["proposed"]]
        assert PNPM in proposed and BERLIN not in proposed


async def test_the_undo_of_a_run_leaves_what_you_ticked_since(world: World) -> None:
    async with logs(world).engine() as engine:
        run = (await dream(engine))["run"]
        page = world.read("DREAMS.md").decode()
        world.write("DREAMS.md", page.replace(f"- [ ] {BERLIN}", f"- [x] Mine: {BERLIN}"))
        await engine.undo_run(run)
        page = world.read("DREAMS.md").decode()
        assert f"- [x] Mine: {BERLIN} ^dream-" in page and PNPM not in page
        assert (await dream(engine))["promoted"] == [f"Mine: {BERLIN}"]


async def test_a_freely_edited_page_counts_as_it_stands(world: World) -> None:
    logs(world)
    async with world.engine() as engine:
        await dream(engine)
        lines = world.read("DREAMS.md").decode().splitlines()
        (pnpm,) = [line for line in lines if PNPM in line]
        anchor = pnpm.rpartition(" ")[2]
        # Reordered under a heading of one's own, broken box, other words; the other proposal is deleted.
        world.write(
            "DREAMS.md",
            f"My page\n\n## House rules\n* [X ]  pnpm only, please {anchor}\n- [x] Tea at four\n[x](a.md) no box\n",
        )
        await dream(engine)
        memory = world.read("MEMORY.md").decode()
        assert "## House rules\n\n- pnpm only, please ([2026-11-09](" in memory
        assert "- Tea at four\n" in memory
        page = world.read("DREAMS.md").decode()
        assert page.startswith("My page\n\n## House rules\n[x](a.md) no box\n")
        await dream(engine)
        assert world.read("DREAMS.md").decode() == page
        assert BERLIN not in page
        statuses = [json.loads(file.read_bytes())["status"] for file in (world.root / "memory/.dreams").iterdir()]
        assert sorted(statuses) == ["promoted", *["rejected"] * 3]


async def test_a_line_that_you_add_below_the_diary_is_stored_as_context(world: World) -> None:
    async with logs(world).engine() as engine:
        await dream(engine)
        world.write("DREAMS.md", world.read("DREAMS.md").decode() + "\n- [x] Tea at four\n")
        await dream(engine)
        assert world.read("MEMORY.md").decode() == "# Memory\n\n## Project context\n\n- Tea at four\n"


async def test_a_second_machine_with_the_synced_vault_adds_nothing(world: World, tmp_path: Any) -> None:
    async with logs(world).engine() as engine:
        await dream(engine)
        page = world.read("DREAMS.md").decode().replace("- [ ]", "- [x]")
        world.write("DREAMS.md", page)
        await dream(engine)
        once = snapshot(world)
    other = World(world.root, tmp_path / "other", world.models)
    other.later(days=3)
    async with other.engine() as engine:
        assert (await dream(engine))["proposed"] == []
        other.write("DREAMS.md", page)  # of a sync that came late
        os.utime(world.root / "DREAMS.md", (1, 1))
        await dream(engine)
        assert other.read("MEMORY.md") == once["MEMORY.md"]


async def test_a_note_that_serves_many_questions_is_proposed_and_old_logs_can_be_staged(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = world.root.parent / "old"
    old.mkdir()
    for day in (1, 2):
        (old / f"2025-05-0{day}.md").write_text(f"# Log\n\n## 10:00 Talk\n\n{BERLIN}\n")
    async with world.engine() as engine:
        note = (await engine.append("The staging database listens on port 5433.", kind="fact")).id
        for _ in range(4):
            await engine.recall(ids=[note])
            world.later(days=1)
        assert (await dream(engine))["proposed"] == []  # for no two different questions, as far as is known
        assert (await dream(engine, backfill=str(old), stage=True))["staged"] == 1
        assert not (world.root / "DREAMS.md").exists()
        world.write("memory/2026-11-20.md", f"# Log\n\n## 10:00 Talk\n\n{BERLIN}\n")
        assert [one["text"] for one in (await dream(engine))["proposed"]] == [BERLIN]
        with pytest.raises(InvalidInput):
            await dream(engine, backfill=str(world.state))
    monkeypatch.setattr("mcp_memory.curation.dreams.recurrence.MIN_QUESTIONS", 0)
    async with world.engine() as engine:
        assert [one["text"] for one in (await dream(engine))["proposed"]] == [
            "The staging database listens on port 5433."
        ]


@pytest.mark.parametrize("way", ["superseded", "forgotten", "expired", "contested"])
async def test_a_proposal_of_a_note_is_its_statement_and_ends_with_it(
    world: World, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr("mcp_memory.curation.dreams.recurrence.MIN_QUESTIONS", 0)
    rule = "The backtest window is 60 weeks."
    expires = "2026-12-10" if way == "expired" else None
    async with world.engine() as engine:
        note = await engine.append(f"{rule}\n\n> no wait, make it 60", kind="decision", expires=expires)
        for _ in range(4):
            await engine.recall(ids=[note.id])
            world.later(days=1)
        assert [one["text"] for one in (await dream(engine))["proposed"]] == [rule]
        only = ["proposal"]
        (item,) = (await engine.perform("waiting", {"only": only}))["waiting"]
        assert item["text"] == rule
        if way == "forgotten":
            await engine.forget(note.id)
        elif way != "expired":
            old = {"supersedes": note.id} if way == "superseded" else {}
            await engine.append("The backtest window is 52 weeks.", kind="decision", **old)
        world.later(days=30)
        await engine.sweep()
        assert (await engine.perform("waiting", {"only": only}))["waiting"] == []
        await dream(engine)
        assert rule not in world.read("DREAMS.md").decode()


async def test_memory_with_conflict_markers_keeps_every_byte(world: World) -> None:
    memory = "no heading\n<<<<<<< ours\n- a\n=======\n- b\n>>>>>>> theirs\r\n"
    logs(world).write("MEMORY.md", memory)
    async with world.engine() as engine:
        done = await stored(engine, world, PNPM)
        after = world.read("MEMORY.md").decode()
        assert after.startswith(memory)
        world.write("MEMORY.md", after.replace("- a", "- my own"))
        report = await engine.undo_run(done["run"])
        assert world.read("MEMORY.md").decode().startswith(memory.replace("- a", "- my own"))
        assert PNPM not in world.read("MEMORY.md").decode()
        assert report.left == []


async def test_one_fact_a_thousand_times_its_negation_and_junk_are_told_apart(world: World) -> None:
    """Five statements hold: nothing else is proposed, whatever else recurs."""
    true = [PNPM, BERLIN, "We always squash commits before merging.", "The staging database listens on port 5433."]
    noise = ["Ran the tests, all green.", "Standup with Lena and Tom.", "Can you check the logs again?", "Coffee."]
    for day in range(1, 29):
        said = [true[day % 4], noise[day % 4], "We never deploy on Fridays." if day < 4 else "Deployed on Friday."]
        said += [f"The build took {day} minutes."] + [NEW if day >= 20 else OLD] * (day % 5 == 0)
        body = "\n\n".join(f"## {n:02}:00 Note\n\n- {text}" for n, text in enumerate(said))
        world.write(f"memory/2026-10-{day:02}.md", f"# Log\n\n{body}\n" + f"\n{BERLIN}\n" * (1000 if day == 2 else 0))
    world.write("MEMORY.md", "# Memory\n\n" + "\n".join(f"- Entry {n} of a long file" for n in range(5000)))
    async with world.engine() as engine:
        proposed = [one for one in (await dream(engine))["proposed"] if one["section"] != MOVE_OUT]
        assert {one["text"] for one in proposed} - {"We never deploy on Fridays."} == {*true, NEW}
        page = world.read("DREAMS.md").decode()
        kept, _, over = page.partition(f"## {MOVE_OUT}")
        assert over.count("- [ ] Entry") == 20 and "MEMORY.md has 5002 lines, 4802 over its budget" in over
        world.write("DREAMS.md", kept.replace("- [ ]", "- [x]"))
        before = world.read("MEMORY.md")
        done = await dream(engine)
        assert len(done["refused"]) == len(proposed)  # it is full, says so, and waits on the page
        assert "MEMORY.md is full" in done["refused"][0]
        assert world.read("MEMORY.md") == before
        assert world.read("DREAMS.md").decode().count("- [x]") == len(proposed)


async def test_over_its_budget_memory_is_relieved_by_what_is_ticked_and_gets_it_back(world: World) -> None:
    long = "- Hosts: one is 10.0.0.1,\n  two is 10.0.0.2,\n  three is 10.0.0.3"
    memory = f"# Memory\n\n## Decisions\n\n- Lena owns billing.\n- Tom owns:\n  - design\n\n## Lessons\n\n{long}\n"
    logs(world).write("MEMORY.md", memory)
    async with world.engine(recall=RecallConfig(memory_lines=10)) as engine:
        status = await engine.status()
        assert status["memory"].startswith("MEMORY.md has 13 lines, over its budget of 10")
        findings = (await engine.perform("doctor", {}))["findings"]
        assert any(one["what"] == status["memory"] for one in findings)
        brief = await engine.perform("brief", {"session": "codex/1"})
        assert status["memory"] in brief["text"]
        await dream(engine)
        page = world.read("DREAMS.md").decode()
        assert f"## {MOVE_OUT}\n\n- [ ] Hosts: " in page and "Lena" not in page, page
        assert "MEMORY.md has 13 lines, 3 over its budget; this is 3 lines, never found nor told by itself" in page
        world.write("DREAMS.md", page.replace("- [ ] Hosts", "- [x] Hosts"))
        before = snapshot(world)
        done = await dream(engine)
        assert [text[:5] for text in done["moved"]] == ["Hosts"] and done["refused"] == []
        assert world.read("MEMORY.md").decode() == memory.replace(f"{long}\n", "")
        note = next(path for path in await found(engine, "10.0.0.2") if path != "MEMORY.md")
        assert world.read(note).decode().endswith(f"{long.removeprefix('- ')}\n")
        assert "MEMORY.md#" in world.read(note).decode() and "kind: lesson" in world.read(note).decode()
        assert (await engine.status())["memory"] is None
        assert (await engine.undo_run(done["run"])).left == []
        assert world.read("MEMORY.md") == before["MEMORY.md"]
        assert note not in await found(engine, "10.0.0.2")


def test_a_memory_with_conflict_markers_or_nested_entries_alone_has_nothing_to_move() -> None:
    assert [one.text for one in find_demotions("- a\n- b\n", {}, 1)] == ["a"]
    assert not [*find_demotions("- a\n<<<<<<< ours\n- b\n=======\n- c\n>>>>>>> theirs\n", {}, 1)]
    assert not [*find_demotions("- a\n  - b\n  - c\n", {}, 1)]


async def test_taking_back_a_promotion_takes_back_the_note_that_was_made_of_it(world: World) -> None:
    logs(world)
    async with world.engine() as engine:
        promoted = await stored(engine, world, PNPM)
        once = world.read("MEMORY.md")
    async with world.engine(recall=RecallConfig(memory_lines=1)) as engine:
        await dream(engine)
        world.write("DREAMS.md", world.read("DREAMS.md").decode().replace("- [ ] We", "- [x] We"))
        assert len((await dream(engine))["moved"]) == 1
        assert world.read("MEMORY.md") != once and PNPM.encode() not in world.read("MEMORY.md")
        assert (await engine.undo_run(promoted["run"])).left == []
        assert PNPM.encode() not in world.read("MEMORY.md")
        assert not await found(engine, "pnpm for the web shop", kinds=["decision"])


class Killed(BaseException):
    """Ends a run as a kill does: nothing after it happens."""


@pytest.mark.parametrize("at", range(4))
async def test_a_run_that_is_killed_at_any_write_is_done_by_the_next(world: World, tmp_path: Any, at: int) -> None:
    """It stores one entry and moves another out: four writes, the last of which is the journal's."""
    logs(world).write("MEMORY.md", "# Memory\n\n## Decisions\n\n- Lena owns billing.\n- Tom owns design.\n")
    calls = 0

    def dying(call: Any) -> Any:
        def killed(*given: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > at:
                raise Killed
            return call(*given, **named)

        return killed

    whole = World(tmp_path / "whole", tmp_path / "state", world.models)
    settings: dict[str, Any] = {"recall": RecallConfig(memory_lines=5)}
    async with world.engine(**settings) as engine:
        await dream(engine)
        page = world.read("DREAMS.md").decode().replace(f"[ ] {PNPM}", f"[x] {PNPM}").replace("[ ] Lena", "[x] Lena")
        world.write("DREAMS.md", page)
        shutil.copytree(world.root, whole.root)
        if at == 3:
            (world.state / "dreams.jsonl").unlink()
            (world.state / "dreams.jsonl").mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Vault, "append", dying(Vault.append))
            patch.setattr(Vault, "forget", dying(Vault.forget))
            with pytest.raises(BaseException):  # noqa: B017 -- in a group, or the journal's refusal
                await dream(engine)
    if at == 3:
        (world.state / "dreams.jsonl").rmdir()
    for each in (world, whole):
        async with each.engine(**settings) as engine:
            await dream(engine)
            assert b"- [x]" not in each.read("DREAMS.md")
    for path in ("MEMORY.md", "notes/decision/lena-owns-billing.md"):
        assert body_of(world.read(path)) == body_of(whole.read(path))


def body_of(data: bytes) -> str:
    return data.decode().rpartition("\n---\n")[2]


async def test_proposals_are_ticked_and_rejected_in_the_review_and_the_next_run_does_it(world: World) -> None:
    async with logs(world).engine() as engine:
        await dream(engine)
        waiting = await engine.waiting("proposal")
        assert [(one["kind"], one["text"], one["score"]) for one in waiting] == [
            ("MEMORY.md, Decisions", PNPM, 0.68), ("MEMORY.md, Decisions", NEW, 0.25),
            ("MEMORY.md, Preferences", BERLIN, 0.58), ("MEMORY.md, Preferences", THURSDAY, 0.44),
        ]  # fmt: skip
        other = "pnpm only, never npm"
        await engine.review("accept", waiting[0]["id"], text=other)
        for one in waiting[1:]:
            await engine.review("drop", one["id"])
        page = world.read("DREAMS.md").decode()
        assert f"- [x] {other} ^dream-" in page and f"- [-] {BERLIN}" in page
        assert not (world.root / "MEMORY.md").exists()
        assert await engine.inbox() == []
        await dream(engine)
        assert f"- {other} (" in world.read("MEMORY.md").decode()
        assert BERLIN not in world.read("DREAMS.md").decode()
        with pytest.raises(NotFound):
            await engine.review("drop", waiting[2]["id"])
        diary = world.read("DREAMS.md").decode().partition("## Diary\n\n")[2].splitlines()
        assert diary[0].endswith("0 new proposals, 1 stored") and diary[1].endswith("4 new proposals, 0 stored")


async def test_what_is_saved_while_it_dreams_stays_and_so_it_does_after_an_undo(world: World) -> None:
    logs(world).write("MEMORY.md", "# Memory\n\n## Decisions\n\n- Lena owns billing.\n")
    async with world.engine() as engine:
        await dream(engine)
        world.write("DREAMS.md", world.read("DREAMS.md").decode().replace(f"[ ] {PNPM}", f"[x] {PNPM}"))
        append = Vault.append

        def slowly(*given: Any, **named: Any) -> Any:
            """Meanwhile a person writes on both pages in an editor."""
            stored = append(*given, **named)
            world.write("DREAMS.md", world.read("DREAMS.md").decode() + "\nMine, of today.\n")
            world.write("MEMORY.md", world.read("MEMORY.md").decode() + "- Tom owns design.\n")
            return stored

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Vault, "append", slowly)
            done = await dream(engine)
        page = world.read("DREAMS.md").decode()
        assert "Mine, of today." in page and PNPM not in page and BERLIN in page
        await engine.undo_run(done["run"])
        memory = world.read("MEMORY.md").decode()
        assert "- Lena owns billing.\n" in memory and "- Tom owns design.\n" in memory
        assert not await found(engine, "pnpm for the web shop", kinds=["decision"])


async def test_an_undo_of_an_earlier_run_keeps_what_a_later_one_stored(world: World) -> None:
    logs(world)
    async with world.engine() as engine:
        await dream(engine)
        runs = list[str]()
        for text in (PNPM, BERLIN):
            world.write("DREAMS.md", world.read("DREAMS.md").decode().replace(f"[ ] {text}", f"[x] {text}"))
            runs.append((await dream(engine))["run"])
        await engine.undo_run(runs[0])
        memory = world.read("MEMORY.md").decode()
        assert BERLIN in memory and PNPM not in memory
        await engine.sweep()
        assert await engine.lost() == []


@pytest.mark.parametrize("name", ["id", "run", "path"])
async def test_any_change_of_a_dream_is_undone_with_its_whole_run(world: World, name: str) -> None:
    logs(world).write("MEMORY.md", "# Memory\n")
    async with world.engine() as engine:
        before = world.files()
        await stored(engine, world, PNPM, BERLIN)
        change = next(one for one in (await engine.perform("changes", {}))["changes"] if one["path"] == "MEMORY.md")
        undone = await engine.perform("undo", {"target": change[name], "sure": True})
        assert [(step["action"], step["why"]) for step in undone["steps"] if step["target"] != step["run"]] == [
            ("forget", "")
        ] * 2
        assert {path: world.read(path) for path in before} == before
        assert {one["undone"] for one in (await engine.perform("changes", {}))["changes"] if one["run"]} == {True}


async def test_an_undo_leaves_a_file_that_is_saved_at_the_same_time(world: World) -> None:
    logs(world).write("MEMORY.md", "# Memory\n")
    async with world.engine() as engine:
        done = await stored(engine, world, PNPM)
        forget = Vault.forget

        def late(vault: Vault, path: NotePath, *given: Any, **named: Any) -> Any:
            forgotten = forget(vault, path, *given, **named)
            world.write(path, world.read(path).decode() + "\nMine, of today.\n")
            return forgotten

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Vault, "forget", late)
            await engine.undo_run(done["run"])
        assert "Mine, of today." in world.read("MEMORY.md").decode()
        assert not await found(engine, "pnpm for the web shop", kinds=["decision"])


@pytest.mark.parametrize("error", [StorageFailed, DeadlineExceeded, Refused, NotFound])
async def test_an_undo_that_the_disk_stops_is_continued_by_the_next_one(
    world: World, error: type[McpMemoryError]
) -> None:
    logs(world).write("MEMORY.md", "# Memory\n")
    async with world.engine() as engine:
        before = world.read("MEMORY.md")
        done = await stored(engine, world, PNPM, BERLIN)
        forget, calls = Vault.forget, list[object]()

        def failing(*given: Any, **named: Any) -> Any:
            calls.append(given)
            if len(calls) == 2:
                raise error("the disk is full")
            return forget(*given, **named)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Vault, "forget", failing)
            assert (await engine.undo_run(done["run"])).left == ["the disk is full"]
        of_run = [one for one in (await engine.perform("changes", {}))["changes"] if one["run"] == done["run"]]
        assert sorted(one["undone"] for one in of_run) == [False, True]
        assert (await engine.undo_run(done["run"])).left == []
        assert world.read("MEMORY.md") == before


@pytest.mark.parametrize("edited", ["MEMORY.md", "DREAMS.md"])
async def test_a_line_is_stored_once_whatever_you_edit_after_a_killed_run(world: World, edited: str) -> None:
    def killed(*_: Any, **__: Any) -> Any:
        raise Killed

    async with logs(world).engine() as engine:
        await dream(engine)
        world.write("DREAMS.md", world.read("DREAMS.md").decode().replace(f"[ ] {PNPM}", f"[x] {PNPM}"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("mcp_memory.curation.dreams.dream_sources.DreamSources.find_orders", killed)
            with pytest.RaisesGroup(Killed, allow_unwrapped=True, flatten_subgroups=True):
                await dream(engine)
    world.write(edited, world.read(edited).decode().replace("never npm", "npm is out"))
    async with world.engine() as engine:
        await dream(engine)
        assert world.read("MEMORY.md").count(b"web shop") == 1
        assert b"web shop" not in world.read("DREAMS.md")


async def test_the_undo_of_the_dream_that_made_memory_removes_it_unless_you_wrote_there(world: World) -> None:
    async with logs(world).engine() as engine:
        done = await stored(engine, world, PNPM, BERLIN)
        undone = await engine.perform("undo", {"target": done["run"], "sure": True})
        assert not any(step["why"] for step in undone["steps"]) and not (world.root / "MEMORY.md").exists()
        await engine.sweep()
        assert await engine.lost() == [] and "MEMORY.md" not in await found(engine, "pnpm web shop")
        await engine.perform("restore", {"target": undone["steps"][-1]["target"]})
        assert world.read("MEMORY.md").decode().startswith(f"# Memory\n\n## Decisions\n\n- {PNPM}")
    (world.root / "MEMORY.md").unlink()
    async with world.engine() as engine:
        await dream(engine)
        world.write("DREAMS.md", "- [x] Tea at four\n")
        done = await dream(engine)
        world.write("MEMORY.md", world.read("MEMORY.md").decode() + "- Mine\n")
        await engine.undo_run(done["run"])
        assert b"Tea" not in world.read("MEMORY.md") and world.read("MEMORY.md").endswith(b"- Mine\n")


@pytest.mark.parametrize("what", ["note", "entry", "wording", "line of memory", "line to move out"])
async def test_what_was_forgotten_is_on_no_page_of_dreams_and_in_no_report(world: World, what: str) -> None:
    text = "We decided to use Terraform for the staging cluster."
    is_of_memory = what.startswith("line")
    days = {"entry": {20: text}, "wording": {19: text, 20: "We use Terraform for our staging cluster."}}
    for day, said in days.get(what, {21: "" if what == "line to move out" else text}).items():
        world.write(f"memory/2026-11-{day}.md", f"# Log\n\n## 10:00 Work\n\n{said}\n")
    if is_of_memory:
        world.write("MEMORY.md", f"# Memory\n\n- {text}\n")
    recall = RecallConfig(memory_lines=1 if what == "line to move out" else 200)
    async with world.engine(recall=recall) as engine:
        if what == "note":
            target = (await engine.append(text, kind="decision")).id
        else:
            await dream(engine)
            file = "MEMORY.md" if is_of_memory else f"memory/2026-11-{min(days[what])}.md"
            (entry,) = entries_of(NotePath(file), world.read(file).decode())
            target = f"{file}#{entry.hash}"
            assert what == "line of memory" or text in (world.root / "DREAMS.md").read_text()
        await engine.forget(target, personal=True)
        for _ in range(2):
            await engine.perform("jobs", {"action": "run", "name": "dream"})
        page = world.root / "DREAMS.md"
        assert not page.exists() or text not in page.read_text()
        assert text not in (world.state / "jobs.jsonl").read_text() + (world.state / "jobs.json").read_text()
