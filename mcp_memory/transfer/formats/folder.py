"""Reads the files below a foreign folder, or a program's notes among them: follows no links, writes nothing, and
reports unreadable files.
"""

import os
import stat
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from mcp_memory.errors import McpMemoryError, Refused
from mcp_memory.integrations.config_entries import InstructionBlock
from mcp_memory.models import NotePath
from mcp_memory.runtime.private_files import naming_the_cause, reason
from mcp_memory.storage.folders import kind, open_child, opened_file, opened_folder, opened_root
from mcp_memory.storage.listing import read_stable
from mcp_memory.storage.path_rules import MAX_DEPTH, SKIPPED_FOLDERS, is_note, split, unnameable
from mcp_memory.text.escape_invisible import printable
from mcp_memory.text.markdown.frontmatter import decode, split_head
from mcp_memory.transfer.item import ProjectOf, SkippedItem


def is_markdown(name: str) -> bool:
    """Return whether other programs read a file of this name as Markdown."""
    return is_note(name) or name.lower().endswith(".markdown")


@dataclass(frozen=True)
class SourceFile:
    """A Markdown file. `modified_s` is in seconds since the epoch."""

    path: str
    data: bytes
    text: str
    modified_s: float


@dataclass
class SourceTree:
    """The paths of a folder's Markdown files, and the skipped files, each with the reason."""

    notes: list[str] = field(default_factory=list[str])
    left_out: list[SkippedItem] = field(default_factory=list[SkippedItem])

    def leave(self, path: str, why: str) -> None:
        self.left_out.append(SkippedItem(printable(path), why))

    @contextmanager
    def leaving(self, path: str, fault: str = "not readable") -> Generator[None]:
        """Skip `path` if the block can't read it."""
        try:
            yield
        except McpMemoryError as error:
            self.leave(path, error.message)
        except OSError as error:
            self.leave(path, f"{fault}: {reason(error)}")
        except UnicodeError as error:
            self.leave(path, str(error))


class SourceFolder:
    """A folder, or a single file as if its folder had no other. `apart`: folders to skip, such as the vault itself.
    Hidden folders and files that aren't Markdown are skipped, too, unless you want `everything`."""

    def __init__(self, root: Path, *, apart: tuple[Path, ...] = (), everything: bool = False, most_bytes: int) -> None:
        self.root, self._only = (root, None) if root.is_dir() else (root.parent, root.name)
        self._apart = [folder.stat() for folder in apart if folder.exists()]
        self._everything = everything
        self._most_bytes = most_bytes

    def tree(self, wanted: Callable[[str], bool] = lambda _: True) -> SourceTree:
        """List the folders whose path is `wanted`. Raises StorageFailed if the root can't be opened."""
        found = SourceTree()
        with naming_the_cause(str(self.root)), opened_root(self.root) as root:
            self._visit(found, root, "", 0, wanted)
        if self._only:
            found = SourceTree([path for path in found.notes if path == self._only])
        found.notes.sort()
        return found

    def files(self, tree: SourceTree) -> Iterator[SourceFile]:
        """Read the notes one by one, without lines that `install` inserted. A file that turns out not to be a note is
        added to the `tree`'s skipped files."""
        for path in tree.notes:
            with tree.leaving(path):
                file = self._read(path)
                with suppress(Refused):  # a lone mark: our lines can't be distinguished from yours
                    if (text := InstructionBlock("").remove(file.text, None)) != file.text:
                        file = replace(file, data=text.encode(), text=text)
                        if not text[split_head(text).body_start :].strip():
                            tree.leave(path, "it has only the lines that mcp-memory put in")
                            continue
                yield file

    def _read(self, path: str) -> SourceFile:
        folder, name = split(path)
        with (
            opened_root(self.root) as root,
            opened_folder(root, folder) as parent,
            opened_file(parent, name, path) as (descriptor, found),
        ):
            data = read_stable(NotePath(path), descriptor, found, self._most_bytes).data
        decoded = decode(data)
        if decoded.text is None or decoded.problem:
            raise UnicodeError(decoded.problem)
        return SourceFile(path, data, decoded.text, found.st_mtime)

    def _visit(self, found: SourceTree, folder: int, prefix: str, depth: int, wanted: Callable[[str], bool]) -> None:
        names: list[str] = []
        with found.leaving(prefix or ".", "folder not readable"), os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            path = prefix + name
            if name.startswith(".") and not self._everything:
                continue
            if fault := unnameable(name):
                found.leave(path, fault)
                continue
            with found.leaving(path):
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    if wanted(path):
                        self._enter(found, folder, path, depth + 1, wanted)
                elif not stat.S_ISREG(mode):
                    found.leave(path, f"it is {kind(mode)}: never followed")
                elif is_markdown(name) or self._everything:
                    found.notes.append(path)
                else:
                    found.leave(path, "no Markdown")

    def _enter(self, found: SourceTree, parent: int, path: str, depth: int, wanted: Callable[[str], bool]) -> None:
        name = split(path)[1]
        if name in SKIPPED_FOLDERS or depth >= MAX_DEPTH:
            found.leave(path, "never looked into" if name in SKIPPED_FOLDERS else f"more than {MAX_DEPTH} folders deep")
            return
        with found.leaving(path, "folder not readable"):
            child = open_child(parent, name, path)
            try:
                if any(os.path.samestat(os.fstat(child), apart) for apart in self._apart):
                    found.leave(path, "it is the vault itself")
                else:
                    self._visit(found, child, path + "/", depth, wanted)
            finally:
                os.close(child)


def list_files(folder: SourceFolder, roots: Iterable[str], wanted: Collection[str]) -> tuple[str, SourceTree]:
    """Find the first of `roots` below which `folder` has matching files. Return that root with the files. Raises
    StorageFailed."""

    def is_wanted(path: str) -> bool:
        return any(fnmatchcase(path, pattern) for pattern in wanted)

    def leads_to_wanted(path: str) -> bool:
        return any(all(map(fnmatchcase, path.split("/"), pattern.split("/")[:-1])) for pattern in wanted)

    above, tree = "", SourceTree()
    for above in roots:
        tree = folder.tree(lambda path, above=above: leads_to_wanted(above + path))
        tree.notes = [path for path in tree.notes if is_wanted(above + path)]
        tree.left_out = [item for item in tree.left_out if is_wanted(above + item.path)]
        if tree.notes:
            break
    return above, tree


def project_in(folder: str, project_of: ProjectOf) -> str | None:
    """Return the project of a folder that a source names. Outside of all repositories, the folder's own name is the
    project, except for your home folder."""
    is_home = Path(folder) == Path.home()
    return project_of(folder) or (None if is_home else PurePosixPath(folder).name or None)
