"""Bad input at the engine's door: a clear error or a reported fact, nothing lost, and the engine goes on."""

from __future__ import annotations

import string
import tempfile
from pathlib import Path
from unicodedata import normalize

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.core.arguments import is_session
from mcp_memory.core.project_finder import holds_everywhere, own_project, takes_project
from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound, Refused
from tests.support.world import World, found, made, more, paths

pytestmark = pytest.mark.anyio

QUERIES = [
    "\0", "\ud800", "\udfff word", '"', "*", "NEAR(a b)", "-tea", "tea:pot", "AND OR NOT", "col:tea", "(", "^tea",
    "{a b}:",
    "tea" * 300_000, "violet " * 140_000, "\n\t", "'; DROP TABLE notes; --", "%", "_", "\u202e", "🫖",
    "violet \ud800 \0 tea",
    "a" * 999_999, "名" * 50_000, "+", "\\", "NEAR/2",
]  # fmt: skip


async def test_no_query_breaks_a_search(toy_world: World) -> None:
    toy_world.write("a.md", "violet tea")
    async with toy_world.engine() as engine:
        for query in QUERIES:
            for mode in ("hybrid", "keyword", "semantic"):
                try:
                    await engine.search(query, mode=mode)
                except InvalidInput as error:
                    assert "empty" in str(error)
            try:
                await engine.recall(query)
            except InvalidInput:
                assert not query.strip()
        assert await found(engine, '"violet" NEAR tea:', mode="keyword") == ["a.md"]
        assert await found(engine, "violet " * 140_000, mode="keyword") == ["a.md"]


def test_which_calls_mean_the_project_that_the_agent_works_in() -> None:
    theirs = [{"query": "tea"}, {}, {"content": "The mill burnt.", "kind": "fact"}]
    theirs += [{"query": "tea", "path": "@claims"}, {"query": "tea", "path": "@claims/projects"}]
    named = [{"ids": ["XYZ123"]}, {"path": "notes"}, {"path": "@transcripts"}]
    named += [{"content": "New.", "supersedes": "XYZ123"}]
    assert all(map(takes_project, theirs))
    assert not any(map(takes_project, [*named, {"content": "Tea.", "path": "MEMORY.md"}, {"project": "*"}]))
    assert is_session("b4948ebf") and not any(map(is_session, [None, "", 7, "a\nb", "x" * 5000]))


@pytest.mark.parametrize(
    ("named", "here", "meant"),
    [
        ("my-app", "my-app (personal)", "my-app (personal)"), ("my-app", "my-app", "my-app"),
        ("my-app", None, "my-app"),
        ("my-app (work)", "my-app (personal)", "my-app (work)"), ("*", "my-app (personal)", "*"),
        (None, "my-app", None),
        ("shop", "my-app (personal)", "shop"),
    ],
)  # fmt: skip
def test_an_agent_that_names_its_folder_means_its_own_project(named: str | None, here: str | None, meant: str) -> None:
    assert own_project(named, here) == meant


@pytest.mark.parametrize(
    ("preference", "is_everywhere"),
    {
        "Ada likes her bread dark.": True, "prefer small diffs in parcelhub/config.py": False,
        "Keep `src/app/__init__.py:12` free of imports.": False, "In parcelhub, prefer small diffs.": False,
        "I like ParcelHub's tests first.": False, "Prefers .github/workflows/ci.yml in one job.": False,
        "prefer pyproject.toml over setup.cfg": True, "Answer in German and/or English.": True,
        "Prefer https://docs.python.org/3/library/re.html to blogs.": True,
        "Keeps ~/.config/git/ignore.txt short.": True,
        "Logs belong into /var/log/app.log.": True, "likes TCP/IP, CI/CD and read/write locks": True,
        "prefer parcelhub-style diffs": True, "Prefers v1.2/v1.3 of a.b/c.": True,
    }.items(),
)  # fmt: skip
def test_a_preference_about_a_repository_is_not_for_all(preference: str, is_everywhere: bool) -> None:
    arguments = {"content": preference, "kind": "preference"}
    assert holds_everywhere(arguments, "parcelhub (work)") is is_everywhere
    assert not holds_everywhere({**arguments, "kind": "decision"}, "parcelhub")


