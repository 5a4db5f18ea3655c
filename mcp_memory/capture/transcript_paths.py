"""The places: where clients keep their transcripts. Nothing outside is opened, whoever asks for it, nor through a link.

The path of a transcript comes from whoever calls a hook's endpoint, so it decides nothing but which of the files in
there is meant.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mcp_memory.errors import InvalidInput, NotFound, Refused, StorageFailed

DATABASE = "openclaw-agent.sqlite"
MOST_PATH_CHARS = 4000
MOST_FILES = 100_000

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, order=True)
class TranscriptPath:
    """One transcript: a file below its client's folder, and of a database one `session` in it."""

    client: str
    root: Path
    inner: PurePosixPath
    session: str = ""

    @property
    def file(self) -> Path:
        return self.root / self.inner

    @property
    def is_database(self) -> bool:
        return self.inner.name == DATABASE

    @property
    def name(self) -> str:
        """What a bookmark and a leaf call it."""
        return f"{self.file}#{self.session}" if self.session else str(self.file)


class TranscriptPaths:
    def __init__(self, folders: Mapping[str, str]) -> None:
        """`folders` by client; one that is not there holds nothing."""
        self._roots = {client: Path(os.path.expanduser(folder)) for client, folder in folders.items()}  # noqa: PTH111 -- raises nothing

    def place(self, client: str, file: str) -> TranscriptPath:
        """Judged by the words alone. Raises InvalidInput for a client that writes none that we know, Refused for a path
        outside its folder."""
        root = self._root(client)
        path, _, session = file.partition("#")
        if len(file) > MOST_PATH_CHARS or "\0" in file or ".." in path.split("/"):
            raise Refused("this is no transcript's path", hint=f"transcripts of {client} lie in {root}")
        for base in (root, _resolved(root)):
            if Path(path).is_relative_to(base):
                place = TranscriptPath(client, root, PurePosixPath(Path(path).relative_to(base)), session)
                if place.is_database or (place.inner.suffix == ".jsonl" and not session):
                    return place
        raise Refused(f"{path[:200]} is no transcript of {client}", hint=f"those lie in {root}; see [capture.folders]")

    def client_of(self, file: str) -> str:
        """Whose transcript it is, by its folder. Raises Refused."""
        for client in self._roots:
            try:
                return self.place(client, file).client
            except Refused:
                continue
        raise Refused(f"{file[:200]} lies in no client's folder", hint="see [capture.folders] in the configuration")

    @contextmanager
    def opened(self, place: TranscriptPath) -> Generator[int]:
        """A descriptor for reading. Raises NotFound, Refused for a link or what is no file of ours, StorageFailed."""
        with _naming(place):
            folder = os.open(_resolved(place.root), _FOLDER)
            try:
                for part in place.inner.parts[:-1]:
                    inside = os.open(part, _FOLDER, dir_fd=folder)
                    os.close(folder)
                    folder = inside
                descriptor = os.open(place.inner.name, _FILE, dir_fd=folder)
            finally:
                os.close(folder)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise Refused(f"{place.file} is no file of yours", hint="it is not read")
            yield descriptor
        finally:
            os.close(descriptor)

    def paths_of_client(self, client: str) -> list[TranscriptPath]:
        """All files in a client's folder that may be transcripts, the latest last. Follows no link. Raises
        InvalidInput."""
        root = self._root(client)
        found: list[tuple[float, TranscriptPath]] = []
        for folder, _, names in os.walk(_resolved(root)):
            for name in names:
                inner = PurePosixPath(os.path.relpath(os.path.join(folder, name), _resolved(root)))  # noqa: PTH118 -- by the thousand
                if inner.suffix == ".jsonl" or inner.name == DATABASE:
                    try:
                        at = os.stat(os.path.join(folder, name), follow_symlinks=False)  # noqa: PTH116, PTH118 -- so, too
                    except OSError:
                        continue
                    if stat.S_ISREG(at.st_mode) and len(found) < MOST_FILES:
                        found.append((at.st_mtime, TranscriptPath(client, root, inner)))
        return [place for _, place in sorted(found)]

    def _root(self, client: str) -> Path:
        if client not in self._roots:
            raise InvalidInput(f"no transcripts of {client[:100]!r} are known", hint=f"known: {', '.join(self._roots)}")
        return self._roots[client]

    @property
    def clients(self) -> Iterable[str]:
        return self._roots.keys()

    def beside(self, place: TranscriptPath) -> list[TranscriptPath]:
        """The transcripts of a session's sub-agents, where the client writes them into files of their own."""
        folder = place.file.with_suffix("") / "subagents"
        try:
            names = sorted(each.name for each in os.scandir(folder) if each.is_file(follow_symlinks=False))
        except OSError:
            return []
        inner = place.inner.with_suffix("") / "subagents"
        return [TranscriptPath(place.client, place.root, inner / name) for name in names if name.endswith(".jsonl")]


def _resolved(root: Path) -> Path:
    """A person may keep a client's folder elsewhere, behind a link of their own."""
    return Path(os.path.realpath(root))


@contextmanager
def _naming(place: TranscriptPath) -> Generator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"there is no {place.file}") from error
    except OSError as error:
        if error.errno in _LINKS:
            raise Refused(f"{place.file} leads through a link", hint="it is not read") from error
        raise StorageFailed(f"{place.file} cannot be read: {error.strerror}") from error


_LINKS = {errno.ELOOP, errno.ENOTDIR}
"""What an open that follows no link says of one, in the place of a file and of a folder."""
