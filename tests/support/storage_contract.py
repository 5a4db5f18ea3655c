"""What every storage back end must keep, as tests: subclass `StorageContract` and override its fixture.

    class TestMyBackend(StorageContract):
        @pytest.fixture
        def backend(self): return MyBackend(...)

Needs pytest, which the extra `test` installs.
"""

from __future__ import annotations

import hashlib
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest

from mcp_memory.errors import AlreadyExists, NotFound, PathRefused, PreconditionFailed, Refused
from mcp_memory.models import Etag, NotePath
from mcp_memory.storage.base import StorageBackend

NOTE = NotePath("notes/fact/café plan.md")

REFUSED_ALWAYS = [
    "", "/", "/etc/passwd.md", "..", "../x.md", "a/../x.md", "a/..", ".", "./x.md", "a//x.md", "a/", "a/x.md/",
    ".hidden.md", ".git/x.md", "a/.x/y.md", "a\\x.md", "..\\x.md", "a\x00.md", "a\nb.md", "a\x1b[2J.md", "a\x7f.md",
    "a\x85.md", "a\ud800.md", "é" * 128 + ".md", "x/" * 70 + "y.md", "abc/" * 1100 + "y.md",
]  # fmt: skip

REFUSED_WHEN_NEW = [
    "note.txt", "note", "md", "CON.md", "nul.md", "a/Com1.notes.md", "LPT9.md", "aux .md", "dir./x.md", "dir /x.md",
    "a:b.md", "a<b.md", "a>b.md", 'a"b.md', "a|b.md", "a?b.md", "a*b.md", "C:/x.md", "~/x.md", "node_modules/x.md",
    "a\u202eb.md", "a\u2028b.md",
]  # fmt: skip


def etag(data: bytes) -> Etag:
    return Etag(hashlib.sha256(data).hexdigest())


