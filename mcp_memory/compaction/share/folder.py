"""Plans and applies the changes in the folder that a topic is shared with, and remembers all such folders.

A hidden manifest in it records the topic and the etags of the files that we wrote: a file with another etag was changed
by someone else, and stays. Files are written like a vault's: none is overwritten unless it is what it was, and no link
leads out.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any, cast

from mcp_memory.compaction.share.share_bundle import ShareBundle, SharedFile
from mcp_memory.core.core import ErasedText, NoteCopies
from mcp_memory.errors import AlreadyExists, McpMemoryError, NotFound, PathRefused, PreconditionFailed, Refused
from mcp_memory.models import Etag, NotePath, etag_of
from mcp_memory.runtime.json_lines import PlaceList
from mcp_memory.runtime.private_files import naming_the_cause, replace_file
from mcp_memory.storage import open_storage
from mcp_memory.storage.base import StorageBackend
from mcp_memory.storage.folders import opened_file, opened_root
from mcp_memory.vault.marker import FOLDER as MARKER_FOLDER

MANIFEST = ".mcp-memory-share.json"
FORMAT = 1
MOST_BYTES = 64 << 20
"""The largest manifest, which takes a hundred bytes for each file shared."""


class ShareAction(StrEnum):
    """The action on a file, as the report names it."""

    NEW = "new"
    UPDATED = "updated"
    REMOVED = "removed"
    UNCHANGED = "unchanged"
    KEPT = "kept"
    """A file that someone else changed or put there."""


@dataclass(frozen=True)
class ShareManifest:
    """A folder as we left it. `files`: path → the etags that a file of ours may have."""

    vault: str = ""
    topic: str = ""
    page: str | None = None
    files: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def is_of(self, bundle: ShareBundle) -> bool:
        """A topic that was moved is recognized by its page."""
        same = self.topic == bundle.topic or (self.page is not None and self.page == bundle.page)
        return self.vault == bundle.vault and same


def plan_share(bundle: ShareBundle, manifest: ShareManifest, present: Mapping[str, str]) -> dict[str, ShareAction]:
    """Decide what to do with each path. `present` are the etags of the files that are there now. Pure."""
    actions: dict[str, ShareAction] = {}
    for file in bundle.files:
        now, known = present.get(file.path), manifest.files.get(file.path, ())
        if now is None:
            actions[file.path] = ShareAction.NEW
        elif now == _etag(file):
            actions[file.path] = ShareAction.UNCHANGED
        else:
            actions[file.path] = ShareAction.UPDATED if now in known else ShareAction.KEPT
    for path in manifest.files.keys() - actions.keys():
        if path in present:
            actions[path] = ShareAction.REMOVED if present[path] in manifest.files[path] else ShareAction.KEPT
    return dict(sorted(actions.items()))


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
        manifest = self._read_manifest(bundle)
        if not self.folder.exists():
            return plan_share(bundle, manifest, {})
        paths = {file.path for file in bundle.files} | manifest.files.keys()
        return plan_share(bundle, manifest, {path: etag for path in paths if (etag := self._etag(path))})

    def fill(self, bundle: ShareBundle) -> dict[str, ShareAction]:
        """Carry out the plan and return what was done. Raises the errors of `planned`."""
        actions, manifest = self.planned(bundle), self._read_manifest(bundle)
        files = {file.path: file for file in bundle.files}
        with naming_the_cause(str(self.folder)):
            self.folder.mkdir(parents=True, exist_ok=True)
            # Recorded first, so that files of an interrupted run are known as ours.
            ours = {path: [_etag(files[path])] for path, action in actions.items() if _is_ours(path, action, manifest)}
            known = {path: list(etags) for path, etags in manifest.files.items()}
            self._write(bundle, {path: known.get(path, []) + ours.get(path, []) for path in known | ours})
            for path, action in actions.items():
                try:
                    self._do(NotePath(path), action, files.get(path), manifest)
                except (AlreadyExists, PreconditionFailed, NotFound, PathRefused):
                    actions[path] = ShareAction.KEPT  # someone was faster, or there is a link
            self._backend.settle(min_age_s=0)
            removed = (PurePosixPath(path) for path, action in actions.items() if action is ShareAction.REMOVED)
            folders = {str(above) for path in removed for above in path.parents} - {"."}
            for folder in sorted(folders, reverse=True):
                self._backend.rmdir_empty(NotePath(folder))
            kept = {path: etags for path, etags in known.items() if actions.get(path) is ShareAction.KEPT}
            left = {path: etags for path, etags in ours.items() if actions[path] is not ShareAction.KEPT}
            self._write(bundle, kept | left)
        return actions

    def _do(self, path: NotePath, action: ShareAction, file: SharedFile | None, manifest: ShareManifest) -> None:
        if action is ShareAction.REMOVED:
            self._backend.remove_generated(path, self._expected(path, manifest))
        elif action is ShareAction.NEW and file:
            self._backend.write(path, file.text.encode(), None)
        elif action is ShareAction.UPDATED and file:
            self._backend.write(path, file.text.encode(), self._expected(path, manifest))

    def _expected(self, path: NotePath, manifest: ShareManifest) -> Etag:
        etag = self._backend.read(path).etag
        if etag not in manifest.files[path]:
            raise PreconditionFailed(f"{path} was changed by someone else")
        return etag

    def _read_manifest(self, bundle: ShareBundle) -> ShareManifest:
        """Raises Refused if the folder is neither free nor of this topic."""
        try:
            with opened_root(self.folder) as root, opened_file(root, MANIFEST, MANIFEST) as (descriptor, _):
                manifest = parse_manifest(json.loads(os.pread(descriptor, MOST_BYTES, 0)))
        except (FileNotFoundError, NotADirectoryError, NotFound):
            with naming_the_cause(str(self.folder)):
                taken = [file.name for file in self.folder.iterdir()] if self.folder.exists() else []
            if strange := [name for name in taken if not name.startswith(".") or name == MARKER_FOLDER]:
                what = f"{self.folder} holds {min(strange)!r} already"
                raise Refused(what, hint="name an empty folder, or a new one") from None
            return ShareManifest()
        except (OSError, PathRefused, ValueError, KeyError, TypeError, RecursionError) as error:
            raise Refused(f"{self.folder / MANIFEST} cannot be read", hint="name another folder") from error
        if not manifest.is_of(bundle):
            raise Refused(f"{self.folder} is shared with {manifest.topic}", hint="name another folder")
        return manifest

    def _write(self, bundle: ShareBundle, files: Mapping[str, Sequence[str]]) -> None:
        facts = {"format": FORMAT, "vault": bundle.vault, "topic": bundle.topic, "page": bundle.page, "files": files}
        replace_file(self.folder / MANIFEST, json.dumps(facts, indent=1, sort_keys=True).encode() + b"\n")

    def _etag(self, path: str) -> str | None:
        """Return the file's etag; None without a file, and an etag that no file has for anything but a plain file."""
        try:
            return self._backend.read(NotePath(path)).etag
        except NotFound:
            return None
        except PathRefused:
            return "none"


