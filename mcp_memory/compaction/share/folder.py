"""Plans and applies the changes in the folder that a topic is shared with, and remembers all such folders.

A hidden manifest in it records the topic and the etags of the files that we wrote: a file with another etag was changed
by someone else, and stays. Files are written like a vault's: none is overwritten unless it is what it was, and no link
leads out.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Self

from mcp_memory.compaction.share.share_bundle import ShareBundle
from mcp_memory.core.core import ErasedText, NoteCopies
from mcp_memory.errors import AlreadyExists, McpMemoryError, NotFound, PathRefused, PreconditionFailed, Refused
from mcp_memory.integrations import text_file
from mcp_memory.models import Etag, NotePath
from mcp_memory.runtime.json_lines import PlaceList
from mcp_memory.runtime.private_files import naming_the_cause, replace_file
from mcp_memory.storage import open_storage
from mcp_memory.storage.base import StorageBackend
from mcp_memory.vault.marker import FOLDER as MARKER_FOLDER

MANIFEST = ".mcp-memory-share.json"
FORMAT = 1
MOST_BYTES = 64 << 20
"""The largest manifest, which takes a hundred bytes for each file shared."""


ShareAction = Literal["new", "updated", "removed", "unchanged", "kept"]
"""The action on a file, as the report names it. `kept`: someone else changed the file or put it there."""


@dataclass(frozen=True)
class ShareManifest:
    """A folder as we left it. `files`: path → the etags that a file of ours may have."""

    vault: str = ""
    topic: str = ""
    page: str | None = None
    files: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Read a folder's manifest; None without one. Raises Refused if it can't be used, StorageFailed."""
        try:
            if (data := text_file.read(folder / MANIFEST)) is None:
                return None
            facts: dict[str, Any] = json.loads(data)
            files = {path: tuple(map(str, etags)) for path, etags in facts["files"].items()}
            return cls(facts["vault"], facts["topic"], facts["page"], files)
        except (Refused, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Refused(f"{folder / MANIFEST} cannot be read", hint="name another folder") from error


def plan_share(bundle: ShareBundle, manifest: ShareManifest, present: Mapping[str, str]) -> dict[str, ShareAction]:
    """Decide what to do with each path. `present` are the etags of the files that are there now. Pure."""
    wanted = bundle.etags
    actions: dict[str, ShareAction] = {}
    for path in sorted({*wanted, *manifest.files}):
        now, etag = present.get(path), wanted.get(path)
        if now == etag:
            actions |= {path: "unchanged"} if now else {}
        elif now is None:
            actions[path] = "new"
        elif now not in manifest.files.get(path, ()):
            actions[path] = "kept"
        else:
            actions[path] = "updated" if etag else "removed"
    return actions


class ShareFolder:
    """Synchronous."""

    def __init__(self, folder: Path, vault: Path) -> None:
        """`vault` is the vault's folder. Raises Refused if either folder is in the other."""
        self.folder = folder.expanduser().resolve()
        inside = vault.resolve()
        if self.folder.is_relative_to(inside) or inside.is_relative_to(self.folder):
            what = f"{self.folder} and the vault are in one another"
            raise Refused(what, hint="share with a folder beside the vault")
        self._backend = open_storage(self.folder)

    def planned(self, bundle: ShareBundle) -> dict[str, ShareAction]:
        """Return the actions that `fill` would take. Raises Refused if the folder isn't free for this topic,
        StorageFailed."""
        manifest = self._manifest(bundle)
        return plan_share(bundle, manifest, self._present(bundle, manifest))

    def fill(self, bundle: ShareBundle) -> dict[str, ShareAction]:
        """Carry out the plan and return what was done. Raises the errors of `planned`."""
        manifest, wanted = self._manifest(bundle), bundle.etags
        present = self._present(bundle, manifest)
        actions, etags = plan_share(bundle, manifest, present), dict[str, Sequence[str]]()
        for path, action in actions.items():
            if action == "kept" and path in manifest.files:
                etags[path] = manifest.files[path]
            elif action == "new" or path in manifest.files:
                etags[path] = [*filter(None, (present.get(path), wanted.get(path)))]
        with naming_the_cause(str(self.folder)):
            self.folder.mkdir(parents=True, exist_ok=True)
            # Recorded first, so that files of an interrupted run are known as ours.
            facts = {"format": FORMAT, **asdict(ShareManifest(bundle.vault, bundle.topic, bundle.page, etags))}
            replace_file(self.folder / MANIFEST, json.dumps(facts, indent=1, sort_keys=True).encode() + b"\n")
            for path, action in actions.items():
                try:
                    if action == "removed":
                        self._backend.remove_generated(NotePath(path), present[path])
                    elif action in {"new", "updated"}:
                        self._backend.write(NotePath(path), bundle.files[path].encode(), present.get(path))
                except (AlreadyExists, PreconditionFailed, NotFound, PathRefused):
                    actions[path] = "kept"  # someone was faster, or there is a link
            self._backend.settle(min_age_s=0)
            removed = (PurePosixPath(path) for path, action in actions.items() if action == "removed")
            folders = {str(above) for path in removed for above in path.parents} - {"."}
            for folder in sorted(folders, reverse=True):
                self._backend.rmdir_empty(NotePath(folder))
        return actions

    def _manifest(self, bundle: ShareBundle) -> ShareManifest:
        """Read the manifest. Raises Refused if the folder is neither free nor of this topic."""
        manifest = ShareManifest.read(self.folder)
        if manifest is None:
            with naming_the_cause(str(self.folder)):
                taken = [file.name for file in self.folder.iterdir()] if self.folder.exists() else []
            if strange := [name for name in taken if not name.startswith(".") or name == MARKER_FOLDER]:
                what = f"{self.folder} holds {min(strange)!r} already"
                raise Refused(what, hint="name an empty folder, or a new one")
            return ShareManifest()
        is_same = manifest.topic == bundle.topic or (bundle.page and manifest.page == bundle.page)  # it has moved
        if not is_same or manifest.vault != bundle.vault:
            raise Refused(f"{self.folder} is shared with {manifest.topic}", hint="name another folder")
        return manifest

    def _present(self, bundle: ShareBundle, manifest: ShareManifest) -> dict[str, Etag]:
        """Return the etags of the files that are there, and an etag that no file has for anything but a plain file."""
        found: dict[str, Etag] = {}
        for path in {*bundle.files, *manifest.files} if self.folder.exists() else ():
            try:
                found[path] = self._backend.read(NotePath(path)).etag
            except PathRefused:
                found[path] = Etag("none")
            except NotFound:
                continue
        return found


def shared_folders(state: Path) -> PlaceList:
    """Return the folders that topics were shared with, so that erasing a note can name its copies there."""
    return PlaceList(state / "shared.jsonl", "folder")


@dataclass(frozen=True)
class SharedCopies(NoteCopies):
    """The copies in folders that topics were shared with."""

    folders: PlaceList

    def beyond(self, erased: ErasedText) -> Iterator[str]:
        """Yield the folders that have a file with the note's id or the entry's hash in it, or the note itself, and the
        folders that can't be read."""
        names = {erased.entry} if erased.entry else {*erased.ids, erased.path}
        for folder in self.folders.read():
            topic, backend = "a topic", open_storage(folder, read_only=True)
            with suppress(McpMemoryError):
                manifest = ShareManifest.read(folder) or ShareManifest()
                topic = manifest.topic
                if not any(_is_copy(backend, path, topic, names) for path in manifest.files):
                    continue
            yield f"the folder {folder}, which {topic} was shared with: share it again or remove it"


def _is_copy(backend: StorageBackend, path: str, topic: str, names: Collection[str]) -> bool:
    try:
        data = backend.read(NotePath(path), limit_bytes=MOST_BYTES).data
    except McpMemoryError:
        return False
    return f"{topic}/{path}" in names or any(name.encode("utf-8", "surrogateescape") in data for name in names)