class StorageContract:
    """One instance of the back end a test, empty and writable."""

    @pytest.fixture
    def backend(self) -> StorageBackend:
        raise NotImplementedError("override this fixture with one that returns an empty, writable back end")

    # -- reading what was written ------------------------------------------------------------------------------
    @pytest.mark.parametrize(
        "data", [b"", b"# One\n", b"\xff\x00\r\n", b"x" * 3_000_000], ids=["empty", "md", "odd", "3 MB"]
    )
    def test_bytes_come_back(self, backend: StorageBackend, data: bytes) -> None:
        written = backend.write(NOTE, data, None)
        blob = backend.read(NOTE)
        assert blob.data == data
        assert blob.etag == written.etag == etag(data)
        assert blob.stat.path == written.stat.path == NOTE
        assert written.conflict is None

    def test_listing_stat_and_read_agree(self, backend: StorageBackend) -> None:
        paths = [NotePath(path) for path in ("top.md", "a/one.md", "a/b/two.md", "c/Three.MD")]
        for path in paths:
            backend.write(path, path.encode(), None)
        listing = backend.list()
        assert set(listing.files) == set(paths)
        assert listing.complete
        assert listing.problems == []
        assert listing.folders.keys() == {"", "a", "a/b", "c"}
        assert backend.glance(NotePath("a")) is backend.glance(NotePath("none.md")) is None
        for path, found in listing.files.items():
            assert backend.glance(path) == found.signature
            assert found.path == path
            assert found.signature == backend.stat(path).signature == backend.read(path).stat.signature

    def test_a_start_has_nothing_to_tell_of_new_storage(self, backend: StorageBackend) -> None:
        assert not backend.prepare().leftovers
        assert backend.list().files == {}

    def test_a_change_shows_in_the_signature(self, backend: StorageBackend) -> None:
        first = backend.write(NOTE, b"one", None)
        before = backend.list().files[NOTE]
        backend.write(NOTE, b"two", first.etag)
        assert backend.list().files[NOTE].signature != before.signature

    def test_missing(self, backend: StorageBackend) -> None:
        backend.write(NOTE, b"x", None)
        for path in (NotePath("notes/fact/none.md"), NotePath("none/at/all.md")):
            with pytest.raises(NotFound):
                backend.read(path)
            with pytest.raises(NotFound):
                backend.stat(path)

    def test_a_folder_is_no_file(self, backend: StorageBackend) -> None:
        backend.write(NotePath("a/b.md/c.md"), b"x", None)
        with pytest.raises(PathRefused, match="folder"):
            backend.read(NotePath("a/b.md"))

    def test_read_limit(self, backend: StorageBackend) -> None:
        backend.write(NOTE, b"12345", None)
        assert backend.read(NOTE, limit_bytes=5).data == b"12345"
        with pytest.raises(Refused):
            backend.read(NOTE, limit_bytes=4)

    def test_the_beginning_of_a_large_file(self, backend: StorageBackend) -> None:
        whole = backend.write(NOTE, b"12345", None)
        begun = backend.read(NOTE, limit_bytes=4, beginning=True)
        assert (begun.data, begun.whole, begun.stat.signature) == (b"1234", False, whole.stat.signature)
        assert begun.etag != whole.etag
        with pytest.raises(PreconditionFailed):
            backend.write(NOTE, b"1234", begun.etag)
        assert backend.read(NOTE, limit_bytes=5, beginning=True) == backend.read(NOTE)

    # -- compare and swap --------------------------------------------------------------------------------------
    def test_a_new_file_needs_a_free_name(self, backend: StorageBackend) -> None:
        backend.write(NOTE, b"first", None)
        with pytest.raises(AlreadyExists):
            backend.write(NOTE, b"second", None)
        assert backend.read(NOTE).data == b"first"

    def test_a_stale_etag_is_refused(self, backend: StorageBackend) -> None:
        first = backend.write(NOTE, b"one", None).etag
        backend.write(NOTE, b"two", first)
        with pytest.raises(PreconditionFailed):
            backend.write(NOTE, b"three", first)
        assert backend.read(NOTE).data == b"two"

    def test_replacing_needs_a_file(self, backend: StorageBackend) -> None:
        with pytest.raises(NotFound):
            backend.write(NOTE, b"x", etag(b"y"))
        assert backend.list().files == {}

    def test_one_of_many_gets_a_new_name(self, backend: StorageBackend) -> None:
        def attempt(number: int) -> bool:
            try:
                backend.write(NOTE, b"%d" % number, None)
            except AlreadyExists:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            won = [number for number, made in enumerate(pool.map(attempt, range(16))) if made]
        assert len(won) == 1
        assert backend.read(NOTE).data == b"%d" % won[0]

    def test_no_update_is_lost_between_threads(self, backend: StorageBackend) -> None:
        backend.write(NOTE, b"", None)

        def append(writer: int) -> None:
            for number in range(10):
                while True:
                    try:
                        blob = backend.read(NOTE)
                        backend.write(NOTE, blob.data + b"%d-%d\n" % (writer, number), blob.etag)
                    except (PreconditionFailed, NotFound):  # without an exchange the name is free for an instant
                        continue
                    break

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(append, range(4)))
        lines = backend.read(NOTE).data.splitlines()
        assert sorted(lines) == sorted(b"%d-%d" % (writer, number) for writer in range(4) for number in range(10))

    # -- moving and removing -----------------------------------------------------------------------------------
    def test_move(self, backend: StorageBackend) -> None:
        backend.write(NOTE, b"x", None)
        target = NotePath("archive/deep/er.md")
        backend.move(NOTE, target)
        assert set(backend.list().files) == {target}
        assert backend.read(target).data == b"x"
        with pytest.raises(NotFound):
            backend.read(NOTE)

    def test_move_replaces_nothing(self, backend: StorageBackend) -> None:
        other = NotePath("other.md")
        backend.write(NOTE, b"x", None)
        backend.write(other, b"y", None)
        for target in (other, NOTE, NotePath("OTHER.md")):
            with pytest.raises(AlreadyExists):
                backend.move(NOTE, target)
        assert backend.read(NOTE).data == b"x"
        assert backend.read(other).data == b"y"

    def test_move_of_nothing(self, backend: StorageBackend) -> None:
        with pytest.raises(NotFound):
            backend.move(NOTE, NotePath("x.md"))

    def test_move_may_change_only_the_case(self, backend: StorageBackend) -> None:
        backend.write(NotePath("a/plan.md"), b"x", None)
        backend.move(NotePath("a/plan.md"), NotePath("a/Plan.md"))
        assert set(backend.list().files) == {"a/Plan.md"}

    def test_remove_generated(self, backend: StorageBackend) -> None:
        written = backend.write(NOTE, b"x", None)
        with pytest.raises(PreconditionFailed):
            backend.remove_generated(NOTE, etag(b"y"))
        backend.remove_generated(NOTE, written.etag)
        assert backend.list().files == {}
        with pytest.raises(NotFound):
            backend.remove_generated(NOTE, written.etag)
        backend.write(NOTE, b"again", None)
        assert backend.read(NOTE).data == b"again"

    def test_erase(self, backend: StorageBackend) -> None:
        first = backend.write(NOTE, b"secret", None)
        second = backend.write(NOTE, b"secret and plain", first.etag)
        for rest in (None, b"plain"):
            with pytest.raises(PreconditionFailed):
                backend.erase(NOTE, first.etag, rest)
        assert backend.read(NOTE).data == b"secret and plain"
        cut = backend.erase(NOTE, second.etag, b"plain")
        assert cut is not None
        assert cut.conflict is None
        assert backend.read(NOTE).data == b"plain"
        assert backend.erase(NOTE, cut.etag) is None
        assert backend.list().files == {}
        assert backend.settle(min_age_s=0) == []
        for rest in (None, b"plain"):
            with pytest.raises(NotFound):
                backend.erase(NOTE, cut.etag, rest)
        backend.write(NOTE, b"again", None)

    def test_erasing_leaves_an_empty_folder(self, backend: StorageBackend) -> None:
        written = backend.write(NotePath("a/b.md"), b"x", None)
        backend.erase(NotePath("a/b.md"), written.etag)
        assert backend.rmdir_empty(NotePath("a")), "nothing hidden is left in it"

    def test_rmdir_takes_only_an_empty_folder(self, backend: StorageBackend) -> None:
        written = backend.write(NotePath("a/b/c.md"), b"x", None)
        assert not backend.rmdir_empty(NotePath("a/b"))
        assert not backend.rmdir_empty(NotePath("none"))
        backend.remove_generated(NotePath("a/b/c.md"), written.etag)
        backend.settle(min_age_s=0)
        assert not backend.rmdir_empty(NotePath("a"))
        assert backend.rmdir_empty(NotePath("a/b"))
        assert backend.rmdir_empty(NotePath("a"))
        assert not backend.rmdir_empty(NotePath("a"))
        backend.write(NotePath("a/b/c.md"), b"again", None)

    def test_settling_what_nobody_touched_keeps_no_copy(self, backend: StorageBackend) -> None:
        first = backend.write(NOTE, b"one", None)
        backend.write(NOTE, b"two", first.etag)
        assert backend.settle(min_age_s=3600) == []
        assert backend.settle(min_age_s=0, path=NOTE) == []
        assert backend.settle(min_age_s=0) == []
        assert backend.settle(min_age_s=0) == []
        assert set(backend.list().files) == {NOTE}
        assert backend.read(NOTE).data == b"two"

    # -- names -------------------------------------------------------------------------------------------------
    @pytest.mark.parametrize("path", REFUSED_ALWAYS, ids=ascii)
    def test_paths_that_no_verb_takes(self, backend: StorageBackend, path: str) -> None:
        refused, note = NotePath(path), NotePath("note.md")
        tag = backend.write(note, b"x", None).etag
        for call in (
            lambda: backend.read(refused),
            lambda: backend.stat(refused),
            lambda: backend.write(refused, b"x", None),
            lambda: backend.write(refused, b"x", tag),
            lambda: backend.move(note, refused),
            lambda: backend.move(refused, NotePath("b.md")),
            lambda: backend.remove_generated(refused, tag),
            lambda: backend.erase(refused, tag),
            lambda: backend.erase(refused, tag, b"x"),
            lambda: backend.rmdir_empty(refused),
        ):
            with pytest.raises(PathRefused):
                call()
        assert set(backend.list().files) == {note}

    @pytest.mark.parametrize("path", REFUSED_WHEN_NEW, ids=ascii)
    def test_paths_that_nothing_new_gets(self, backend: StorageBackend, path: str) -> None:
        note = NotePath("note.md")
        backend.write(note, b"x", None)
        with pytest.raises(PathRefused):
            backend.write(NotePath(path), b"x", None)
        with pytest.raises(PathRefused):
            backend.move(note, NotePath(path))
        with pytest.raises(NotFound):
            backend.read(NotePath(path))

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("Plan.md", "plan.md"),
            ("Notes/a.md", "notes/b.md"),
            ("a/B/c.md", "a/b/d.md"),
            ("straße.md", "STRASSE.md"),
            (unicodedata.normalize("NFD", "café.md"), "café.md"),
            ("café/x.md", unicodedata.normalize("NFD", "café/y.md")),
            ("Ärger.md", unicodedata.normalize("NFD", "ärger.md")),
        ],
    )
    def test_names_that_some_file_systems_would_not_keep_apart(
        self, backend: StorageBackend, old: str, new: str
    ) -> None:
        backend.write(NotePath(old), b"old", None)
        backend.write(NotePath("other.md"), b"x", None)
        with pytest.raises(AlreadyExists, match="only in case or Unicode form"):
            backend.write(NotePath(new), b"new", None)
        with pytest.raises(AlreadyExists):
            backend.move(NotePath("other.md"), NotePath(new))
        assert set(backend.list().files) == {old, "other.md"}
        assert backend.read(NotePath(old)).data == b"old"

    @pytest.mark.parametrize(
        "path", ["日本/旅行.md", "a b/c'd & e.md", "שלום.md", "👩‍💻.md", "%2e%2e/x.md", "con-fig.md"]
    )
    def test_names_in_any_script(self, backend: StorageBackend, path: str) -> None:
        backend.write(NotePath(path), b"x", None)
        assert set(backend.list().files) == {path}
        assert backend.read(NotePath(path)).data == b"x"
