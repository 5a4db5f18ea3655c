"""What is captured: each message once, however the file grows, is cut short or replaced; and nothing secret."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory.capture.config import CaptureConfig
from mcp_memory.capture.readers.message import Role
from mcp_memory.capture.session_reader import CapturedMessages
from mcp_memory.capture.worker import CaptureWorker
from mcp_memory.errors import Busy, NotFound, Refused
from tests.capture.taken import Desk, checkpoint
from tests.capture.written import SAMPLES, line, result, use
from tests.support.secret_texts import SECRETS
from tests.support.world import eventually, more

pytestmark = pytest.mark.anyio


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def session(count: int, first: int = 0) -> list[bytes]:
    return [
        line(number, f"message-{number} says something", role="user" if number % 2 else "assistant")
        for number in range(first, first + count)
    ]


def numbers(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"message-(\d+)", text)]


async def test_a_real_session_becomes_leaves(desk: Desk):
    for client in ("claude-code", "codex", "openclaw", "gemini"):
        shutil.copytree(SAMPLES / client, desk.root / "home" / client / "x")
    taker = desk.taker()
    for place in await taker.list_transcripts():
        while not (await taker.capture_next(place)).at_end:
            pass
    leaves = desk.leaves()
    assert {path.split("/")[0] for path in leaves} == {"claude-code", "codex", "openclaw", "gemini"}
    assert len(leaves) == 7  # six sessions and a sub-agent's part
    (one,) = (text for path, text in leaves.items() if path.startswith("claude-code/861705d5"))
    file = desk.root / "home/claude-code/x/861705d5-deca-4e9c-984e-9c2ca4b78b28.jsonl"
    head, _, body = one.partition("\n---\n")
    assert "kind: transcript\n" in head
    assert "source: claude-code\n" in head
    assert "created: 2026-11-22T10:46:23+00:00\n" in head
    assert 'session: "861705d5-deca-4e9c-984e-9c2ca4b78b28"\n' in head
    assert f"{file}#1781" in head
    assert body.startswith("\n## 2026-11-22\n\n- User (10:46): We always use tabs, never spaces.")
    assert "- Assistant (10:46): STUB-ANSWER ok" in body
    # What tools gave back is kept out; the hearer has it, so that it can tell what failed.
    assert "No such file" not in desk.said()
    assert "No such file" in "".join(desk.texts())


async def test_a_worktree_that_is_gone_was_its_repositorys(desk: Desk):
    worktree, inside = desk.root / "mill-fix", desk.root / "mill" / ".git" / "worktrees" / "fix"
    inside.mkdir(parents=True)
    worktree.mkdir()
    (worktree / ".git").write_text(f"gitdir: {inside}\n")
    desk.file().write_bytes(line(1, "The rye is in.", cwd=str(worktree)))
    await desk.take(desk.file())
    shutil.rmtree(worktree)
    desk.file().write_bytes(desk.file().read_bytes() + line(2, "And the wheat.", cwd=str(worktree)))
    await desk.take(desk.file())
    (leaf,) = desk.leaves().values()
    assert "project: mill\n" in leaf and "And the wheat." in leaf


LINES = st.lists(
    st.one_of(
        st.integers(1, 60).map(lambda words: "word " * words),
        st.integers(4000, 9500).map(lambda length: "long\n" * (length // 5)),
        st.just("é" * 40 + "🙂"),
    ),
    min_size=1,
    max_size=25,
)


def grown(texts: list[str]) -> bytes:
    """Of two sub-agents and the session itself, with what is no message between."""
    lines: list[bytes] = []
    for number, text in enumerate(texts):
        aside = {"isSidechain": True, "agentId": "ab"[number % 2]} if number % 3 == 2 else {}
        lines.append(line(number, f"message-{number} {text}", **aside))
        lines += [b"not JSON\n", b'{"type": "mode", "new": 1}\n', b"\n"][: number % 4]
    return b"".join(lines)


@settings(max_examples=more(6), deadline=None)
@given(LINES, st.lists(st.floats(0, 1), max_size=6))
def test_however_a_file_grows_the_same_leaves_come_of_it(texts: list[str], cuts: list[float]):
    """Cut anywhere, also within a character; each message is heard once, in order."""
    data = grown(texts)

    async def captured(sizes: list[int]) -> tuple[dict[str, str], list[str], object]:
        with tempfile.TemporaryDirectory() as folder:
            desk = Desk(Path(folder))
            for size in [*sizes, len(data)]:
                desk.file().write_bytes(data[:size])
                await desk.take(desk.file())
            leaves = {name: text.replace(folder, "") for name, text in desk.leaves().items()}
            # The name of a leaf's folder is made from the transcript's path.
            named = {re.sub(r"-[0-9a-f]{8}/", "/", name): text for name, text in leaves.items()}
            assert len(named) == len(leaves)
            return named, desk.texts(), checkpoint(desk)["unreadable"]

    whole = anyio.run(captured, [])
    assert [numbers(text)[0] for text in whole[1]] == list(range(len(texts)))
    assert anyio.run(captured, sorted(int(cut * len(data)) for cut in cuts)) == whole


async def test_a_file_cut_short_and_written_on(desk: Desk):
    lines = session(10)
    desk.file().write_bytes(b"".join(lines))
    await desk.take(desk.file())
    desk.file().write_bytes(b"".join(lines[:4]))
    await desk.take(desk.file())
    with desk.file().open("ab") as file:
        file.write(b"".join(lines[4:7] + session(3, first=20)))
    await desk.take(desk.file())
    assert numbers("".join(desk.texts())) == [*range(10), 20, 21, 22]
    assert numbers(desk.said().partition("\n## ")[2]) == [*range(10), 20, 21, 22]
    assert checkpoint(desk)["restarts"] == 1


async def test_another_file_in_its_place(desk: Desk):
    """Rotated: what is in the new one is all new, and what was in the old one stays."""
    desk.file().write_bytes(b"".join(session(10)))
    await desk.take(desk.file())
    desk.file().rename(desk.file().with_suffix(".1"))
    desk.file().write_bytes(b"".join(session(12, first=50)))
    await desk.take(desk.file())
    assert numbers("".join(desk.texts())) == [*range(10), *range(50, 62)]


async def test_the_same_bytes_under_another_inode_are_the_same_file(desk: Desk):
    """As after a restore from a backup, or with an editor that replaces files."""
    lines = session(10)
    desk.file().write_bytes(b"".join(lines))
    await desk.take(desk.file())
    copy = desk.file("copy.tmp")
    copy.write_bytes(b"".join(lines + session(2, first=30)))
    copy.replace(desk.file())
    await desk.take(desk.file())
    assert numbers("".join(desk.texts())) == [*range(10), 30, 31]
    assert checkpoint(desk)["restarts"] == 0


async def test_nothing_new_writes_nothing(desk: Desk):
    desk.file().write_bytes(b"".join(session(4)))
    await desk.take(desk.file())
    before = {file: file.stat().st_mtime_ns for file in (desk.state / "transcripts").rglob("*.md")}
    (again,) = await desk.take(desk.file())
    assert (again.messages, again.leaves) == (0, 0)
    assert {file: file.stat().st_mtime_ns for file in (desk.state / "transcripts").rglob("*.md")} == before


async def test_no_secret_is_ever_on_disk(desk: Desk):
    """In leaves, checkpoints, and what the hearer gets: said by a person, a model and a tool."""
    for number, (text, _) in enumerate(SECRETS.values()):
        said = f"Take this: {text}\nand go on."
        with desk.file().open("ab") as file:
            file.write(line(3 * number, said) + use(3 * number + 1, f"t{number}", "Bash"))
            file.write(result(3 * number + 2, f"t{number}", text) + line(3 * number + 2, text, role="assistant"))
        await desk.take(desk.file())
    shutil.copy(desk.file(), desk.file("other/s-2.jsonl"))
    await desk.take(desk.file("other/s-2.jsonl"))
    kept = desk.bytes_on_disk().decode("utf-8", "replace") + "\n".join(desk.texts())
    for kind, (text, length) in SECRETS.items():
        pieces = {text[at : at + 12] for at in range(len(text) - 11)}
        # Names of settings, hosts and the frames of keys may stay.
        assert sum(piece in kept for piece in pieces) <= max(0, len(text) - length + 8), kind


async def test_a_secret_where_a_long_message_is_cut(desk: Desk):
    secret = SECRETS["GitHub"][0]
    for shift in range(0, 60, 7):
        desk.file().write_bytes(line(1, "x " * 49_990 + "y" * shift + f" {secret} " + "z " * 20_000))
        await desk.take(desk.file())
        assert secret[4:16] not in desk.bytes_on_disk().decode("utf-8", "replace")


async def test_a_line_of_five_megabytes_and_what_is_none(desk: Desk):
    odd = b"\xff\xfe broken\n" + b"[1, 2]\n" + b"\0" * 100 + b"\n"
    desk.file().write_bytes(line(1, "before") + line(2, "big " * 1_250_000) + odd + line(3, "after"))
    taken = await desk.take(desk.file())
    assert [text[:6] for text in desk.texts()] == ["before", "big bi", "after"]
    assert len(desk.texts()[1]) < 100_100
    assert sum(each.unreadable for each in taken) == 3


async def test_only_the_user_can_read_what_is_kept(desk: Desk):
    desk.file().write_bytes(b"".join(session(4)))
    await desk.take(desk.file())
    kept = list(desk.state.rglob("*"))
    assert len(kept) > 5
    assert [str(each) for each in kept if each.stat().st_mode & 0o077] == []


async def test_a_hearer_that_fails_hears_it_again(desk: Desk):
    """The checkpoint stands behind nothing that the hearer has not taken; after the third time it goes on without."""
    calls: list[list[int]] = []

    async def hear(heard: CapturedMessages) -> None:
        calls.append(numbers("".join(each.turn.text for each in heard.messages)))
        if len(calls) < 3:
            raise Busy("not now")

    desk.hear = hear
    desk.file().write_bytes(b"".join(session(3)))
    for _ in range(2):
        with pytest.raises(Busy):
            await desk.take(desk.file())
        assert numbers(desk.said()) == [1, 0, 1, 2]  # the person's first words name a leaf
    await desk.take(desk.file())
    await desk.take(desk.file())
    assert calls == [[0, 1, 2]] * 3


async def test_a_dry_run_leaves_no_trace(desk: Desk):
    desk.file().write_bytes(b"".join(session(9)))
    taker = desk.taker()
    (place,) = await taker.list_in_file(str(desk.file()))
    told = await taker.preview(place)
    assert (told.messages, told.leaves, told.at_end) == (9, 1, True)
    assert (desk.heard, list(desk.state.rglob("*"))) == ([], [])


async def test_sub_agents_files_belong_to_their_session(desk: Desk):
    shutil.copytree(SAMPLES / "claude-code", desk.file("p/x").parent, dirs_exist_ok=True)
    found = await desk.taker().list_in_file(str(desk.file("p/85b5b496-51f8-47cb-a1d1-4c31e918f6d2.jsonl")))
    assert [place.file.name for place in found][1:] == ["agent-a864c3394c7be4298.jsonl"]


# -- while it goes on -----------------------------------------------------------------------------------------------


@asynccontextmanager
async def running(capturer: CaptureWorker) -> AsyncGenerator[None]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(capturer.run)
        yield
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("grown_by", [session(60, first=2), [line(2, "message-2 " + "word " * 24_000)]])
async def test_a_long_turn_is_captured_at_the_thresholds(desk: Desk, grown_by: list[bytes]):
    """A prompt was told of, and nothing since: little waits for the end of its turn, 50 messages or 100 KB do not."""
    capturer = desk.capturer(look_s=0.02)
    desk.file().write_bytes(b"".join(session(2)))
    capturer.follow("claude-code", str(desk.file()), due=False)
    for _ in range(3):
        await capturer.check_followed()
    assert desk.heard == []
    async with running(capturer):
        with desk.file().open("ab") as file:
            file.write(b"".join(grown_by))
        await eventually(lambda: len(desk.texts()) == 2 + len(grown_by))


async def test_what_was_due_when_the_process_ended_is_captured_at_its_next_start(desk: Desk):
    desk.file().write_bytes(b"".join(session(3)))
    await desk.capturer().follow_durably("claude-code", str(desk.file()))
    async with running(desk.capturer()):
        await eventually(lambda: len(desk.texts()) == 3)


async def test_a_session_that_another_agent_runs_stays_that(desk: Desk):
    """Over a restart of the daemon, and where its file is written anew."""
    desk.file().write_bytes(b"".join(session(2)))
    await desk.capturer().follow_durably("claude-code", str(desk.file()), delegated=True)
    async with running(desk.capturer()):
        await eventually(lambda: len(desk.texts()) == 2)
    desk.file().write_bytes(line(7, "It began anew."))
    await desk.take(desk.file())
    assert {message.role for told in desk.heard for message in told.messages} == {Role.ASSISTANT}
    other = desk.file("-home-ada-app/s-2.jsonl")
    other.write_bytes(b"".join(session(2)))
    capturer = desk.capturer(look_s=0.02)
    capturer.follow("claude-code", str(other), due=False, delegated=True)
    capturer.follow("claude-code", str(other), due=True)
    await capturer.check_followed()
    assert {message.role for message in desk.heard[-1].messages} == {Role.ASSISTANT}


async def test_the_source_is_back_where_somebody_has_removed_it(desk: Desk):
    """Else a search would complain of it for ever."""
    async with running(desk.capturer(look_s=0.02)):
        await eventually((desk.state / "transcripts").is_dir)
        shutil.rmtree(desk.state / "transcripts")
        await eventually((desk.state / "transcripts").is_dir)


async def test_off_means_that_nothing_is_read(desk: Desk):
    desk.config = replace(desk.config, enabled=False)
    desk.file().write_bytes(b"".join(session(3)))
    capturer = desk.capturer(look_s=0.01)
    await capturer.follow_durably("claude-code", str(desk.file()))
    assert capturer.status()["following"] == 0
    await capturer.run()  # has nothing to do, for ever
    assert (desk.heard, list(desk.state.rglob("*"))) == ([], [])


# -- what may be read -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", [
    "/etc/passwd", "/etc/passwd.jsonl", "relative.jsonl", "", "~/.ssh/id_rsa", "{root}/../../secret.jsonl",
    "{root}/a/../../codex/x.jsonl", "{root}/settings.json", "{root}x/a.jsonl", "{root}", "{root}/\0.jsonl",
    "{root}/a.jsonl#session", "{root}/" + "a" * 5000 + ".jsonl",
])  # fmt: skip
async def test_a_path_outside_is_refused(desk: Desk, file: str):
    secret = desk.root / "home" / "secret.jsonl"
    secret.write_bytes(line(1, "the secret plan"))
    with pytest.raises(Refused):
        await desk.take(Path(file.format(root=desk.root / "home" / "claude-code")), "claude-code")
    assert not desk.leaves()


async def test_no_link_leads_out(desk: Desk):
    outside = desk.root / "outside"
    outside.mkdir()
    (outside / "s.jsonl").write_bytes(line(1, "the secret plan"))
    desk.file("linked.jsonl").symlink_to(outside / "s.jsonl")
    desk.file("x/a.jsonl").parent.joinpath("deep").symlink_to(outside)
    os.mkfifo(desk.file("pipe.jsonl"))
    desk.file("folder.jsonl").mkdir()
    for name in ("linked.jsonl", "x/deep/s.jsonl", "pipe.jsonl", "folder.jsonl"):
        with pytest.raises(Refused):
            await desk.take(desk.file(name) if name != "x/deep/s.jsonl" else desk.root / "home/claude-code" / name)
    assert [place.inner.name for place in await desk.taker().list_transcripts()] == []
    assert not desk.leaves()


async def test_a_clients_folder_itself_may_be_a_link(desk: Desk):
    """People keep their dotfiles elsewhere."""
    real = desk.root / "dotfiles"
    (desk.root / "home" / "claude-code").rename(real)
    (desk.root / "home" / "claude-code").symlink_to(real)
    desk.file().write_bytes(b"".join(session(2)))
    await desk.take(desk.file())
    await desk.take(real / "-home-ada-app" / "s-1.jsonl")  # as the client may say it
    assert numbers("".join(desk.texts())) == [0, 1]


async def test_a_file_that_is_gone(desk: Desk):
    with pytest.raises(NotFound):
        await desk.take(desk.file())


# -- pruning --------------------------------------------------------------------------------------------------------


async def test_old_leaves_go_and_too_much_of_them(desk: Desk):
    desk.config = replace(desk.config, keep_days=10, keep_bytes=25_000)
    for number in range(8):
        file = desk.file(f"p/s-{number}.jsonl")
        file.write_bytes(line(number, f"message-{number} " + "word " * 1000))
        await desk.take(file)
    leaves = sorted((desk.state / "transcripts").rglob("*.md"), key=lambda leaf: numbers(leaf.read_text())[0])
    now = leaves[0].stat().st_mtime
    for number, leaf in enumerate(leaves):
        os.utime(leaf, (now, now - (11 - number) * 86_400 + 3600))
    assert desk.taker().store.prune() == 4  # one is too old, and then there are 35 kB
    assert sorted({number for text in desk.leaves().values() for number in numbers(text)}) == [4, 5, 6, 7]
    assert len(list((desk.state / "transcripts/claude-code").iterdir())) == 4


async def test_where_there_is_too_much_the_largest_session_goes_first(desk: Desk):
    desk.config = replace(desk.config, keep_bytes=60_000)
    honest, hostile = desk.file("p/s-honest.jsonl"), desk.file("p/s-hostile.jsonl")
    honest.write_bytes(line(1, "message-1 " + "word " * 1000))
    await desk.take(honest)
    hostile.write_bytes(b"".join(line(number, f"message-{number} " + "word " * 1500) for number in range(2, 22)))
    await desk.take(hostile)
    assert desk.taker().store.prune() > 0
    kept = {number for text in desk.leaves().values() for number in numbers(text)}
    assert {1, 21} < kept, "the oldest of the largest have gone"
    assert sum(map(len, desk.leaves().values())) <= 60_000
    assert desk.taker().store.prune() == 0


@pytest.mark.parametrize("marks", [4050, 8190, 90_000])
async def test_a_fence_of_thousands_of_marks_is_captured_and_takes_no_more_room_than_it_has(desk: Desk, marks: int):
    text = "message-1\n\n" + "`" * marks + "\n" + "code and more code\n" * 500 + "`" * marks
    desk.file().write_bytes(line(1, text) + line(2, "message-2"))
    with anyio.fail_after(60):
        await desk.take(desk.file())
    assert numbers("".join(desk.texts())) == [1, 2]
    assert sum(map(len, desk.leaves().values())) <= 1.2 * desk.file().stat().st_size


async def test_a_leaf_that_somebody_removes_does_not_come_back(desk: Desk):
    """Nor do its words stay in a checkpoint."""
    desk.file().write_bytes(b"".join(session(5)))
    await desk.take(desk.file())
    (leaf,) = (desk.state / "transcripts").rglob("*.md")
    leaf.unlink()
    assert b"message-3" in desk.bytes_on_disk()
    await desk.taker().prune()
    assert b"message-3" not in desk.bytes_on_disk()
    with desk.file().open("ab") as file:
        file.write(b"".join(session(2, first=5)))
    await desk.take(desk.file())
    assert set(numbers(desk.said())) == {5, 6}
    desk.file().unlink()
    for leaf in (desk.state / "transcripts").rglob("*.md"):
        leaf.unlink()
    await desk.taker().prune()
    assert desk.bytes_on_disk() == b""


def test_the_configuration_of_one_client_leaves_the_others():
    assert CaptureConfig(folders={"codex": "/x"}).folders["claude-code"] == "~/.claude/projects"
