"""Invariants 2 and 9 on a real folder: nothing outside is touched, bytes change only when asked."""

from __future__ import annotations

import hashlib
import os
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from mcp_memory.errors import AlreadyExists, DeadlineExceeded, PathRefused, Refused
from mcp_memory.storage.filesystem import FilesystemBackend
from mcp_memory.storage.locks import PathLocks
from tests.storage.refusing import RefusingRenames


def etag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def hidden(vault: Path) -> list[str]:
    return sorted(str(path.relative_to(vault)) for path in vault.rglob("*.mcpm"))


# -- links and odd files ---------------------------------------------------------------------------------------
@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.md").write_bytes(b"secret")
    return folder


def test_links_are_never_followed(files: FilesystemBackend, vault: Path, outside: Path) -> None:
    (vault / "file.md").symlink_to(outside / "secret.md")
    (vault / "folder").symlink_to(outside)
    (vault / "dangling.md").symlink_to(outside / "new.md")
    tag = etag(b"secret")
    files.write("own.md", b"x", None)
    for path in ("file.md", "folder/secret.md"):
        for call in (
            lambda path=path: files.read(path),
            lambda path=path: files.stat(path),
            lambda path=path: files.write(path, b"x", tag),
            lambda path=path: files.move(path, "moved.md"),
            lambda path=path: files.remove_generated(path, tag),
        ):
            with pytest.raises(PathRefused, match="symbolic link"):
                call()
    with pytest.raises(PathRefused):
        files.write("folder/new.md", b"x", None)
    with pytest.raises(PathRefused):
        files.move("own.md", "folder/own.md")
    with pytest.raises(AlreadyExists):
        files.write("dangling.md", b"x", None)
    assert not files.rmdir_empty("folder")
    assert sorted(path.name for path in outside.iterdir()) == ["secret.md"]
    listing = files.list()
    assert set(listing.files) == {"own.md"}
    assert {problem.path for problem in listing.problems} == {"file.md", "folder", "dangling.md"}
    assert all("symbolic link" in problem.reason for problem in listing.problems)


def test_only_regular_files_are_notes(files: FilesystemBackend, vault: Path) -> None:
    os.mkfifo(vault / "fifo.md")
    (vault / "folder.md").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(vault)  # a socket's path is limited to 108 bytes
        try:
            server.bind("socket.md")
        finally:
            os.chdir(here)
        expected = {"fifo.md": "a FIFO", "folder.md": "a folder", "socket.md": "a socket"}
        if os.geteuid() == 0:
            os.mknod(vault / "device.md", stat.S_IFCHR | 0o600, os.makedev(1, 5))
            expected["device.md"] = "a character device"
        for path, kind in expected.items():
            for call in (lambda path=path: files.read(path), lambda path=path: files.write(path, b"x", etag(b""))):
                with pytest.raises(PathRefused, match=kind):
                    call()
        listing = files.list()
    assert listing.files == {}
    assert {problem.path: problem.reason for problem in listing.problems}.keys() == expected.keys() - {"folder.md"}


# -- the listing -----------------------------------------------------------------------------------------------
def test_hidden_and_foreign_things_are_left_out(files: FilesystemBackend, vault: Path) -> None:
    for path in (".git/x.md", ".x.md", "a/.obsidian/x.md", "node_modules/p/README.md", "a/node_modules/x.md", "a.txt"):
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_bytes(b"x")
    listing = files.list()
    assert (listing.files, listing.problems, listing.complete) == ({}, [], True)


def test_names_that_nobody_could_pass_are_reported(files: FilesystemBackend, vault: Path) -> None:
    for name in (b"bad\xff.md", b"new\nline.md", b"back\\slash.md", b"fol\xfeder/x.md"):
        path = os.fsencode(vault) + b"/" + name
        Path(os.fsdecode(path)).parent.mkdir(exist_ok=True)
        Path(os.fsdecode(path)).write_bytes(b"x")
    listing = files.list()
    assert listing.files == {}
    assert {problem.path for problem in listing.problems} == {
        "bad\\udcff.md", "new\\nline.md", "back\\\\slash.md", "fol\\udcfeder",
    }  # fmt: skip
    assert all(problem.path.isprintable() for problem in listing.problems)