SECRET = "-----BEGIN RSA PRIVATE KEY-----\nMIIE" + string.ascii_letters + "\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"content": ""}, InvalidInput, "content is empty"),
        ({"content": "x" * 10_000_000}, InvalidInput, "larger than"),
        ({"content": "\x7fELF\0\1"}, InvalidInput, "control character"),
        ({"content": "\ud800"}, InvalidInput, "surrogate"),
        ({"content": SECRET}, Refused, "secret"), ({"title": SECRET}, McpMemoryError, ""),
        ({"kind": "fixx"}, InvalidInput, "fix"),
        ({"tags": ["a\nb"]}, InvalidInput, "tag"),
        ({"when": ["a", "b", "c", "d"]}, InvalidInput, "4 phrases under `when` (pass the 3"),
        ({"when": ["x" * 81]}, InvalidInput, "`when` phrase has 81 characters (at most 80)"),
        ({"when": ["a\nb"]}, InvalidInput, "`when` phrase"), ({"when": ["a\x1b"]}, InvalidInput, "`when` phrase"),
        ({"when": [" "]}, InvalidInput, "`when` phrase"),
        ({"when": ["password: hunter2horse9"]}, Refused, "secret"),
        ({"when": ["a"], "kind": "log"}, InvalidInput, "a log entry has no path, `when`"),
        ({"when": ["a"], "path": "MEMORY.md", "section": "Us", "kind": "note"}, InvalidInput, "no title, tags, `when`"),
        ({"title": "a\nb"}, InvalidInput, "title"), ({"expires": "soon"}, InvalidInput, "expires: not a date"),
        ({"supersedes": "01NONE"}, NotFound, "01NONE"), ({"supersedes": "\ud800"}, NotFound, ""),
        ({"project": "\ud800"}, InvalidInput, "project"), ({"session": "a\0"}, InvalidInput, "session"),
        ({"source": "x" * 101}, InvalidInput, "source"),
    ],
)  # fmt: skip
async def test_a_refused_append_leaves_nothing(
    world: World, arguments: dict, error: type[Exception], message: str
) -> None:
    async with world.engine() as engine:
        before = world.files()
        with pytest.raises(error) as refused:
            await engine.append(**{"content": "words", "kind": "fact", **arguments})
        assert message in str(refused.value)
        assert "MIIE" not in str(refused.value)
        assert len(str(refused.value)) < 600
        assert world.files() == before
        assert len(world.vault().ledger) == 0
        assert paths(engine) == []


@given(
    content=st.text(min_size=1, max_size=120),
    title=st.none() | st.text(max_size=120),
    tags=st.lists(st.text(max_size=20), max_size=3),
    kind=st.sampled_from(["note", "log", "fact"]),
)
@settings(max_examples=more(20), deadline=None)
def test_any_text_is_stored_whole_or_refused(content: str, title: str | None, tags: list[str], kind: str) -> None:
    async def once() -> None:
        with tempfile.TemporaryDirectory() as folder:
            world = made(Path(folder))
            async with world.engine() as engine:
                try:
                    receipt = await engine.append(content, kind=kind, title=title, tags=tags)
                except (InvalidInput, Refused):
                    assert set(world.files()) == {"README.txt"}
                    return
                text = world.read(receipt.path).decode()
                if kind != "log":
                    assert content.strip("\r\n") in text
                assert await engine.problems() == {}
                assert receipt.id in [record.id for record in await engine.notes()] or kind == "log"
                again = await engine.append(content, kind=kind, title=title, tags=tags)
                assert (again.outcome, again.id) == ("duplicate", receipt.id)
                before = world.files()
                await engine.forget(receipt.id)
                await engine.forget(receipt.id, restore=True)
                assert world.files() == before

    anyio.run(once)


class TestOperations:
    async def test_an_unknown_one_lists_the_known(self, world: World) -> None:
        async with world.engine() as engine:
            with pytest.raises(InvalidInput, match="known: search"):
                await engine.perform("destroy", {})
            with pytest.raises(InvalidInput, match="Missing `content`"):
                await engine.perform("append", {})


async def test_the_doctor_names_what_is_odd(world: World) -> None:
    world.write("a.md", "---\nid: same\n---\nx")
    world.write("b.md", "---\nid: same\n---\ny")
    world.write("a (conflicted copy 2026-11-21).md", "x")
    world.write("broken.md", b"\xff")
    world.write(".memoryignore", "secret.md\n")
    world.write("secret.md", "x")
    async with world.engine() as engine:
        said = {finding.what: finding for finding in await engine.doctor()}
        for words in (
            "have the id same",
            "is a conflict copy: another version of a.md",
            "broken.md: invalid UTF-8",
            "left out by .memoryignore",
        ):
            assert any(words in what for what in said), words
        assert all(finding.remedy for finding in said.values())
        severities = [finding.severity for finding in await engine.doctor()]
        assert severities == sorted(severities, key=["error", "warning", "info"].index)


@pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
async def test_a_path_names_a_file_in_either_unicode_form(world: World, on_disk: str) -> None:
    world.with_home("")
    path = normalize(on_disk, "Caf\u00e9 M\u00fcller/\u00c5ngstr\u00f6m.md")
    world.write(path, "# Kiln\n\nIt is hot.\n")
    asked = [normalize(form, path) for form in ("NFC", "NFD")]
    async with world.engine() as engine:
        for name in asked:
            assert (await engine.perform("show", {"target": name}))["path"] == path
            assert "It is hot" in await engine.recall(path=name)
            assert await found(engine, "kiln", path=name) == [path]
            assert await found(engine, "kiln", path=name.partition("/")[0]) == [path]
            assert (await engine.perform("stats", {"target": name}))["path"] == path
            assert (await engine.perform("adopt", {"path": name, "dry_run": True}))["adopted"] == [path]
            assert (await engine.perform("list", {"path": name}))["notes"][0]["path"] == path
        await engine.perform("adopt", {})
        await engine.perform("mute", {"target": asked[0], "project": "*"})
        for name in asked:
            assert (await engine.perform("forget", {"target": name}))["path"] == path
            await engine.perform("restore", {"target": name})
            assert await found(engine, "kiln") == [path]