def parse_manifest(facts: Any) -> ShareManifest:
    """Raises KeyError, TypeError."""
    files: Any = facts["files"]
    if not isinstance(files, dict):
        raise TypeError("files")
    for path, etags in cast("dict[str, Any]", files).items():
        if not isinstance(etags, list) or not all(isinstance(etag, str) for etag in cast("list[Any]", etags)):
            raise TypeError(path)
    return ShareManifest(facts["vault"], facts["topic"], facts["page"], cast("dict[str, list[str]]", files))


def _is_ours(path: str, action: ShareAction, manifest: ShareManifest) -> bool:
    """Return whether the file is ours afterwards. It isn't if someone else put the same file there."""
    is_old = action is ShareAction.UNCHANGED and path in manifest.files
    return is_old or action in {ShareAction.NEW, ShareAction.UPDATED}


def _etag(file: SharedFile) -> Etag:
    return etag_of(file.text.encode())


class SharedFolders(PlaceList):
    """Remembers the folders that topics were shared with, so that erasing a note can name its copies outside the
    vault."""

    def __init__(self, state: Path) -> None:
        super().__init__(state / "shared.jsonl", "folder")

    def find_copies(self, names: Collection[str]) -> Iterator[tuple[Path, str]]:
        """Yield the folders, and their topics, that have a file with one of these names (ids, or hashes of entries) in
        it, or as its path in the vault. A folder that can't be read is among them."""
        for folder in self.read():
            if not (folder / MANIFEST).exists():
                continue
            backend = open_storage(folder, read_only=True)
            try:
                manifest = parse_manifest(json.loads((folder / MANIFEST).read_bytes()[:MOST_BYTES]))
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                yield folder, "a topic"
                continue
            inner = {path for path in manifest.files if f"{manifest.topic}/{path}" in names}
            if inner or any(_has_name(backend, path, names) for path in manifest.files):
                yield folder, manifest.topic


def _has_name(backend: StorageBackend, path: str, names: Collection[str]) -> bool:
    try:
        data = backend.read(NotePath(path), limit_bytes=MOST_BYTES).data
    except McpMemoryError:
        return False
    return any(name.encode("utf-8", "surrogateescape") in data for name in names)


@dataclass(frozen=True)
class SharedCopies(NoteCopies):
    """The copies in folders that topics were shared with."""

    folders: SharedFolders

    def beyond(self, erased: ErasedText) -> Iterator[str]:
        names = {erased.entry} if erased.entry else {*erased.ids, erased.path}
        for folder, topic in self.folders.find_copies(names):
            yield f"the folder {folder}, which {topic} was shared with: share it again or remove it"
