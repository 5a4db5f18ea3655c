"""A topic shared: what goes along and what does not, links that stay within, and a folder that others may change."""

from __future__ import annotations

import json
import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.compaction.share.folder import MANIFEST, ShareFolder, ShareManifest, plan_share
from mcp_memory.compaction.share.share_bundle import ShareBundle, SharedPaths, rewrite_links
from mcp_memory.errors import NotFound, Refused, StorageFailed
from mcp_memory.models import NoteState, etag_of
from mcp_memory.storage.filesystem import FilesystemBackend
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.topics.page import PAGE
from mcp_memory.vault.config import VaultConfig
from tests.support.keyword_engine import KeywordEngine
from tests.support.topics import ALL_AT_ONCE, RAIL, TEA, told, topic_of
from tests.support.world import World, found, made, more, records

PLACES = SharedPaths({f"topics/01-a/{name}": name for name in ("_summary.md", "b.md", "02-c/_summary.md", "02-c/d.md")})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[in](./b.md) and [down](02-c/d.md#h)", None),
        ("[out](../02-x/e.md) and [far](/notes/fact/f.md \"title\")", "out and far"),
        ("[back in](../01-a/b.md#head) [root](/topics/01-a/02-c/d.md)", "[back in](./b.md#head) [root](./02-c/d.md)"),
        ("[web](https://example.org/a.md) <https://example.org> [mail](mailto:a@b.c) [here](#top)", None),
        ("[gone](../../../../etc/passwd) [local](file:///etc/passwd)", "gone local"),
        ("![map](./map.png) ![](../x/plan.png)", "map plan.png"),
        ("[![map](./map.png)](../02-x/e.md) [![map](m.png)](b.md)", "map [map](b.md)"),
        ("[[b]] [[01-a/b#h|label]] [[e]] [[../02-x/e|Ella]] [[notes/fact/f#h]]", "[[b]] [[01-a/b#h|label]] e Ella f"),
        ("[the folder](./02-c/) [another](../02-x/)", "[the folder](./02-c/) another"),
        ("`[code](../x.md)`\n\n```\n[code](../x.md)\n```\n", None),
        ("[one][1] [two][2]\n\n[1]: ../x.md\n[2]: ./b.md\n", "[one][1] [two][2]\n\n\n[2]: ./b.md\n"),
        ("[a \\] b](../x.md)", "a \\] b"),
    ],
)  # fmt: skip
def test_links_stay_within(before: str, after: str | None) -> None:
    assert rewrite_links(before, 0, "topics/01-a/_summary.md", PLACES)[0] == (before if after is None else after)


def test_a_link_from_below_and_the_head_of_a_note() -> None:
    text = "---\ntitle: '[x](../../y.md)'\n---\n[up](../b.md) [out](../../e.md)\n"
    said, cut = rewrite_links(text, text.index("[up]"), "topics/01-a/02-c/d.md", PLACES)
    assert (said, cut) == (text.replace("[out](../../e.md)", "out"), 1)


words = st.sampled_from(
    ["[", "]", "(", ")", "!", "a", "b.md", "../x.md", "[[", "]]", "|", "#", "`", "\\", "\n", " ", ":", "<", ">",
     "[1]: ../y.md", "https://e.org", "[b](b.md)", "![p](p.png)"]
)  # fmt: skip


@given(st.lists(words, max_size=25).map("".join))
@settings(max_examples=more(300), deadline=None)
def test_whatever_stands_there_no_link_leads_out(text: str) -> None:
    path = "topics/01-a/b.md"
    said, _ = rewrite_links(text, 0, path, PLACES)
    for link in find_links(said):
        if link.kind == "markdown" and not link.target.startswith(("http", "#")) and ":" not in link.target:
            assert resolve(link.target, "b.md") in {*PLACES.shared.values(), *PLACES.folders}
    assert rewrite_links(said, 0, path, PLACES) == (said, 0)