@pytest.mark.parametrize("name", ["CON.md", "what?.md", "a:b.md", "dot. /x.md", "cafe\u0301.md", "twin.md", "TWIN.md"])
def test_existing_names_are_readable_even_if_we_would_not_make_them(
    files: FilesystemBackend, vault: Path, name: str
) -> None:
    (vault / "twin.md").write_bytes(b"lower")
    (vault / name).parent.mkdir(exist_ok=True)
    (vault / name).write_bytes(b"x")
    assert name in files.list().files
    assert files.read(name).data == b"x"
    files.write(name, b"y", etag(b"x"))
    assert (vault / name).read_bytes() == b"y"


def test_memoryignore(files: FilesystemBackend, vault: Path) -> None:
    for path in ("private/a.md", "private/deep/b.md", "x.draft.md", "keep.draft.md", "a/private.md", "private/c.txt"):
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_bytes(b"x")
    (vault / ".memoryignore").write_text("# mine\n/private/\n*.draft.md\n!keep.draft.md\n[z-a]\n" + "*a" * 200 + "\n")
    listing = files.list()
    assert set(listing.files) == {"keep.draft.md", "a/private.md"}
    assert listing.ignored == 3
    assert [(problem.path, problem.reason[:15]) for problem in listing.problems] == [
        (".memoryignore", "line 5 not used"), (".memoryignore", "line 6 not used"),
    ]  # fmt: skip


def test_ignore_patterns_run_in_linear_time(files: FilesystemBackend, vault: Path) -> None:
    """A backtracking matcher needs minutes for one such name: the test's timeout is the bound."""
    (vault / ".memoryignore").write_text("a*" * 30 + "b.md\n")
    for number in range(100):
        (vault / f"{'a' * 200}{number}.md").write_bytes(b"x")
    assert len(files.list().files) == 100


def test_an_odd_ignore_file_hides_nothing(files: FilesystemBackend, vault: Path) -> None:
    (vault / "a.md").write_bytes(b"x")
    os.mkfifo(vault / ".memoryignore")
    listing = files.list()
    assert set(listing.files) == {"a.md"}
    assert "a FIFO" in listing.problems[0].reason


def test_what_is_young_is_not_settled(files: FilesystemBackend, vault: Path) -> None:
    assert not files.write("a.md", b"x", None).stat.settled
    old = vault / "old.md"
    old.write_bytes(b"x")
    os.utime(old, ns=(1, 1_000_000_000_000_000_001))
    assert not files.list().files["old.md"].settled, "its ctime is young, whatever mtime says"


