"""Locate transcripts in the clients' folders and in those of further profiles. Nothing outside them is opened, and
nothing through a symbolic link.

Any caller of a hook's endpoint can send a path, so a path only selects one of the files in these folders.

A profile is a configuration folder of its own, which `CLAUDE_CONFIG_DIR` or `CODEX_HOME` names. Its sessions are
captured only if our hooks are installed in it, because that shows that you want it.
"""

import os
import stat
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mcp_memory.errors import InvalidInput, McpMemoryError, NotFound, PathRefused, Refused, StorageFailed
from mcp_memory.integrations import commands
from mcp_memory.integrations.clients import TITLES
from mcp_memory.integrations.server_entry import read_table
from mcp_memory.projects.repository_facts import find_repository_facts
from mcp_memory.storage.folder_walk import walk
from mcp_memory.storage.folders import opened_file, opened_folder, opened_root
from mcp_memory.text.parsed_values import list_at, table_at, text_at

_VARIABLES: Mapping[str, str] = {"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}
_LAYOUTS: Mapping[str, tuple[str, tuple[int, ...]]] = {"claude-code": ("projects", (2, 4)), "codex": ("sessions", (4,))}
"""The folder with a profile's transcripts, and how deep below it they are: a session's, and a sub-agent's."""


def profile_root(client: str, file: Path) -> Path | None:
    """Return the folder of transcripts if the path looks like one in a profile. Doesn't touch the disk."""
    name, depths = _LAYOUTS.get(client, ("", ()))
    places = (file.parents[depth - 1] for depth in depths if len(file.parents) > depth)
    return next((place for place in places if place.name == name), None)


def why_not_captured(client: str, root: Path) -> str | None:
    """Return why a profile's transcripts are not read; None if our hooks are installed there. Reads its files."""
    folder = root.parent
    if root.is_symlink():
        return f"{root} is a link"
    if find_repository_facts(str(folder)):
        return f"{folder} is in a git repository, whose author may have written these sessions"
    try:
        is_installed = any(_hooks(client, folder))
    except McpMemoryError as error:
        return error.message
    install = f"{_VARIABLES[client]}={folder} mcp-memory install {client}"
    return None if is_installed else f"memory is not installed in this profile of {TITLES[client]} ({install})"


def _hooks(client: str, folder: Path) -> Iterator[commands.OurCommand]:
    for name in ("settings.json", "hooks.json"):
        events = table_at(read_table(folder / name), "hooks")
        for event in events:
            for group in list_at(events, event):
                for handler in list_at(group, "hooks"):
                    ours = commands.read(text_at(handler, "command"))
                    if ours and ours.verb.startswith("hook ") and ours.client == client:
                        yield ours


DATABASE = "openclaw-agent.sqlite"
SUB_AGENTS = "subagents"
MOST_PATH_CHARS = 4000
MOST_FILES = 100_000


@dataclass(frozen=True, order=True)
class TranscriptPath:
    """A file below its client's folder, or one `session` in a database."""

    client: str
    root: Path
    inner: PurePosixPath
    session: str = ""

    @property
    def file(self) -> Path:
        return self.root / self.inner

    @property
    def parent(self) -> "TranscriptPath | None":
        """The session's transcript, if a sub-agent's is in a file of its own."""
        folder = self.inner.parent
        if folder.name != SUB_AGENTS:
            return None
        return TranscriptPath(self.client, self.root, folder.parent.with_name(f"{folder.parent.name}.jsonl"))

    @property
    def is_database(self) -> bool:
        return self.inner.name == DATABASE

    @property
    def name(self) -> str:
        """The transcript's name in checkpoints and captured pages."""
        return f"{self.file}#{self.session}" if self.session else str(self.file)


class TranscriptPaths:
    def __init__(self, folders: Mapping[str, str]) -> None:
        """Set the `folders` by client; a missing folder counts as empty."""
        self._roots = {client: Path(os.path.expanduser(folder)) for client, folder in folders.items()}  # noqa: PTH111 -- raises nothing

    def locate(self, client: str, file: str) -> TranscriptPath:
        """Check the path without touching the disk: a further profile of the client is checked when the file is opened.
        Raises InvalidInput for an unknown client, Refused for a path outside its folders."""
        root = self._root(client)
        name, _, session = file.partition("#")
        if len(file) > MOST_PATH_CHARS or "\0" in file or ".." in name.split("/"):
            raise Refused("this is not the path of a transcript", hint=f"transcripts of {client} are in {root}")
        file_path, profile = Path(name), profile_root(client, Path(name))
        for base, kept in ((root, root), (_resolved(root), root), *([(profile, profile)] if profile else [])):
            if file_path.is_relative_to(base):
                path = TranscriptPath(client, kept, PurePosixPath(file_path.relative_to(base)), session)
                if path.is_database or (path.inner.suffix == ".jsonl" and not session):
                    return path
        hint = f"those are in {root}; see [capture.folders]"
        raise Refused(f"{name[:200]} is not a transcript of {client}", hint=hint)

    def locate_any(self, file: str) -> TranscriptPath:
        """Locate a path in any client's folder, or in a profile of it. Raises Refused."""
        found: list[TranscriptPath] = []
        for client in self._roots:
            with suppress(Refused):
                found.append(self.locate(client, file))
        for path in found:
            if not self._is_profile(path) or why_not_captured(path.client, path.root) is None:
                return path
        raise Refused(f"{file[:200]} is in no client's folder", hint="see [capture.folders] in the configuration")

    @contextmanager
    def open_transcript(self, path: TranscriptPath) -> Generator[int]:
        """Yield a descriptor for reading. Raises NotFound, StorageFailed, and Refused for a link, another user's file,
        or anything but a regular file."""
        folder, name = path.inner.parent, path.inner.name
        if self._is_profile(path) and (why_not := why_not_captured(path.client, path.root)):
            raise Refused(f"{path.file} is not captured: {why_not}", hint="or name its folder under [capture.folders]")
        try:
            with (
                opened_root(_resolved(path.root)) as root,
                opened_folder(root, str(folder) if folder.name else "") as parent,
                opened_file(parent, name, str(path.file)) as (descriptor, found),
            ):
                if found.st_uid != os.geteuid():
                    raise Refused(f"{path.file} is another user's", hint="it is not read")
                yield descriptor
        except (FileNotFoundError, NotFound) as error:
            raise NotFound(f"there is no {path.file}") from error
        except PathRefused as error:
            raise Refused(error.message, hint="it is not read") from error
        except OSError as error:
            raise StorageFailed(f"{path.file} cannot be read: {error.strerror or error}") from error

    def list_transcripts(self, client: str) -> list[TranscriptPath]:
        """List all files in a client's folder that may be transcripts, newest last. Follows no links. Raises
        InvalidInput."""
        root = self._root(client)
        found: list[tuple[float, TranscriptPath]] = []
        for folder, _, names in walk(_resolved(root)):
            for name in names:
                inner = PurePosixPath(os.path.relpath(os.path.join(folder, name), _resolved(root)))  # noqa: PTH118 -- by the thousand
                if inner.suffix == ".jsonl" or inner.name == DATABASE:
                    with suppress(OSError):
                        at = os.stat(os.path.join(folder, name), follow_symlinks=False)  # noqa: PTH116, PTH118 -- so, too
                        if stat.S_ISREG(at.st_mode) and len(found) < MOST_FILES:
                            found.append((at.st_mtime, TranscriptPath(client, root, inner)))
        return [path for _, path in sorted(found)]

    def _is_profile(self, path: TranscriptPath) -> bool:
        return path.root != self._roots.get(path.client)

    def _root(self, client: str) -> Path:
        if client not in self._roots:
            known = ", ".join(self._roots)
            raise InvalidInput(f"transcripts of {client[:100]!r} cannot be read", hint=f"known: {known}")
        return self._roots[client]

    @property
    def clients(self) -> Iterable[str]:
        return self._roots.keys()

    def list_sub_agents(self, path: TranscriptPath) -> list[TranscriptPath]:
        """List the transcripts of a session's sub-agents, where the client writes them to separate files."""
        folder = path.file.with_suffix("") / SUB_AGENTS
        try:
            names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False))
        except OSError:
            return []
        inner = path.inner.with_suffix("") / SUB_AGENTS
        return [TranscriptPath(path.client, path.root, inner / name) for name in names if name.endswith(".jsonl")]


def _resolved(root: Path) -> Path:
    """Resolve a client's folder, which you may keep elsewhere, behind a link of your own."""
    return Path(os.path.realpath(root))
