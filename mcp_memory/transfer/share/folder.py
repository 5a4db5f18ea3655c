"""Plans and applies what changes in the folder that a topic is shared with.

A hidden file in it tells which topic it is of, and under which bytes we have left each file: what has others is
somebody else's, and stays. Files go through the same door as a vault's: none is overwritten that is not what it was,
and no link leads out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import Any, cast

from mcp_memory.errors import AlreadyExists, NotFound, PathRefused, PreconditionFailed, Refused
from mcp_memory.models import Etag, NotePath
from mcp_memory.runtime.os_errors import naming_the_cause
from mcp_memory.runtime.private_files import replace_file
from mcp_memory.runtime.renames import KernelRenames
from mcp_memory.storage import open_storage
from mcp_memory.storage.folders import etag_of as etag_at
from mcp_memory.storage.folders import opened_file, opened_folder, opened_root
from mcp_memory.storage.path_rules import split
from mcp_memory.topics.page import etag_of
from mcp_memory.transfer.share.share_bundle import ShareBundle, SharedFile
from mcp_memory.vault.marker import FOLDER as MARKER_FOLDER

MANIFEST = ".mcp-memory-share.json"
FORMAT = 1
MOST_BYTES = 64 << 20
"""Of the hidden file: a hundred bytes a file shared."""


class ShareAction(StrEnum):
    """What is done to a file, in the words of the report."""

    NEW = "new"
    UPDATED = "updated"
    REMOVED = "removed"
    UNCHANGED = "unchanged"
    KEPT = "kept"
    """Somebody changed it there, or put it there."""


@dataclass(frozen=True, slots=True)
class SharePlan:
    """A folder as we left it: by path the etags that a file of ours may have."""

    vault: str = ""
    topic: str = ""
    page: str | None = None
    files: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def is_of(self, parcel: ShareBundle) -> bool:
        """A topic that was moved is known by its page."""
        same = self.topic == parcel.topic or (self.page is not None and self.page == parcel.page)
        return self.vault == parcel.vault and same


def plan_share(parcel: ShareBundle, share: SharePlan, standing: Mapping[str, str]) -> dict[str, ShareAction]:
    """What is to be done, by path. `standing` are the etags of the files that are there now. Pure."""
    deeds: dict[str, ShareAction] = {}
    for file in parcel.files:
        now, known = standing.get(file.path), share.files.get(file.path, ())
        if now is None:
            deeds[file.path] = ShareAction.NEW
        elif now == _etag(file):
            deeds[file.path] = ShareAction.UNCHANGED
        else:
            deeds[file.path] = ShareAction.UPDATED if now in known else ShareAction.KEPT
    for path in share.files.keys() - deeds.keys():
        if path in standing:
            deeds[path] = ShareAction.REMOVED if standing[path] in share.files[path] else ShareAction.KEPT
    return dict(sorted(deeds.items()))


class ShareFolder:
    """Synchronous."""

    def __init__(self, folder: Path, vault: Path) -> None:
        """`vault` is the folder of the vault that is shared from. Raises Refused where one is in the other."""
        self.folder = folder.expanduser().resolve()
        self._vault = vault.resolve()
        if self.folder.is_relative_to(self._vault) or self._vault.is_relative_to(self.folder):
            raise Refused(
                f"{self.folder} and the vault are in one another", hint="share with a folder beside the vault"
            )
        self._backend = open_storage(self.folder)

    def planned(self, parcel: ShareBundle) -> dict[str, ShareAction]:
        """Raises Refused where the folder is not free for this topic, StorageFailed."""
        share = self._share(parcel)
        if not self.folder.exists():
            return plan_share(parcel, share, {})
        paths = {file.path for file in parcel.files} | share.files.keys()
        return plan_share(parcel, share, {path: etag for path in paths if (etag := self._etag(path))})

    def fill(self, parcel: ShareBundle, *, linked: bool = False) -> dict[str, ShareAction]:
        """Do what is planned, and say what came of it; `linked`: as hard links where a file is the vault's to the byte
        and the file system allows it. Raises as `planned`."""
        deeds, share = self.planned(parcel), self._share(parcel)
        files = {file.path: file for file in parcel.files}
        with naming_the_cause(str(self.folder)):
            self.folder.mkdir(parents=True, exist_ok=True)
            # Announced first: what a crash leaves half done is known as ours.
            ours = {path: [_etag(files[path])] for path, deed in deeds.items() if _is_ours(path, deed, share)}
            known = {path: list(etags) for path, etags in share.files.items()}
            self._write(parcel, {path: known.get(path, []) + ours.get(path, []) for path in known | ours})
            for path, deed in deeds.items():
                try:
                    self._do(NotePath(path), deed, files.get(path), share)
                except (AlreadyExists, PreconditionFailed, NotFound, PathRefused):
                    deeds[path] = ShareAction.KEPT  # somebody was faster, or there is a link
                if linked and path in files and _is_ours(path, deeds[path], share):
                    self._link(NotePath(path), files[path])
            self._backend.settle(min_age_s=0)
            removed = (path for path, deed in deeds.items() if deed is ShareAction.REMOVED)
            for folder in sorted({above for path in removed for above in _folders_above(path)}, key=len, reverse=True):
                self._backend.rmdir_empty(NotePath(folder))
            kept = {path: known[path] for path, deed in deeds.items() if deed is ShareAction.KEPT and path in known}
            self._write(
                parcel, kept | {path: each for path, each in ours.items() if deeds[path] is not ShareAction.KEPT}
            )
        return deeds

    def linked(self, parcel: ShareBundle) -> int:
        """How many files are the vault's own."""
        return sum(_is_same(self.folder / file.path, self._vault / file.source) for file in parcel.files)

    def _do(self, path: NotePath, deed: ShareAction, file: SharedFile | None, share: SharePlan) -> None:
        if deed is ShareAction.REMOVED:
            self._backend.remove_generated(path, self._expected(path, share))
        elif deed is ShareAction.NEW and file:
            self._backend.write(path, file.text.encode(), None)
        elif deed is ShareAction.UPDATED and file:
            self._backend.write(path, file.text.encode(), self._expected(path, share))

    def _expected(self, path: NotePath, share: SharePlan) -> Etag:
        etag = self._backend.read(path).etag
        if etag not in share.files[path]:
            raise PreconditionFailed(f"{path} was changed by somebody else")
        return etag

    def _link(self, path: NotePath, file: SharedFile) -> None:
        """Put the vault's very file under a name that has its bytes; left a copy where it has changed, is linked there
        already, or lies on another disk."""
        source, (folder, name) = self._vault / file.source, split(path)
        if not file.verbatim or _is_same(self.folder / path, source):
            return
        with opened_root(self.folder) as root, opened_folder(root, folder) as parent:
            aside = f".{token_hex(8)}.link"
            try:
                os.link(source, aside, dst_dir_fd=parent, follow_symlinks=False)
            except OSError:
                return
            try:
                with opened_file(parent, aside, path) as (descriptor, _):
                    same = etag_at(descriptor) == self._etag(path) == _etag(file)
                if same:
                    self._exchange(parent, aside, name, _etag(file))
            finally:
                os.unlink(aside, dir_fd=parent)

    def _exchange(self, parent: int, aside: str, name: str, expected: Etag) -> None:
        """Unless it was somebody's edit of the last moment that would go; that gets its name back."""
        renames = KernelRenames()
        try:
            renames.exchange(parent, aside, name)
        except OSError:
            return  # gone, or no such call here: it stays a copy
        is_ours = False
        try:
            with opened_file(parent, aside, name) as (descriptor, _):
                is_ours = etag_at(descriptor) == expected
        finally:
            if not is_ours:
                renames.exchange(parent, aside, name)

    def _share(self, parcel: ShareBundle) -> SharePlan:
        """What the folder is now. Raises Refused where it is neither free nor of this topic."""
        try:
            share = parse_manifest(json.loads(self._manifest()))
        except (FileNotFoundError, NotADirectoryError, NotFound):
            with naming_the_cause(str(self.folder)):
                taken = [each.name for each in os.scandir(self.folder)] if self.folder.exists() else []
            if strange := [name for name in taken if not name.startswith(".") or name == MARKER_FOLDER]:
                raise Refused(
                    f"{self.folder} holds {min(strange)!r} already", hint="name an empty folder, or a new one"
                ) from None
            return SharePlan()
        except (OSError, PathRefused, ValueError, KeyError, TypeError, RecursionError) as error:
            raise Refused(f"{self.folder / MANIFEST} cannot be read", hint="name another folder") from error
        if not share.is_of(parcel):
            raise Refused(f"{self.folder} is shared with {share.topic}", hint="name another folder")
        return share

    def _manifest(self) -> bytes:
        """Raises NotFound, PathRefused for what is no plain file, ValueError for a huge one, OSError."""
        with opened_root(self.folder) as root, opened_file(root, MANIFEST, MANIFEST) as (descriptor, found):
            if found.st_size > MOST_BYTES:
                raise ValueError(f"{found.st_size} bytes")
            return os.pread(descriptor, MOST_BYTES, 0)

    def _write(self, parcel: ShareBundle, files: Mapping[str, Sequence[str]]) -> None:
        said = {"format": FORMAT, "vault": parcel.vault, "topic": parcel.topic, "page": parcel.page, "files": files}
        replace_file(self.folder / MANIFEST, json.dumps(said, indent=1, sort_keys=True).encode() + b"\n")

    def _etag(self, path: str) -> str | None:
        """None where nothing is there; of what is no plain file one that no file has."""
        try:
            return self._backend.read(NotePath(path)).etag
        except NotFound:
            return None
        except PathRefused:
            return "none"


def parse_manifest(said: Any) -> SharePlan:
    """Raises KeyError, TypeError."""
    files: Any = said["files"]
    if not isinstance(files, dict):
        raise TypeError("files")
    for path, etags in cast("dict[str, Any]", files).items():
        if not isinstance(etags, list) or not all(isinstance(each, str) for each in cast("list[Any]", etags)):
            raise TypeError(path)
    return SharePlan(said["vault"], said["topic"], said["page"], cast("dict[str, list[str]]", files))


def _is_ours(path: str, deed: ShareAction, share: SharePlan) -> bool:
    """Whether the file is there by our hand afterwards: not where somebody else had the same idea."""
    return deed in {ShareAction.NEW, ShareAction.UPDATED} or (deed is ShareAction.UNCHANGED and path in share.files)


def _etag(file: SharedFile) -> Etag:
    return etag_of(file.text.encode())


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _folders_above(path: str) -> list[str]:
    return [str(folder) for folder in PurePosixPath(path).parents if folder.name]
