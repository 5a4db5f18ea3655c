"""Nothing stale: what is on disk is what is found, one sweep after the last change, whatever became of the events.

The real daemon over HTTP, real files, real mounts. `MCP_MEMORY_EXHAUSTIVE=1` takes the promised numbers instead of
a sample.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.place import Place, Served, end
from tests.daemon.place import eventually as soon
from tests.daemon.wire import Wire
from tests.support.constants import with_constants
from tests.support.mounts import mount, permit, unmounted_at_last
from tests.support.world import EXHAUSTIVE

FILES, STORM_S = (10_000, 10.0) if EXHAUSTIVE else (600, 2.0)
PROMISED_S = 30
"""After the last change, until everything is found."""

eventually = partial(soon, within_s=PROMISED_S)

KEYWORDS_ONLY = {"MCP_MEMORY_EMBEDDER_PROVIDER": "none"}
QUICK = {
    **KEYWORDS_ONLY,
    "MCP_MEMORY_WATCH_ACTIVE_SWEEP_S": "1",
    **with_constants(watch_debounce_s=0.1, watch_idle_sweep_s=1.0),
}
INOTIFY = Path("/proc/sys/fs/inotify")


class Daemon:
    """A daemon's answers beside the files that they should be about."""

    def __init__(self, served: Served) -> None:
        self.place = served.place
        self.vault = served.place.vault
        self.wire = Wire(served, client="cli")

    def write(self, path: str, text: str) -> Path:
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    @property
    def status(self) -> dict[str, Any]:
        return self.wire.api("status").json

    def doctor(self) -> str:
        return "\n".join(finding["what"] for finding in self.wire.api("doctor").json["findings"])

    def found(self, word: str, **filters: Any) -> dict[str, str]:
        """Path → passage of every note that holds this word."""
        answer = self.wire.api("search", {"query": word, "limit": 1000, "mode": "keyword", **filters}).json
        return {hit["path"]: hit["snippet"] for hit in answer["hits"]}

    def indexed(self) -> set[str]:
        answer = self.wire.rpc("resources/read", {"uri": "memory://tree"}).json
        return set(re.findall(r"\]\(<(.+?)>\) ·", answer["result"]["contents"][0]["text"]))

    def on_disk(self) -> set[str]:
        files = (file.relative_to(self.vault) for file in self.vault.rglob("*.md") if file.is_file())
        return {file.as_posix() for file in files if not any(part.startswith(".") for part in file.parts)}

    def becomes_complete(self, *, what: str) -> None:
        """Every file on disk is in the index and nothing else is, within the promised time from now."""
        start = time.monotonic()
        expected = self.on_disk()
        eventually(lambda: self.status["notes"] == len(expected) and self.indexed() == expected)
        print(f"{what}: {len(expected)} files complete after {time.monotonic() - start:.1f} s")


@contextmanager
def daemon(root: Path, settings: dict[str, str]) -> Iterator[Daemon]:
    """One whose first sweep is done and, where there are events, whose watch stands."""
    place = Place(root, root / "models", settings)
    if not place.home.exists():
        place.make()
    if not place.vault.exists():
        marked(place.vault)
    with place.serving() as served:
        running = Daemon(served)
        eventually(lambda: running.status["ready"] and not running.status["watching"].startswith("starting"))
        yield running
        running.wire.close()


