"""Finds a program's notes among its other files, and the projects that they belong to."""

from collections.abc import Callable, Collection, Iterable
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from mcp_memory.transfer.formats.folder import SourceFolder, SourceTree


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


def project_in(folder: str, project_of: Callable[[str], str | None]) -> str | None:
    """Return the project of a folder that a source names. Outside of all repositories, the folder's own name is the
    project, except for your home folder."""
    is_home = Path(folder) == Path.home()
    return project_of(folder) or (None if is_home else PurePosixPath(folder).name or None)
