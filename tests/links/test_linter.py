"""Links that broke are repaired where one note alone can be meant, in our own notes, and that can be taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World, index_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def engine(world: World) -> AsyncIterator[KeywordEngine]:
    async with world.engine() as engine:
        yield engine


async def sweep(world: World, engine: KeywordEngine) -> None:
    world.later(minutes=1)
    await engine.sweep()


async def lint(engine: KeywordEngine, **how: Any) -> list[tuple[str, str, str | None, str | None]]:
    """The kind of each finding, its target, what would be written instead, and how the note was recognized."""
    found = (await engine.perform("lint", how))["found"]
    return [(one["kind"], one["target"], *map((one["repair"] or {}).get, ("target", "how"))) for one in found]


def move(world: World, source: str, target: str) -> None:
    new = world.root / target
    new.parent.mkdir(parents=True, exist_ok=True)
    (world.root / source).rename(new)


async def test_links_of_our_notes_follow_what_others_rename_and_can_be_taken_back(
    world: World, engine: KeywordEngine
) -> None:
    port = (await engine.append("The port is 8080", title="A port", kind="fact")).path
    text = f"As [[{port}#Why|it]] says, [it](../../{port}) and [[{Path(port).stem}]]\n\n- because: [[{port[:-3]}]]"
    note = await engine.append(text, kind="decision")
    before = world.read(note.path)
    move(world, port, "notes/fact/deep/the-port.md")
    await sweep(world, engine)
    assert await lint(engine) == [
        ("broken", f"{port}#Why", "deep/the-port.md#Why", "id"),
        ("broken", f"../../{port}", "../fact/deep/the-port.md", "id"),
        ("broken", Path(port).stem, "the-port", "id"),
        ("broken", port[:-3], "deep/the-port", "id"),
    ]
    done = await engine.perform("lint", {"fix": True})
    assert done["repaired"] == 4 and await lint(engine) == []
    fixed = world.read(note.path).decode()
    assert "[[deep/the-port.md#Why|it]]" in fixed and "- because: [[deep/the-port]]" in fixed
    assert world.vault().provenance.vouches(note.path, note.id), "it is ours as before"
    assert (await engine.undo_run(done["run"])).left == []
    assert world.read(note.path) == before


async def test_personal_notes_are_changed_only_if_you_say_so_and_only_in_the_target(
    world: World, engine: KeywordEngine
) -> None:
    world.write("a/x.md", "Words that nobody else has, and more of them\n")
    world.write("mine.md", b"---\nrelated: [[a/x]]\r\n---\n\xc3\xa9 [x](<a/x.md> 'T')  \r\n[[x|X]]")
    await sweep(world, engine)
    move(world, "a/x.md", "b/y (1).md")
    await sweep(world, engine)
    before = world.files()
    assert (await engine.perform("lint", {"fix": True})).get("run") is None and world.files() == before
    (why,) = {one["why"] for one in (await engine.perform("lint", {}))["found"]}
    assert "--personal" in why
    done = await engine.perform("lint", {"fix": True, "personal": True})
    after = b"---\nrelated: [[b/y (1)]]\r\n---\n\xc3\xa9 [x](<b/y%20%281%29.md> 'T')  \r\n[[y (1)|X]]"
    assert done["repaired"] == 3 and world.read("mine.md") == after
    assert not world.vault().ledger.ids_at("mine.md"), "it is still yours"
    await engine.undo_run(done["run"])
    assert world.read("mine.md") == before["mine.md"]


async def test_a_note_that_was_moved_and_edited_is_known_by_id_or_words(world: World, engine: KeywordEngine) -> None:
    words = " ".join(f"word{n}" for n in range(60))
    world.write("a/with id.md", "---\nid: 01KBZ0000000000000004K7Q2M\n---\nshort\n")
    world.write("a/without.md", f"{words}\n")
    world.write("a/short.md", "one two three\n")
    world.write("from.md", "[[a/with id]] [[a/without]] [[a/short]]")
    await sweep(world, engine)
    for name, text in {"with id": "all new\n", "without": f"{words} and more\n", "short": "four five six\n"}.items():
        head = "---\nid: 01KBZ0000000000000004K7Q2M\n---\n" if name == "with id" else ""
        (world.root / f"a/{name}.md").unlink()
        world.write(f"b/new {name}.md", head + text)
    await sweep(world, engine)
    assert await lint(engine) == [
        ("broken", "a/with id", "b/new with id", "id"),
        ("broken", "a/without", "b/new without", "content"),
        ("broken", "a/short", None, None),
    ]


async def test_a_note_that_moves_keeps_its_own_links_even_where_others_are_now(
    world: World, engine: KeywordEngine
) -> None:
    world.write("a/from.md", "[b](b.md) [c](./c.md) [d](/a/d.md) [up](../top.md)")
    for path in ("a/b.md", "a/c.md", "a/d.md", "top.md", "x/y/b.md", "x/top.md"):
        world.write(path, f"I am {path}\n")
    await sweep(world, engine)
    move(world, "a/from.md", "x/y/from.md")
    await sweep(world, engine)
    assert await lint(engine) == [
        ("moved", "b.md", "../../a/b.md", "content"),
        ("broken", "./c.md", "../../a/c.md", "content"),
        ("moved", "../top.md", "../../top.md", "content"),
    ]
    world.write("x/y/from.md", "[b](b.md)")
    await sweep(world, engine)
    assert await lint(engine) == [], "written there, it means what is there"


async def test_notes_that_change_places_take_their_links_along(world: World, engine: KeywordEngine) -> None:
    for name in "abc":
        world.write(f"{name}.md", f"I am {name}\n")
    world.write("from.md", "[[a]] [b](b.md) [[c]]")
    await sweep(world, engine)
    move(world, "c.md", "tmp.md")
    move(world, "b.md", "c.md")
    move(world, "a.md", "b.md")
    move(world, "tmp.md", "a.md")
    await sweep(world, engine)
    await engine.perform("lint", {"fix": True, "personal": True})
    assert world.read("from.md") == b"[[b]] [b](c.md) [[a]]"
    assert await lint(engine) == []


async def test_nothing_is_guessed(world: World, engine: KeywordEngine) -> None:
    world.write("a/setup.md", "How to set up a\n")
    world.write("a/gone.md", "Soon gone\n")
    world.write("one.md", "was here\n")
    world.write("from.md", "[[a/setup]] [[a/gone]] [[never]] [x](nowhere/README.md) [[one]] [[unclosed")
    await sweep(world, engine)
    move(world, "a/setup.md", "b/setup.md")
    (world.root / "a/gone.md").unlink()
    move(world, "one.md", "two.md")
    await sweep(world, engine)
    world.write("one.md", "another one\n")
    world.write("x/gone.md", "Another note of this name\n")
    world.write("x/README.md", "read me\n")
    await sweep(world, engine)
    move(world, "one.md", "three.md")
    await sweep(world, engine)
    found = {one["target"]: (one["repair"] and one["repair"]["target"], one["why"])
             for one in (await engine.perform("lint", {}))["found"]}  # fmt: skip
    assert found == {
        "a/setup": ("b/setup", "a personal note: pass --personal"),
        "a/gone": (None, "its note was removed"),
        "never": (None, "no note has its name"),
        "nowhere/README.md": (None, "no note has its name"),
        "one": ("two", "a personal note: pass --personal"),
    }
    world.write("from.md", "[[one]], said again")
    await sweep(world, engine)
    (one,) = (await engine.perform("lint", {}))["found"]
    assert one["why"] == "2 notes may be meant: three.md, two.md", "the link may be as old as the text was"


async def test_a_name_that_one_note_has_repairs_only_what_was_never_there(world: World, engine: KeywordEngine) -> None:
    world.write("guide/cargo-workspaces.md", "x\n")
    world.write("from.md", "[c](../concepts/cargo-workspaces.md) [d](concepts/cargo-workspaces.md)")
    await sweep(world, engine)
    assert await lint(engine) == [
        ("broken", "concepts/cargo-workspaces.md", "guide/cargo-workspaces.md", "name"),
    ], "what leads out of the vault is no link between notes"


async def test_links_to_what_no_longer_counts_are_named(world: World, engine: KeywordEngine) -> None:
    old = await engine.append("We use pip", kind="decision")
    gone = await engine.append("Soon forgotten", kind="fact")
    new = await engine.append("We use uv", kind="decision", supersedes=old.id)
    await engine.forget(gone.id)
    world.write("from.md", f"[[{Path(old.path).stem}]] [[{Path(gone.path).stem}]] [[twin]]\n\nsupersedes: [[{old.id}]]")
    world.write("a/twin.md", "1\n")
    world.write("b/twin.md", "2\n")
    await sweep(world, engine)
    assert [(kind, target) for kind, target, _, _ in await lint(engine)] == [
        ("superseded", Path(old.path).stem), ("forgotten", Path(gone.path).stem), ("ambiguous", "twin"),
    ]  # fmt: skip
    assert new.path not in str((await engine.perform("lint", {}))["found"])


async def test_a_generated_page_takes_no_name_from_a_note(world: World, engine: KeywordEngine) -> None:
    plan = await engine.append("Hermes moves to v2 in May", title="Hermes plan", kind="decision")
    await engine.append("Freeze the schema first\n\n- part of: [[hermes plan]]", kind="decision")
    world.write("entities/services/hermes-plan.md", "---\ntitle: Hermes plan\nnode_kind: entity\n---\nA page\n")
    await sweep(world, engine)
    assert await lint(engine) == []
    (link,) = (await engine.perform("links", {"target": plan.id}))["backlinks"]
    assert link["type"] == "part_of"


async def test_the_background_job_repairs_our_notes_unless_you_took_that_back(
    world: World, engine: KeywordEngine
) -> None:
    port = await engine.append("The port is 8080", kind="fact")
    note = await engine.append(f"See [[{Path(port.path).stem}]]", kind="fact")
    before = world.read(note.path)
    await engine.run_job("links")
    assert await engine.runs() == []
    move(world, port.path, "notes/fact/renamed.md")
    await sweep(world, engine)
    assert (await engine.run_job("links"))["figures"] == {"repaired": 1} and b"[[renamed]]" in world.read(note.path)
    (run,) = await engine.runs()
    await engine.undo_run(run)
    assert world.read(note.path) == before
    await engine.run_job("links")
    assert await engine.runs() == [run] and world.read(note.path) == before


@pytest.mark.parametrize("name", ["a]b", "a|b", "a#b", "a^b", "ünï\u202ecode", "x" * 200, "'quoted\"", "%20", " "])
async def test_hostile_names_are_written_so_that_they_lead_there_or_not_at_all(
    world: World, engine: KeywordEngine, name: str
) -> None:
    world.write("note.md", "Something\n")
    world.write("from.md", '---\nabout: "[[note]]"\n---\n[[note]] [x](note.md)')
    await sweep(world, engine)
    move(world, "note.md", f"d/{name}.md")
    await sweep(world, engine)
    await engine.perform("lint", {"fix": True, "personal": True})
    with index_of(engine) as index:
        assert {one.targets for one in index.links_from("from.md")} <= {(), (f"d/{name}.md",)}
        assert index.note("from.md").problem is None


@pytest.mark.parametrize(
    "origin",
    [
        '["obsidian:/home/ada/My notes/Kyoto Trip.md"]',
        "[obsidian:/home/ada/Notes/Trip.md]",
        "\n- obsidian:/home/ada/My notes/Kyoto, then Nara/Trip.md",
        '\n  - "claude-code:/home/ada/it\'s/Trip.md"',
        "https://example.org/Trip.md",
        '["codex:/a/Trip.md", "gemini:/b c/Trip.md"]',
        "obsidian:/one two/three four/Trip.md",
        "[file:///home/ada/Trip.md]",
        "['C:\\Users\\Ada\\My notes\\Trip.md']",
        '"openclaw:~/workspace/memory/Trip.md"',
    ],
)
async def test_where_a_note_was_imported_from_is_no_link(world: World, engine: KeywordEngine, origin: str) -> None:
    world.write("Trip.md", f"---\nderived_from: {origin}\n---\nTo Kyoto\n")
    await sweep(world, engine)
    assert await lint(engine) == []


async def test_no_note_is_said_to_be_made_from_itself(world: World, engine: KeywordEngine) -> None:
    world.write("b/Trip.md", "---\nderived_from: [a/Trip.md]\n---\nTo Kyoto, and [on](../a/Trip.md)\n")
    await sweep(world, engine)
    before = world.files()
    assert [repair for _, _, repair, _ in await lint(engine)] == [None, None]
    await engine.perform("lint", {"fix": True, "personal": True})
    assert world.files() == before


async def test_links_in_code_and_comments_are_none(world: World, engine: KeywordEngine) -> None:
    hidden = (
        "Aside <!-- [[a]] --> and %%[[b]]%%",
        "<!--\n[[c]]\n\n[[d]]\n-->",
        "%%\n[[e]]\n\n[f](f.md)\n%%",
        "Begun <!-- here\n\n[[g]]\n\n-->",
        "    [[h]]\n    [i](i.md)",
        "\t[[j]]",
        "<pre>\n[[k]]\n</pre>",
        "`[[l]]` ``[[m]] ` [n](n.md)``",
        "```\n[[o]]\n```",
        "- item\n  ~~~\n  [[p]]\n  ~~~",
    )
    shown = ("`<!--` [[q]] `-->`", "100%% of [[r]]", "<!-- [[s]]", "- item\n\n      [[t]]", "\\<!-- [[u]]")
    world.write("hidden.md", "\n\n".join(hidden))
    for number, text in enumerate(shown):
        world.write(f"shown{number}.md", text)
    await sweep(world, engine)
    assert [target for _, target, _, _ in await lint(engine)] == list("qrstu")