def marked(vault: Path) -> Path:
    marker = vault / ".mcp-memory/vault.toml"
    marker.parent.mkdir(parents=True)
    marker.write_text('id = "x"\nformat = 1\nhome = ""\n')
    return vault


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """As it is shipped, but for vectors."""
    with daemon(tmp_path_factory.mktemp("usual"), KEYWORDS_ONLY) as running:
        yield running


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Sweeps every second; its vault holds a crowd."""
    root = tmp_path_factory.mktemp("quick")
    crowded(root)
    with daemon(root, QUICK) as running:
        yield running


def crowded(root: Path) -> Path:
    """A vault of 60 notes."""
    vault = marked(root / "vault")
    for number in range(60):
        (vault / f"n{number}.md").write_text(f"crowdword{number} stands here")
    return vault


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    """A vault of 60 notes below a place of its own."""
    return crowded(tmp_path)


def notes(folder: Path, word: str) -> Path:
    """Ten notes a folder, each with a word that it alone has and one that its folder shares."""
    for number in range(FILES):
        here = folder / f"{word}{number // 10}"
        here.mkdir(parents=True, exist_ok=True)
        (here / f"n{number}.md").write_text(f"# Note {number}\n\n{word}{number // 10} holds {word}note{number}\n")
    return folder


def texts(running: Daemon, word: str) -> set[str]:
    """Every `<word>note<number>` that is found, asked folder by folder."""
    every = (running.found(f"{word}{folder}") for folder in range(FILES // 10))
    return {each for found in every for text in found.values() for each in re.findall(rf"{word}note\d+", text)}


# -- many files at once ----------------------------------------------------------------------------------------------


def test_a_storm_of_renames_leaves_the_last_names(usual: Daemon) -> None:
    """A thousand a second, over all notes that there are: old names are neither kept nor taken for a loss."""
    for number in range(200):
        usual.write(f"storm/n{number}-0.md", f"stormword{number} is in here")
    usual.becomes_complete(what="before the storm")
    start, done = time.monotonic(), 0
    while (passed := time.monotonic() - start) < STORM_S:
        if done < passed * 1000:
            number, turn = done % 200, done // 200
            (usual.vault / f"storm/n{number}-{turn}.md").rename(usual.vault / f"storm/n{number}-{turn + 1}.md")
            done += 1
        else:
            time.sleep(0.001)  # a thousand a second, no more
    assert done > STORM_S * 500
    usual.becomes_complete(what=f"{done} renames")
    for number in range(0, 200, 10):
        (path,) = usual.found(f"stormword{number}")
        assert path.startswith(f"storm/n{number}-")
    assert usual.status["pruning_paused"] is None


@pytest.mark.parametrize("how", ["copied", "cloned", "moved"])
def test_a_tree_that_arrives_is_complete(usual: Daemon, tmp_path: Path, how: str) -> None:
    word = f"{how}word"
    source, target = notes(tmp_path / "source", word), usual.vault / how
    match how:
        case "copied":
            subprocess.run(["cp", "-r", source, target], check=True)
        case "cloned":
            git = ["git", "-C", source, "-c", "user.name=x", "-c", "user.email=x@example.org"]
            for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "notes"]):
                subprocess.run([*git, *command], check=True)
            subprocess.run(["git", "clone", "-q", source, target], check=True)
        case _:
            shutil.move(source, target)
    usual.becomes_complete(what=how)
    assert texts(usual, word) == {f"{word}note{number}" for number in range(FILES)}


# -- one file --------------------------------------------------------------------------------------------------------


def test_a_file_still_being_written_is_found_as_it_ends(usual: Daemon) -> None:
    file = usual.write("growing.md", "growbegin\n\n")
    with file.open("a") as out:
        for number in range(20):
            out.write(f"growword{number} " * 50 + "\n\n")
            out.flush()
            time.sleep(0.05)  # a program that writes slowly
        out.write("growend\n")
    eventually(lambda: usual.found("growend") and usual.found("growword19") and usual.found("growbegin"))


def test_odd_names_are_reported_and_stop_nothing(quick: Daemon) -> None:
    folder = quick.vault / "odd"
    folder.mkdir()
    quick.write("odd/plain.md", "oddword")
    eventually(lambda: quick.found("oddword"))
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.md")).write_text("oddword in latin-1")
    (folder / "two\nlines.md").write_text("oddword on two lines")
    (folder / "loop").symlink_to(folder)
    (folder / "self.md").symlink_to("self.md")
    quick.write("odd/last.md", "oddlast")
    eventually(lambda: quick.found("oddlast"))
    assert set(quick.found("oddword")) == {"odd/plain.md"}
    said = quick.doctor()
    for name, why in (("caf", "not valid UTF-8"), ("two", "control character"), ("loop", "symbolic link")):
        assert re.search(f"odd/{name}.*{why}", said)
    assert "odd/self.md" in said
    shutil.rmtree(folder)
    eventually(lambda: not quick.found("oddlast"))


# -- no events -------------------------------------------------------------------------------------------------------


@contextmanager
def limit(name: str, value: int) -> Iterator[None]:
    """For the whole machine, so only for moments."""
    file = INOTIFY / name
    if not os.access(file, os.W_OK):
        pytest.skip(f"{file} cannot be written here")
    before = file.read_text()
    try:
        file.write_text(str(value))
    except OSError as error:
        pytest.skip(f"{file}: {error.strerror}")
    try:
        yield
    finally:
        file.write_text(before)


def test_without_watches_to_be_had_it_sweeps_and_says_so(quick: Daemon) -> None:
    with limit("max_user_watches", 5):
        quick.write("one/a.md", "limitword")
        eventually(lambda: re.match(r"no events .*limit", quick.status["watching"]))
        assert "no file-system events" in quick.doctor()
    eventually(lambda: quick.found("limitword"))
    quick.write("one/b.md", "limitmore")
    eventually(lambda: quick.found("limitmore"))
    quick.write("two/c.md", "limitlast")
    eventually(lambda: quick.status["watching"].startswith("events from 3 folders"))
    assert "no file-system events" not in quick.doctor()


def test_a_queue_that_overflows_hides_nothing(quick: Daemon, tmp_path: Path) -> None:
    with limit("max_queued_events", 8):
        quick.write("queue/a.md", "queueword")  # one more folder, so a new watch, with that queue
        folders = sum(folder.is_dir() for folder in quick.vault.iterdir())  # the root too, the marker's not
        eventually(lambda: quick.status["watching"].startswith(f"events from {folders} folders"))
    subprocess.run(["cp", "-r", notes(tmp_path / "source", "overflow"), quick.vault / "in"], check=True)
    quick.becomes_complete(what="queue of 8")
    assert texts(quick, "overflow") == {f"overflownote{number}" for number in range(FILES)}


def test_a_mount_without_events_is_swept(tmp_path: Path) -> None:
    more = {} if EXHAUSTIVE else {"MCP_MEMORY_WATCH_ACTIVE_SWEEP_S": "1"}
    with daemon(tmp_path, {**KEYWORDS_ONLY, "MCP_MEMORY_WATCH_HINTS": "false", **more}) as running:
        assert running.status["watching"].startswith("off; a sweep every ")
        subprocess.run(["cp", "-r", notes(tmp_path / "source", "eventless"), running.vault / "in"], check=True)
        running.becomes_complete(what="no events")
        ran = running.place.run("status").ok()
        assert re.search(r"watching +off; a sweep every \d+ s \(the last \d+ s ago, in \d", ran.out)


# -- a vault that goes and comes -------------------------------------------------------------------------------------


def is_away(running: Daemon) -> bool:
    return "missing" in (running.status["pruning_paused"] or "")


def test_a_folder_that_is_renamed_away_deleted_and_made_anew(quick: Daemon) -> None:
    vault, away = quick.vault, quick.place.root / "away"
    vault.rename(away)
    eventually(lambda: is_away(quick))
    assert list(quick.found("crowdword7")) == ["n7.md"]
    away.rename(vault)
    eventually(lambda: quick.status["pruning_paused"] is None)
    shutil.copytree(vault, away)
    shutil.rmtree(vault)
    eventually(lambda: is_away(quick))
    away.rename(vault)
    eventually(lambda: quick.status["pruning_paused"] is None)
    quick.becomes_complete(what="made anew")
    quick.write("n7.md", "crimson instead")
    eventually(lambda: quick.found("crimson") and not quick.found("crowdword7"))


def test_a_disk_that_is_unmounted_and_mounted_again(quick: Daemon) -> None:
    vault = quick.vault
    disk = vault.rename(quick.place.root / "disk")
    vault.mkdir()
    with back_at_last(disk, vault):
        mount("--bind", disk, vault)
        eventually(lambda: quick.status["pruning_paused"] is None)
        subprocess.run(["umount", vault], check=True)
        eventually(lambda: is_away(quick))
        assert "missing" in quick.doctor()
        assert list(quick.found("crowdword8")) == ["n8.md"]
        assert quick.wire.api("append", {"content": "words", "kind": "fact"}).status >= 500
        assert list(vault.iterdir()) == []
        (disk / "n1.md").unlink()
        (disk / "new.md").write_text("newword")
        mount("--bind", disk, vault)
        eventually(lambda: quick.status["pruning_paused"] is None)
        quick.becomes_complete(what="mounted again")
        assert quick.found("newword")
        quick.write("new.md", "newerword")
        eventually(lambda: quick.found("newerword") and quick.status["watching"].startswith("events from"))
        assert quick.wire.api("append", {"content": "words", "kind": "fact"}).status == 200


@contextmanager
def back_at_last(disk: Path, vault: Path) -> Iterator[None]:
    with unmounted_at_last(vault):
        yield
    vault.rmdir()
    disk.rename(vault)


def test_a_suspected_loss_outlives_the_daemon(crowd: Path, tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    with daemon(tmp_path, QUICK) as running:
        for number in range(58):
            (crowd / f"n{number}.md").rename(away / f"n{number}.md")
        eventually(lambda: "58 of 60 notes vanished" in (running.status["pruning_paused"] or ""))
        for number in range(30):
            (away / f"n{number}.md").rename(crowd / f"n{number}.md")
        eventually(lambda: "28 of 60 notes vanished" in (running.status["pruning_paused"] or ""))
    end(running.place)  # it was killed
    with daemon(tmp_path, QUICK) as running:
        assert "28 of 60 notes vanished" in running.status["pruning_paused"]
        assert list(running.found("crowdword50")) == ["n50.md"]
        assert "28 of 60 notes vanished" in running.doctor()
        assert running.wire.api("accept").json == {"pruned": 28}
        running.becomes_complete(what="accepted")
        assert running.status["pruning_paused"] is None


# -- a vault whose permissions change --------------------------------------------------------------------------------


def test_it_may_become_read_only_and_writable_while_we_run(crowd: Path, tmp_path: Path) -> None:
    shutil.rmtree(crowd / ".mcp-memory")  # never written to by us
    mine = {"content": "words of mine", "kind": "fact"}
    with unmounted_at_last(crowd):
        if os.geteuid() == 0:
            mount("--bind", crowd, crowd)
        permit(crowd, writing=False)
        with daemon(tmp_path, QUICK) as running:
            assert running.status["read_only"]
            assert running.wire.api("flush", {}).json["text"] == "", "an agent is not asked for what it cannot do"
            assert "cannot be written" in running.doctor()
            assert re.search("read-only|permission denied", running.wire.api("append", mine).text)
            permit(crowd, writing=True)
            assert not running.status["read_only"]
            assert "memory_append" in running.wire.api("flush", {}).json["text"]
            assert "cannot be written" not in running.doctor()
            assert running.wire.api("append", mine).json["path"] == "Agent/notes/fact/words-of-mine.md"
            assert (crowd / ".mcp-memory/vault.toml").exists()
            permit(crowd, writing=False)
            assert running.status["read_only"]
            if os.geteuid() == 0:  # a mode of the root folder says nothing of those below
                refused = running.wire.api("append", {"content": "more words", "kind": "fact"})
                assert "read-only" in refused.text
            assert list(running.found("mine")) == ["Agent/notes/fact/words-of-mine.md"]
            permit(crowd, writing=True)


# -- what it costs ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not EXHAUSTIVE, reason="a minute of idling; MCP_MEMORY_EXHAUSTIVE=1")
def test_an_idle_daemon_hardly_uses_the_processor(tmp_path: Path) -> None:
    idle = with_constants(watch_idle_after_s=0.1)
    notes(marked(tmp_path / "vault"), "idleword")
    with daemon(tmp_path, {**KEYWORDS_ONLY, **idle}) as running:
        eventually(lambda: running.status["notes"] == FILES)
        time.sleep(30)  # it comes to rest
        before, start = processor_s(running), time.monotonic()
        time.sleep(60)  # what is measured: a minute in which nothing happens
        share = (processor_s(running) - before) / (time.monotonic() - start)
    print(f"idle: {share:.2%} of a core")
    assert share < 0.005


def processor_s(running: Daemon) -> float:
    import psutil

    from mcp_memory.client.connection import Address

    times = psutil.Process(Address.read(running.place.state.daemon).pid).cpu_times()
    return times.user + times.system
