"""Appending: what is stored, and what counts as stored already."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import anyio
import pytest

from mcp_memory.errors import (
    AlreadyExists,
    IndexUnavailable,
    InvalidInput,
    NotFound,
    PathRefused,
    Refused,
    StorageFailed,
)
from mcp_memory.index.sqlite.database import Database
from mcp_memory.models import NoteId, NotePath, Outcome
from mcp_memory.storage.locks import PathLocks
from mcp_memory.text.markdown import frontmatter
from mcp_memory.vault.config import VaultConfig
from mcp_memory.vault.journals.ledger import Ledger, LedgerEntry
from tests.support.world import NOON, World, draft, eventually, found, made, paths

pytestmark = pytest.mark.anyio


def meta(world: World, path: str) -> dict:
    return frontmatter.parse(world.read(path).decode()).meta


async def test_a_receipt_tells_the_truth(world: World) -> None:
    async with world.engine() as engine:
        receipt = await engine.append(
            "The kettle is *red*.\n", kind="fact", tags=["tea"], project="kitchen", session="s1", source="codex"
        )
        assert receipt.outcome is Outcome.CREATED
        assert receipt.indexed == "keywords"
        assert receipt.path == "notes/fact/the-kettle-is-red.md"
        assert await found(engine, "kettle") == [receipt.path]
        assert world.vault().read(receipt.path).record.etag == receipt.etag
    assert world.read(receipt.path).endswith(b"---\n\nThe kettle is *red*.\n")
    assert meta(world, receipt.path) == {
        "id": receipt.id, "title": "The kettle is red.", "kind": "fact", "project": "kitchen", "created": NOON,
        "tags": ["tea"], "source": "codex", "session": "s1",
    }  # fmt: skip


async def test_a_note_may_tell_of_an_earlier_time(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append("The kettle was blue.", created="2026-03-01T10:00:00+01:00")
        assert str(meta(world, old.path)["created"]) == "2026-03-01 10:00:00+01:00"
        assert await found(engine, "kettle", until="2026-03-02") == [old.path]
        assert await found(engine, "kettle", since="2026-03-02") == []
        soon = await engine.append("The kettle is new.", created=(NOON + timedelta(hours=23)).isoformat())
        assert soon.outcome is Outcome.CREATED, "another machine's clock may be ahead"
        for wrong in ("2026-11-23", "last week"):
            with pytest.raises(InvalidInput, match="created"):
                await engine.append("The kettle will be red.", created=wrong)
        with pytest.raises(InvalidInput, match="log entry"):
            await engine.append("The kettle was blue.", kind="log", created="2026-03-01")


async def test_what_is_to_be_stored_once_is_not_stored_again_when_it_was_forgotten(world: World) -> None:
    async with world.engine() as engine:
        first = await engine.append("The kettle is red.", once=True)
        await engine.forget(first.id)
        again = await engine.append("The kettle is red.", once=True)
        assert (again.id, again.outcome) == (first.id, Outcome.DUPLICATE)
        assert await found(engine, "kettle") == []
        anew = await engine.append("The kettle is red.")
        assert (anew.outcome, await found(engine, "kettle")) == (Outcome.CREATED, [anew.path])
        again = await engine.append("The kettle is red.", once=True)
        assert again.id == anew.id, "the one that counts"


async def test_equal_titles_get_names_of_their_own(world: World) -> None:
    async with world.engine() as engine:
        names = [(await engine.append(f"body {n}", kind="fact", title="Same")).path for n in range(3)]
    assert names == ["notes/fact/same.md", "notes/fact/same-2.md", "notes/fact/same-3.md"]


async def test_the_hundredth_note_of_a_title_costs_no_more_than_the_fifth(world: World) -> None:
    count = 100
    vault = world.vault()
    drafts = [draft(f"body {n}", title="Same") for n in range(count)]
    stored = [vault.append(each) for each in drafts]
    names = [each.file.record.path for each in stored]
    assert len(set(names)) == count
    assert names[3] == f"notes/fact/same-{stored[3].file.record.id[-6:].lower()}.md"
    for each in drafts:
        assert len(vault.ledger.written(each.content_hash, "fact", None)) <= 5
    assert [vault.append(each).file.record.path for each in drafts] == names


@pytest.mark.parametrize("home", ["", "Agent"])
async def test_only_fresh_notes_are_counted(world: World, home: str) -> None:
    world.with_home(home)
    below = f"{home}/" if home else ""
    for stranger in ("20240101-diary.md", "99-elsewhere.md", f"{below}topics/77-old.md", "9" * 240 + "-x.md"):
        world.write(stranger, "x")
    for name in ("041-older.md", "20240101-daily.md", "sub/090-deep.md", "9" * 240 + "-x.md", "٣٣٣-x.md", "500.md"):
        world.write(f"{below}topics/_fresh/{name}", "x")
    async with world.engine() as engine:
        assert (await engine.append("Thought")).path == f"{below}topics/_fresh/042-thought.md"


# -- the same again ------------------------------------------------------------------------------------------------


async def test_the_same_content_is_one_note(world: World) -> None:
    async with world.engine() as engine:
        first = await engine.append("Tea at four", kind="fact")
        again = await engine.append("  Tea at four\n\n", kind="fact", title="Another title")
        assert (again.outcome, again.id, again.path) == (Outcome.DUPLICATE, first.id, first.path)
        for rest in ({"kind": "fix"}, {"kind": "fact", "project": "p"}):
            assert (await engine.append("Tea at four", **rest)).outcome is Outcome.CREATED
        assert len(paths(engine)) == 3


async def test_also_after_a_restart_and_without_the_index(world: World) -> None:
    async with world.engine() as engine:
        first = await engine.append("Tea at four", kind="fact")
    for file in (world.state / "index").iterdir():
        file.unlink()
    async with world.engine() as engine:
        assert (await engine.append("Tea at four", kind="fact")).id == first.id


async def test_also_without_the_ledger_and_where_somebody_moved_it(world: World) -> None:
    async with world.engine() as engine:
        first = await engine.append("Tea at four", kind="fact")
        (world.root / first.path).rename(world.root / "notes" / "moved.md")
        await engine.sweep()
        again = await engine.append("Tea at four", kind="fact")
        assert (again.outcome, again.id, again.path) == (Outcome.DUPLICATE, first.id, "notes/moved.md")
    (world.state / "ledger.jsonl").unlink()
    async with world.engine() as engine:
        assert (await engine.append("Tea at four", kind="fact")).id == first.id


async def test_what_the_ledger_announced_but_nobody_published_is_new(world: World) -> None:
    """A crash between the two writes."""
    world.state.mkdir()
    content = draft("Tea at four").content_hash
    line = LedgerEntry("01OLD", "notes/fact/tea-at-four.md", content, "fact", None, None, NOON.timestamp())
    Ledger(world.state / "ledger.jsonl").record(line)
    async with world.engine() as engine:
        receipt = await engine.append("Tea at four", kind="fact")
    assert receipt.outcome is Outcome.CREATED
    assert receipt.id != "01OLD"


@pytest.mark.parametrize("change", ["edited", "removed", "forgotten", "archived", "expired", "another kind", "a link"])
async def test_what_no_longer_says_it_is_stored_anew(world: World, change: str) -> None:
    async with world.engine() as engine:
        first = await engine.append("Tea at four", kind="task")
        file = world.root / first.path
        match change:
            case "edited":
                file.write_bytes(file.read_bytes() + b"and cake\n")
            case "removed":
                file.unlink()
            case "forgotten":
                await engine.forget(first.id)
            case "archived":
                file.write_bytes(file.read_bytes().replace(b"kind:", b"status: archived\nkind:"))
            case "expired":
                world.later(days=8)
            case "another kind":
                file.write_bytes(file.read_bytes().replace(b"kind: task", b"kind: fix"))
            case "a link":
                file.rename(world.root.parent / "elsewhere.md")
                file.symlink_to(world.root.parent / "elsewhere.md")
        again = await engine.append("Tea at four", kind="task")
        assert again.outcome is Outcome.CREATED
        assert again.id != first.id
        assert again.path in await found(engine, "tea")


# -- superseding ---------------------------------------------------------------------------------------------------


async def test_a_chain_of_superseded_notes(world: World) -> None:
    async with world.engine() as engine:
        first = await engine.append("Tea at four", kind="fact")
        second = await engine.append("Tea at five", kind="fact", supersedes=first.id)
        third = await engine.append("Tea at six", kind="fact", supersedes=second.path)
        assert (second.outcome, third.outcome) == (Outcome.SUPERSEDED, Outcome.SUPERSEDED)
        assert await found(engine, "tea") == [third.path]
        assert set(await found(engine, "tea", include_archived=True)) == {first.path, second.path, third.path}
        again = await engine.append("Tea at five", kind="fact")
        assert again.outcome is Outcome.DUPLICATE and again.superseded_by and again.superseded_by["id"] == third.id
    assert meta(world, first.path)["superseded_by"] == [second.id]
    assert meta(world, second.path)["supersedes"] == [first.id]
    assert meta(world, second.path)["superseded_by"] == [third.id]


async def test_what_replaces_a_note_belongs_to_its_project(world: World) -> None:
    async with world.engine() as engine:
        first = await engine.append("Tea at four", kind="fact", project="mill")
        second = await engine.append("Tea at five", kind="fact", supersedes=first.id)
        wide = await engine.append("Tea at six", kind="fact", supersedes=second.id, project="*")
    notes = [(world.root / receipt.path).read_text() for receipt in (second, wide)]
    assert ["project: mill\n" in note for note in notes] == [True, False]


async def test_phrases_under_when_stay_with_their_subject(world: World) -> None:
    """A successor without phrases inherits them, and the same content again adds those that the note lacks."""
    async with world.engine() as engine:
        plain = await engine.append("Subjects are in the imperative.", kind="preference")
        said = {"when": [" writing a commit ", "Commit schreiben", "writing a commit"]}
        first = await engine.append("Subjects are in the imperative.", kind="preference", **said)
        assert (first.outcome, first.superseded and first.superseded["id"]) == (Outcome.SUPERSEDED, plain.id)
        again = await engine.append("Subjects are in the imperative.", kind="preference", **said)
        assert (again.outcome, again.id) == (Outcome.DUPLICATE, first.id)
        second = await engine.append("Subjects have a prefix.", kind="preference", supersedes=first.id)
        third = await engine.append("Subjects are short.", kind="preference", supersedes=second.id, when=["git log"])
        await engine.update(third.id, "Subjects are very short.")
        world.write("Mine.md", "Subjects are blue.")
        await engine.sweep()
        mine = await engine.append("Subjects are blue.", kind="note", when=["painting"])
        assert mine.path == "Mine.md" and world.read("Mine.md") == b"Subjects are blue.", "a person's note stays"
    phrases = ["writing a commit", "Commit schreiben"]
    notes = [meta(world, note.path) for note in (first, second, third)]
    assert [note["when"] for note in notes] == [phrases, phrases, ["git log"]]


async def test_a_superseded_note_has_one_successor(world: World) -> None:
    """Who would supersede it again replaces the one that counts, and is told so."""
    async with world.engine() as engine:
        first = await engine.append("Tea at four", kind="fact")
        assert "superseded" not in await engine.recall(ids=[first.id])
        second = await engine.append("Tea at five", kind="fact", supersedes=first.id)
        assert second.superseded and second.superseded["id"] == first.id and "why" not in second.superseded
        third = await engine.append("Tea at six", kind="fact", supersedes=first.id)
        assert third.superseded and third.superseded["id"] == second.id and third.superseded["text"] == "Tea at five"
        assert f"{first.path} was already replaced" in third.superseded["why"]
        for old in (first, second):
            assert f"{old.path} was superseded by {third.id} ({third.path})" in await engine.recall(ids=[old.id])
        assert " was superseded by" not in await engine.recall(ids=[third.id])
        await engine.forget(third.id)
        assert f"superseded by {second.id}" in await engine.recall(path=first.path)
        fourth = await engine.append("Tea at eight", kind="fact", supersedes=second.id)
        assert fourth.outcome is Outcome.SUPERSEDED, "what is forgotten stands in nobody's way"
        assert await found(engine, "tea") == [fourth.path]


async def test_of_many_that_supersede_at_once_all_are_kept_in_one_chain(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append("Tea at four", kind="fact")
        replaced: list[NoteId] = []

        async def supersede(hour: int) -> None:
            receipt = await engine.append(f"Tea at {hour}", kind="fact", supersedes=old.id)
            assert receipt.outcome is Outcome.SUPERSEDED and receipt.superseded
            replaced.append(receipt.superseded["id"])

        async with anyio.create_task_group() as tasks:
            for hour in range(5, 13):
                tasks.start_soon(supersede, hour)
        assert len(await found(engine, "tea")) == 1
        assert len(await found(engine, "tea", include_archived=True)) == 9
    assert len(set(replaced)) == 8 and old.id in replaced


async def test_a_call_that_is_repeated_after_another_has_replaced_its_note_changes_nothing(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append("Tea at four", kind="fact")
        five = await engine.append("Tea at five", kind="fact", supersedes=old.id)
        six = await engine.append("Tea at six", kind="fact", supersedes=five.id)
        before = world.files()
        again = await engine.append("Tea at five", kind="fact", supersedes=old.id)
        assert (again.id, again.outcome) == (five.id, Outcome.DUPLICATE)
        assert again.superseded_by and again.superseded_by["id"] == six.id
        assert world.files() == before
        back = await engine.append("Tea at five", kind="fact", supersedes=six.id)
        assert back.outcome is Outcome.SUPERSEDED and back.id != five.id, "a value may come back"


@pytest.mark.parametrize("more", [
    {}, {"project": "shop"}, {"tags": ["drinks"]}, {"session": "another"}, {"path": "notes/other.md"},
])  # fmt: skip
async def test_a_superseded_text_that_is_stored_again_is_a_duplicate_that_names_what_counts(
    world: World, more: dict[str, Any]
) -> None:
    project = more.get("project")
    async with world.engine() as engine:
        old = await engine.append("Tea at four", kind="fact", project=project)
        five = await engine.append("Tea at five", kind="fact", supersedes=old.id, project=project)
        six = await engine.append("Tea at six", kind="fact", supersedes=five.id, project=project)
        before = world.files()
        for content, note in (("Tea at four", old), ("Tea at five\n", five)):
            again = await engine.append(content, kind="fact", **more)
            assert (again.id, again.outcome) == (note.id, Outcome.DUPLICATE)
            assert again.superseded_by and again.superseded_by["id"] == six.id
        assert world.files() == before
        await engine.forget(six.id)
        assert (await engine.append("Tea at five", kind="fact", **more)).superseded_by is None, "it counts again"
        await engine.forget(six.id, restore=True)
        world.later(hours=1)
        said = await engine.append("Tea at four", kind="fact", created=world.now.isoformat(), **more)
        assert said.outcome is Outcome.CREATED, "somebody said so since"


async def test_superseding_itself_is_a_duplicate(world: World) -> None:
    async with world.engine() as engine:
        first = await engine.append("Tea at four", kind="fact")
        again = await engine.append("Tea at four", kind="fact", supersedes=first.id)
        assert again.outcome is Outcome.DUPLICATE
        assert await found(engine, "tea") == [first.path]


async def test_a_forgotten_note_is_not_superseded_back_into_sight(world: World) -> None:
    async with world.engine() as engine:
        old = await engine.append("Tea at four", kind="fact")
        await engine.forget(old.id)
        before = world.files()
        with pytest.raises(NotFound, match="forgotten"):
            await engine.append("Tea at five", kind="fact", supersedes=old.id)
    assert world.files() == before


async def test_nothing_is_stored_where_the_old_note_cannot_be_marked(world: World) -> None:
    world.with_home("").write("notes/fact/flow.md", "---\n{id: flow, title: t}\n---\nbody")
    async with world.engine() as engine:
        await engine.adopt()
        log = await engine.append("did things", kind="log")
        before = world.files()
        for target in ("notes/fact/flow.md", f"{log.path}#0123456789abcdef", log.path, "notes/none.md", "01NONE"):
            with pytest.raises((InvalidInput, NotFound)):
                await engine.append("new words", kind="fact", supersedes=target)
    assert world.files() == before


# -- where -----------------------------------------------------------------------------------------------------------


async def test_a_new_file_goes_where_it_is_told(world: World) -> None:
    async with world.engine() as engine:
        receipt = await engine.append("Words", path="./projects/tea/plan.md")
        assert receipt.path == "projects/tea/plan.md"
        before = world.files()
        with pytest.raises(AlreadyExists):
            await engine.append("Other words", path="projects/tea/plan.md")
        with pytest.raises(AlreadyExists):
            await engine.append("Other words", path="projects/Tea/plan.md")
    assert world.files() == before


@pytest.mark.parametrize(
    "path",
    [
        "../out.md", "/etc/x.md", "a/../../x.md", ".hidden/x.md", "a/.x.md", "x.txt", "a//b.md", "a/./b.md", "a\\b.md",
        "con.md", "a/nul.md", "x" * 300 + ".md", "a\0.md", "\ud800.md", "a\n.md", "link/x.md",
        "node_modules/x.md", "a .md/",
        ".mcp-memory/x.md", "~/x.md", "a:b.md",
        "memory.md", "memory/2026-11-21.md", "_always-load/x.md", "_Always-Load/x.md", "@t/x.md",
    ],
)  # fmt: skip
async def test_a_bad_place_is_refused(world: World, path: str) -> None:
    outside = world.root.parent / "outside"
    outside.mkdir()
    async with world.engine() as engine:
        (world.root / "link").symlink_to(outside)
        before = world.files()
        with pytest.raises((PathRefused, Refused)):
            await engine.append("words", path=path)
        assert world.files() == before
        assert len(world.vault().ledger) == 0 or path == "link/x.md"
    assert list(outside.iterdir()) == []


async def test_outside_home_nothing_is_written(tmp_path) -> None:
    world = made(tmp_path)
    world.write("mine.md", "personal")
    async with world.engine() as engine:
        for path in ("notes/x.md", "mine2.md", "Agent.md"):
            with pytest.raises(Refused, match="outside the managed folder") as refused:
                await engine.append("words", path=path)
            assert "elsewhere, a person writes: mcp-memory edit --new PATH" in str(refused.value.hint)
        assert (await engine.append("words", path="Agent/x.md")).path == "Agent/x.md"


async def test_nothing_is_written_below_an_empty_mount_point(world: World) -> None:
    async with world.engine() as engine:
        first = await engine.append("Tea at four", kind="fact")
        world.root.rename(world.root.with_name("unmounted"))
        world.root.mkdir()
        for change in (engine.append("Tea at five", kind="fact"), engine.append("x", kind="log")):
            with pytest.raises(StorageFailed, match="not there"):
                await change
        assert world.files() == {}
        world.root.rmdir()
        world.root.with_name("unmounted").rename(world.root)
        assert (await engine.append("Tea at five", kind="fact")).outcome is Outcome.CREATED
        assert NotePath(first.path) in world.files()


async def test_expiry(world: World) -> None:
    async with world.engine() as engine:
        promise = await engine.append("Call the bank", kind="idea", expires="2026-11-22")
        await engine.append("Paint the fence", kind="task")
        assert await found(engine, "bank") == [promise.path]
        world.later(days=1)
        assert await found(engine, "bank") == []
        assert await found(engine, "bank", include_archived=True) == [promise.path]
        assert len(await found(engine, "fence")) == 1
        world.now = NOON + timedelta(days=7, seconds=1)
        assert await found(engine, "fence") == []
        for bad in ("soon", "2026-13-01", "\ud800"):
            with pytest.raises(InvalidInput):
                await engine.append("Words", expires=bad)


# -- late and half-failed writes -------------------------------------------------------------------------------------


async def test_a_late_write_is_unknown_and_the_same_call_resolves_it(world: World) -> None:
    path = "notes/fact/tea-at-four.md"
    async with world.engine(vault=VaultConfig(write_deadline_s=0.2)) as engine:
        locks = PathLocks(world.state / "locks", world.root, 5)
        with locks.hold(path):
            late = await engine.append("Tea at four", kind="fact")
            assert (late.outcome, late.id, late.indexed) == (Outcome.UNKNOWN, "", "pending")
        await eventually(lambda: path in world.files())
        again = await engine.append("Tea at four", kind="fact")
        assert (again.outcome, again.path) == (Outcome.DUPLICATE, path)
        assert await found(engine, "tea") == [path]
    assert len(world.files()) == 2


async def test_a_broken_index_is_no_reason_to_lose_a_note(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Database) -> None:
        raise IndexUnavailable("the disk is gone")

    async with world.engine() as engine:
        with monkeypatch.context() as failing:
            failing.setattr(Database, "read", broken)
            failing.setattr(Database, "write", broken)
            receipt = await engine.append("Tea at four", kind="fact")
            assert (receipt.outcome, receipt.indexed) == (Outcome.CREATED, "pending")
            assert receipt.path in await engine.problems()
    async with world.engine() as engine:
        assert await found(engine, "tea") == [receipt.path]
        assert await engine.problems() == {}


async def test_files_that_agents_add_to_are_in_the_managed_folder(world: World):
    world.with_home("Agent")
    world.write("diary.md", "Rain.")
    async with world.engine() as engine:
        await engine.append("Uses pnpm", path="MEMORY.md", section="Preferences")
        await engine.append("Deployed", kind="log")
        world.later(days=1)
        entry = (await engine.append("Likes tea", path="MEMORY.md", section="Preferences")).id
        assert entry.startswith("Agent/MEMORY.md#")
        assert "Uses pnpm" in await engine.recall(path="MEMORY.md")
        assert "Likes tea" in await engine.recall()
        await engine.forget(f"MEMORY.md#{entry.partition('#')[2]}")
        assert "Likes tea" not in await engine.recall()
    assert {path.partition("/")[0] for path in world.files()} == {"diary.md", "Agent"}
    assert {"Agent/MEMORY.md", "Agent/memory/2026-11-21.md"} <= world.files().keys()


OWN = {"MEMORY.md": b"# Mine\n\n- Uses npm\n", "memory/2026-11-20.md": b"# Mine\n\n## 09:00 Barge\n\nSank it.\n"}


async def test_a_persons_own_memory_and_logs_are_read_and_not_written(world: World):
    world.with_home("Agent")
    for path, content in OWN.items():
        world.write(path, content)
    async with world.engine() as engine:
        assert "Uses npm" in await engine.recall(path="MEMORY.md"), "while agents have none"
        for entry in ((await engine.search("Sank it")).hits[0].id, f"memory/2026-11-20.md#{'0' * 16}"):
            with pytest.raises(Refused, match="personal note"):
                await engine.forget(entry)
        await engine.append("Likes tea", path="MEMORY.md", section="Preferences")
        await engine.append("Deployed", kind="log")
        start = await engine.recall()
        assert "Uses npm" in start and "Likes tea" in start and "Deployed" in start
        own = (await engine.search("Uses npm")).hits[0].id
        assert "Uses npm" in await engine.recall(ids=[own])
        assert "Likes tea" in await engine.recall(path="MEMORY.md")
    after = world.files()
    assert {path: after.get(path) for path in after if not path.startswith("Agent/")} == OWN
    assert {"Agent/MEMORY.md", "Agent/memory/2026-11-21.md"} <= after.keys()


async def test_an_openclaw_workspace_keeps_its_memory_and_logs_at_the_root(world: World):
    world.with_home("Agent")
    for path, content in {**OWN, "SOUL.md": b"Be calm."}.items():
        world.write(path, content)
    async with world.engine() as engine:
        await engine.append("Likes tea", path="MEMORY.md", section="Preferences")
        await engine.append("Deployed", kind="log")
    assert world.read("MEMORY.md").startswith(OWN["MEMORY.md"]) and b"Likes tea" in world.read("MEMORY.md")
    assert b"Deployed" in world.read("memory/2026-11-21.md")
    assert not {"Agent/MEMORY.md", "Agent/memory"} & world.files().keys()