def parcel(**files: str) -> ShareBundle:
    some = {f"{name}.md": text for name, text in sorted(files.items())}
    return ShareBundle("V", "topics/01-a", "P", some, {}, 0)


def etag(text: str) -> str:
    return etag_of(text.encode())


def test_the_plan_leaves_what_is_somebody_elses() -> None:
    ours = ("updated", "edited", "gone", "left", "mine")
    share = ShareManifest("V", "topics/01-a", "P", {f"{name}.md": [etag("old")] for name in ours})
    standing = {
        "updated.md": etag("old"), "edited.md": etag("theirs"), "left.md": etag("old"), "mine.md": etag("theirs"),
        "stranger.md": etag("theirs"), "alike.md": etag("new"),
    }  # fmt: skip
    given = parcel(updated="new", edited="new", gone="new", stranger="new", alike="new", fresh="new")
    assert plan_share(given, share, standing) == {
        "updated.md": "updated", "edited.md": "kept",
        "gone.md": "new", "stranger.md": "kept",
        "alike.md": "unchanged", "fresh.md": "new",
        "left.md": "removed", "mine.md": "kept",
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> ShareFolder:
    (tmp_path / "vault").mkdir()
    return ShareFolder(tmp_path / "shared" / "a", tmp_path / "vault")


def texts(folder: ShareFolder) -> dict[str, str]:
    files = (file for file in folder.folder.rglob("*") if file.is_file() and file.name != MANIFEST)
    return {file.relative_to(folder.folder).as_posix(): file.read_text() for file in files}


def test_a_folder_is_brought_up_to_date(folder: ShareFolder) -> None:
    first = parcel(a="1", b="1", **{"02-c/d": "1"})
    assert set(folder.planned(first).values()) == {"new"}
    assert not folder.folder.exists(), "planning writes nothing"
    folder.fill(first)
    assert texts(folder) == {"a.md": "1", "b.md": "1", "02-c/d.md": "1"}
    assert set(folder.fill(first).values()) == {"unchanged"}
    (folder.folder / "b.md").write_text("a person's")
    (folder.folder / "own.md").write_text("a person's")
    second = parcel(a="2", b="2", own="2")
    assert folder.fill(second) == {
        "a.md": "updated", "b.md": "kept", "own.md": "kept",
        "02-c/d.md": "removed",
    }  # fmt: skip
    assert texts(folder) == {"a.md": "2", "b.md": "a person's", "own.md": "a person's"}
    assert not (folder.folder / "02-c").exists()
    assert folder.fill(parcel()) == {"a.md": "removed", "b.md": "kept"}
    assert texts(folder) == {"b.md": "a person's", "own.md": "a person's"}
    (folder.folder / "b.md").write_text("2")
    assert folder.fill(parcel(a="3", b="3")) == {"a.md": "new", "b.md": "kept"}, "never ours, by whatever bytes"


def test_what_was_cut_short_is_finished(folder: ShareFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.fill(parcel(a="1", b="1"))
    with monkeypatch.context() as patch:
        write = FilesystemBackend.write

        def torn(backend, path, data, expected, **rest):
            return write(backend, path, data, expected, **rest) if expected is None else 1 / 0

        patch.setattr(FilesystemBackend, "write", torn)
        with pytest.raises(ZeroDivisionError):
            folder.fill(parcel(**{"0": "2"}, a="2", b="2"))
    assert texts(folder) == {"0.md": "2", "a.md": "1", "b.md": "1"}
    assert folder.fill(parcel(**{"0": "3"}, a="3", b="3")) == dict.fromkeys(["0.md", "a.md", "b.md"], "updated")


def test_folders_that_are_not_free(folder: ShareFolder, tmp_path: Path) -> None:
    strangers = tmp_path / "strangers"
    strangers.mkdir()
    (strangers / ".git").mkdir()
    ShareFolder(strangers, tmp_path / "vault").planned(parcel(a="1"))
    (strangers / "letter.txt").write_text("Dear")
    with pytest.raises(Refused, match=r"holds 'letter.txt'"):
        ShareFolder(strangers, tmp_path / "vault").fill(parcel(a="1"))
    another = tmp_path / "another vault"
    (another / ".mcp-memory").mkdir(parents=True)
    with pytest.raises(Refused, match=r"holds '.mcp-memory'"):
        ShareFolder(another, tmp_path / "vault").fill(parcel(a="1"))
    folder.fill(parcel(a="1"))
    for other in (replace(parcel(), vault="W"), replace(parcel(), topic="topics/02-b", page="Q")):
        with pytest.raises(Refused, match="is shared with topics/01-a"):
            folder.fill(other)
    folder.fill(replace(parcel(a="1"), topic="topics/07-moved/01-a"))
    (folder.folder / MANIFEST).write_text("[]")
    with pytest.raises(Refused, match="cannot be read"):
        folder.fill(parcel(a="1"))
    (tmp_path / "link").symlink_to(tmp_path / "vault")
    for inside in (
        tmp_path / "vault",
        tmp_path / "vault" / "x",
        tmp_path,
        tmp_path / "link" / "x",
        tmp_path / "x/../vault",
    ):
        with pytest.raises(Refused, match="in one another"):
            ShareFolder(inside, tmp_path / "vault")
    assert list((tmp_path / "vault").iterdir()) == []
    assert sorted(file.name for file in strangers.iterdir()) == [".git", "letter.txt"]


def test_a_manifest_that_is_none(folder: ShareFolder) -> None:
    folder.fill(parcel(a="1"))
    manifest = folder.folder / MANIFEST
    said = json.loads(manifest.read_text())
    damaged = [json.dumps({**said, "files": files}) for files in ([], {"a.md": 1})]
    for text in (*damaged, "[" * 100_000, "null", '"x"', "\0"):
        manifest.write_text(text)
        with pytest.raises(Refused, match="cannot be read"):
            folder.fill(parcel(a="2"))
    manifest.unlink()
    os.mkfifo(manifest)
    with pytest.raises(Refused, match="cannot be read"):
        folder.planned(parcel(a="2"))
    assert (folder.folder / "a.md").read_text() == "1"


def test_links_in_the_folder_lead_nowhere(folder: ShareFolder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "d.md").write_text("1")
    folder.fill(parcel(a="1", **{"02-c/d": "1"}))
    shutil.rmtree(folder.folder / "02-c")
    (folder.folder / "02-c").symlink_to(outside)
    (folder.folder / "a.md").unlink()
    (folder.folder / "a.md").symlink_to(outside / "d.md")
    for again in (parcel(a="2", **{"02-c/d": "2", "02-c/03-e/f": "2"}), parcel()):
        assert set(folder.fill(again).values()) == {"kept"}
    assert {file.name: file.read_text() for file in outside.iterdir()} == {"d.md": "1"}


def test_a_planted_link_is_not_written_through(
    folder: ShareFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").write_text("mine")
    folder.fill(parcel(a="1"))
    for name in (str(threading.get_ident()), "00"):
        (folder.folder / MANIFEST).with_suffix(f".{name}").symlink_to(tmp_path / "mine")
    folder.fill(parcel(a="2"))
    with monkeypatch.context() as patch:
        patch.setattr("mcp_memory.runtime.private_files.token_hex", lambda _: "00")
        with pytest.raises(StorageFailed):
            folder.fill(parcel(a="3"))
    assert (tmp_path / "mine").read_text() == "mine"
    assert texts(folder)["a.md"] == "2"


async def gathered(engine: KeywordEngine, topic: str) -> ShareBundle:
    return ShareBundle(**json.loads(json.dumps(await engine.perform("share", {"target": topic}))))


@pytest.mark.anyio
async def test_another_vault_reads_it_as_a_source(toy_world: World, tmp_path: Path) -> None:
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        await told(engine, TEA + RAIL)
        await engine.compact()
        before = toy_world.files()
        tea = topic_of(toy_world, "green-tea")
        given = await gathered(engine, tea)
        assert given == await gathered(engine, tea.removeprefix("topics/")) == await gathered(engine, given.page)
        folder = ShareFolder(tmp_path / "shared", toy_world.root)
        folder.fill(given)
        assert toy_world.files() == before
        with pytest.raises(NotFound, match="no topic"):
            await gathered(engine, "topics/_fresh")
    other = made(tmp_path / "other", "toy")
    async with other.engine(vault=VaultConfig(sources={"tea": str(folder.folder)})) as engine:
        hits = await found(engine, "Green tea from Uji")
        assert sorted(hits) == sorted(f"@tea/{path}" for path in texts(folder) if path != PAGE), "no page among them"
        assert "a warm pot" in await engine.recall("how is green tea from Uji made")
        (page,) = [record for record in records(engine) if record.state is NoteState.SUMMARY]
        shown = await engine.recall(ids=[page.id])
        assert all(f"@tea/{path}" in shown for path in texts(folder) if path != PAGE), "the page's links are sound"


@pytest.mark.anyio
async def test_what_does_not_count_stays_out_and_goes_from_the_folder(toy_world: World, tmp_path: Path) -> None:
    folder = ShareFolder(tmp_path / "shared", toy_world.root)
    async with toy_world.engine(topics=ALL_AT_ONCE) as engine:
        ids = await told(engine, TEA)
        await engine.compact()
        tea = topic_of(toy_world, "green-tea")
        folder.fill(await gathered(engine, tea))
        (canary,) = [path for path in texts(folder) if TEA[0] in texts(folder)[path] and path != PAGE]
        await engine.forget(ids[0])
        toy_world.write(f"{tea}/old.md", "---\nexpires_at: 2020-01-01\n---\nOld tea.\n")
        toy_world.write(f"{tea}/done.md", "---\nstatus: archived\n---\nDone tea.\n")
        toy_world.write(f"{tea}/own.md", "The tea for my doctor. #private\n")
        toy_world.write(f"{tea}/key.md", f"The token is ghp_{'a1B2c3D4e5F6g7H8i9J0' * 2}"[:57] + "\n")
        toy_world.write(f"{tea}/bytes.md", b"tea \xff\xfe\n")
        given = await gathered(engine, tea)
        why = {path.rpartition("/")[2]: reason for path, reason in given.left_out.items()}
        assert why.keys() == {canary, "old.md", "done.md", "own.md", "key.md", "bytes.md", PAGE}
        assert why["own.md"] == "private"
        assert (why[canary], why["old.md"], why["done.md"]) == ("forgotten", "expired", "archived or superseded")
        assert "GitHub" in why["key.md"]
        assert "mcp-memory topics compact" in why[PAGE], "a page that quotes a forgotten note stays out"
        deeds = folder.fill(given)
        assert (deeds[canary], deeds[PAGE]) == ("removed", "removed")
        assert TEA[0] not in "".join(texts(folder).values())
        for name in ("old.md", "done.md", "own.md", "key.md", "bytes.md"):
            (toy_world.root / tea / name).unlink()
        await engine.compact()
        assert folder.fill(await gathered(engine, tea))[PAGE] == "new"
        assert TEA[0] not in "".join(texts(folder).values())
    async with toy_world.engine(topics=ALL_AT_ONCE, vault=VaultConfig(secrets="allow")) as engine:
        toy_world.write(f"{tea}/key.md", f"The token is ghp_{'a1B2c3D4e5F6g7H8i9J0' * 2}"[:57] + "\n")
        given = await gathered(engine, tea)
        assert any("key.md seems to hold a secret" in line for line in given.warnings)
        assert "key.md" in given.files