def test_the_root_may_be_a_link_and_may_come_back(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    files = FilesystemBackend(tmp_path / "link", locks=tmp_path / "locks", marker=None)
    files.write("a/b.md", b"x", None)
    assert (real / "a" / "b.md").read_bytes() == b"x"
    real.rename(tmp_path / "old")
    real.mkdir()
    assert files.list().files == {}
    files.write("a/b.md", b"y", None)
    assert (real / "a" / "b.md").read_bytes() == b"y"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can drop to a user whom mode bits bind")
def test_unreadable_folders_are_reported(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    (root / "locked").mkdir(parents=True)
    (root / "open.md").write_bytes(b"x")
    (root / "locked").chmod(0)
    for folder in (tmp_path, *tmp_path.parents):
        is_private = folder.stat().st_uid == 0 and stat.S_IMODE(folder.stat().st_mode) == 0o700
        if is_private and (folder == tmp_path or "pytest" in str(folder)):
            folder.chmod(0o755)
    script = (
        "import sys, os; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path; from mcp_memory.storage.filesystem import FilesystemBackend\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "files = FilesystemBackend(Path(sys.argv[1]), marker=None); listing = files.list()\n"
        "print(list(listing.files), [(p.path, p.reason) for p in listing.problems])\n"
        "from mcp_memory.errors import StorageFailed\n"
        "try: files.write('new.md', b'x', None)\n"
        "except StorageFailed as error: print(error)\n"
    )
    here = str(Path(__file__).parents[2])
    result = subprocess.run([sys.executable, "-c", script, str(root), here], capture_output=True, text=True, check=True)
    lines = result.stdout.splitlines()
    assert lines[0] == "['open.md'] [('locked', 'folder not readable: permission denied')]"
    assert "permission denied [EACCES]" in lines[1]


# -- writing ---------------------------------------------------------------------------------------------------
def test_modes(files: FilesystemBackend, vault: Path) -> None:
    tag = files.write("new/a.md", b"x", None).etag
    assert stat.S_IMODE((vault / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE((vault / "new" / "a.md").stat().st_mode) == 0o600
    (vault / "new" / "a.md").chmod(0o644)
    files.write("new/a.md", b"y", tag)
    assert stat.S_IMODE((vault / "new" / "a.md").stat().st_mode) == 0o644


def test_a_read_only_root_refuses_every_change(vault: Path) -> None:
    (vault / "a.md").write_bytes(b"x")
    files = FilesystemBackend(vault, read_only=True, marker=None)
    assert files.read_only
    assert files.read("a.md").data == b"x"
    for call in (
        lambda: files.write("b.md", b"x", None),
        lambda: files.write("a.md", b"y", etag(b"x")),
        lambda: files.move("a.md", "b.md"),
        lambda: files.remove_generated("a.md", etag(b"x")),
        lambda: files.rmdir_empty("a"),
        files.sweep_leftovers,
        files.prepare,
    ):
        with pytest.raises(Refused, match="read-only"):
            call()
    assert files.settle(min_age_s=0) == []
    assert [path.name for path in vault.iterdir()] == ["a.md"]


def test_a_lock_held_elsewhere_is_waited_for_only_so_long(vault: Path, tmp_path: Path) -> None:
    files = FilesystemBackend(vault, locks=tmp_path / "locks", marker=None, deadline_s=0.05)
    with PathLocks(tmp_path / "locks", vault, 1).hold("A/Note.md"):
        with pytest.raises(DeadlineExceeded):
            files.write("a/note.md", b"x", None)
        files.write("another.md", b"x", None)
    files.write("a/note.md", b"x", None)


def test_a_removed_lock_folder_is_made_again(files: FilesystemBackend, tmp_path: Path) -> None:
    files.write("a.md", b"x", None)
    for place in (tmp_path / "state" / "locks").iterdir():
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        place.unlink()
    (tmp_path / "state" / "locks").rmdir()
    files.write("b.md", b"x", None)


def test_a_lock_ends_with_its_holder_though_a_child_lives_on(vault: Path, tmp_path: Path) -> None:
    locks = PathLocks(tmp_path / "locks", vault, 0.05)
    reader, writer = os.pipe()
    with locks.hold("a.md"):
        child = os.fork()
        if child == 0:
            os.close(writer)
            os.read(reader, 1)
            os._exit(0)
    try:
        with locks.hold("a.md"):
            pass
    finally:
        os.close(reader)
        os.close(writer)
        os.waitpid(child, 0)


# -- displaced files -------------------------------------------------------------------------------------------
def test_a_late_save_through_an_old_descriptor_becomes_a_copy(files: FilesystemBackend, vault: Path) -> None:
    tag = files.write("a/plan.md", b"one", None).etag
    with (vault / "a" / "plan.md").open("r+b") as editor:
        files.write("a/plan.md", b"two", tag)
        editor.write(b"an editor's save")
    (copy,) = files.settle(min_age_s=0)
    assert copy.startswith("a/plan (conflict 20")
    assert (vault / copy).read_bytes() == b"an editor's save"
    assert (vault / "a" / "plan.md").read_bytes() == b"two"
    assert hidden(vault) == []


def test_a_settle_after_the_folder_was_moved_is_the_sweeps_business(files: FilesystemBackend, vault: Path) -> None:
    tag = files.write("a/plan.md", b"one", None).etag
    files.write("a/plan.md", b"two", tag)
    (vault / "a").rename(vault / "b")
    assert files.settle(min_age_s=0) == []
    assert len(hidden(vault)) == 1
    assert len(files.sweep_leftovers(min_age_s=0).removed) == 1
    assert hidden(vault) == []


class EditorInTheLastInstant(RefusingRenames):
    """Does what an editor may do between our comparison and our publish."""

    def __init__(self, vault: Path, save, *lacks: str) -> None:
        super().__init__(*lacks)
        self._vault, self._save = vault, save

    def _once(self) -> None:
        save, self._save = self._save, None
        if save:
            save(self._vault)

    def exchange(self, folder, a, b):
        if "exchange" not in self._lacks:
            self._once()
        super().exchange(folder, a, b)

    def rename(self, source_folder, source, target_folder, target):
        self._once()
        super().rename(source_folder, source, target_folder, target)


def by_rename(vault: Path) -> None:
    (vault / "plan.md~").write_bytes(b"saved")
    (vault / "plan.md~").rename(vault / "plan.md")


def in_place(vault: Path) -> None:
    (vault / "plan.md").write_bytes(b"saved")


@pytest.mark.parametrize("lacks", [(), ("exchange",), ("exchange", "rename_free", "link")], ids="+".join)
@pytest.mark.parametrize("save", [by_rename, in_place])
def test_a_save_in_the_last_instant_is_kept_beside(vault: Path, tmp_path: Path, save, lacks) -> None:
    (vault / "plan.md").write_bytes(b"one")
    renames = EditorInTheLastInstant(vault, save, *lacks)
    files = FilesystemBackend(vault, locks=tmp_path / "locks", marker=None, renames=renames)
    written = files.write("plan.md", b"two", etag(b"one"))
    assert written.conflict is not None
    assert (vault / written.conflict).read_bytes() == b"saved"
    assert (vault / "plan.md").read_bytes() == b"two"
    assert written.conflict in files.list().files
    assert files.settle(min_age_s=0) == []
    assert hidden(vault) == []


def test_a_file_deleted_in_the_last_instant_is_not_made_again(vault: Path, tmp_path: Path) -> None:
    from mcp_memory.errors import PreconditionFailed

    for lacks in ((), ("exchange",)):
        (vault / "plan.md").write_bytes(b"one")
        renames = EditorInTheLastInstant(vault, lambda vault: (vault / "plan.md").unlink(), *lacks)
        files = FilesystemBackend(vault, locks=tmp_path / "locks", marker=None, renames=renames)
        with pytest.raises(PreconditionFailed):
            files.write("plan.md", b"two", etag(b"one"))
        assert list(vault.iterdir()) == []


def test_a_save_in_the_last_instant_survives_a_removal(vault: Path, tmp_path: Path) -> None:
    from mcp_memory.errors import PreconditionFailed

    (vault / "plan.md").write_bytes(b"one")
    renames = EditorInTheLastInstant(vault, by_rename)
    files = FilesystemBackend(vault, locks=tmp_path / "locks", marker=None, renames=renames)
    with pytest.raises(PreconditionFailed):
        files.remove_generated("plan.md", etag(b"one"))
    assert (vault / "plan.md").read_bytes() == b"saved"


def test_a_folder_removed_while_a_note_is_on_its_way_is_made_again(vault: Path, tmp_path: Path) -> None:
    files = FilesystemBackend(vault, locks=tmp_path / "locks", marker=None)
    files.write("old.md", b"moved", None)
    calls = {
        "a/b/new.md": lambda: files.write("a/b/new.md", b"x", None),
        "c/d/old.md": lambda: files.move("old.md", "c/d/old.md"),
    }
    for path, call in calls.items():
        folder = (vault / path).parent
        with ThreadPoolExecutor(1) as pool:
            with PathLocks(tmp_path / "locks", vault, 1).hold(path):
                running = pool.submit(call)
                while not folder.exists():
                    assert not running.done()
                folder.rmdir()
                with suppress(OSError):  # gone with it, or made again already
                    folder.parent.rmdir()
            running.result()
    assert set(files.list().files) == calls.keys()


# -- leftovers of a crash --------------------------------------------------------------------------------------
def test_only_leftovers_with_known_bytes_are_swept(files: FilesystemBackend, vault: Path) -> None:
    new, old = etag(b"new")[:16], etag(b"old")[:16]
    (vault / "a").mkdir()
    known = {f".00000001.{new}.{old}.mcpm": b"new", f"a/.00000002.{new}.{old}.mcpm": b"old",
             f"a/.00000003.{new}.none.mcpm": b"new", f".00000007.{new}.none.mcpm": b""}  # fmt: skip
    kept = {f".00000008.{new}.{old}.mcpm": b"",
            f".00000004.{new}.{old}.mcpm": b"an editor's save", f".00000005.{new}.none.mcpm": b"ne",
            f".00000006.{new}.none.mcpm": b"old"}  # fmt: skip
    foreign = {".goutputstream-XYZ": b"new", "a/.x.md.swp": b"new", f".{new}.mcpm": b"new", "plan.md~": b"new"}
    for name, data in {**known, **kept, **foreign}.items():
        (vault / name).write_bytes(data)
    assert files.sweep_leftovers(min_age_s=3600) == type(files.sweep_leftovers(min_age_s=3600))()
    swept = files.sweep_leftovers(min_age_s=0)
    assert set(swept.removed) == known.keys()
    assert {problem.path for problem in swept.kept} == kept.keys()
    assert swept.restored == []
    assert {str(path.relative_to(vault)) for path in vault.rglob("*") if path.is_file()} == kept.keys() | foreign.keys()


def test_a_temp_in_use_is_not_swept(files: FilesystemBackend, vault: Path) -> None:
    import fcntl

    name = vault / f".00000001.{etag(b'new')[:16]}.none.mcpm"
    with name.open("wb") as writer:
        writer.write(b"new")
        writer.flush()
        fcntl.flock(writer, fcntl.LOCK_EX)
        assert files.sweep_leftovers(min_age_s=0).removed == []
    assert files.sweep_leftovers(min_age_s=0).removed == [name.name]


def test_a_file_put_aside_gets_its_free_name_back(files: FilesystemBackend, vault: Path) -> None:
    new, old = etag(b"new")[:16], etag(b"old")[:16]
    (vault / "a").mkdir()
    (vault / "a" / f".00000001.{new}.{old}.was.plan.md.mcpm").write_bytes(b"an editor's save")
    (vault / f".00000002.{new}.{old}.was.plan.md.mcpm").write_bytes(b"old")
    (vault / "plan.md").write_bytes(b"new")
    swept = files.sweep_leftovers(min_age_s=0)
    assert swept.restored == ["a/plan.md"]
    assert len(swept.removed) == 1
    assert (vault / "a" / "plan.md").read_bytes() == b"an editor's save"
    assert (vault / "plan.md").read_bytes() == b"new"
    assert hidden(vault) == []


# -- what the file system can do -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("lacks", "count"),
    [((), 0), (("exchange",), 1), (("exchange", "rename_free"), 2), (("exchange", "rename_free", "link"), 2)],
)
def test_missing_abilities_are_said(vault: Path, lacks, count) -> None:
    prepared = FilesystemBackend(vault, marker=None, renames=RefusingRenames(*lacks)).prepare()
    assert len(prepared.warnings) == count
    assert any("cannot exchange" in line for line in prepared.warnings) is ("exchange" in lacks)
    assert any("neither links" in line for line in prepared.warnings) is ("link" in lacks)
    assert list(vault.iterdir()) == []
