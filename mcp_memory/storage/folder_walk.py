"""Walk folders of any depth."""

import os
from collections.abc import Iterator


def walk(root: str | os.PathLike[str]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each folder from `root` down, with the names of its folders and files, as `os.walk` does. Below some 1,000
    folders, `os.walk` fails with RecursionError before Python 3.12.

    A folder that is removed from the list isn't entered, a link isn't followed, and a folder that can't be read is
    skipped."""
    waiting = [os.fspath(root)]
    while waiting:
        folder = waiting.pop()
        folders, files, links = list[str](), list[str](), set[str]()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.is_dir():
                        files.append(entry.name)
                        continue
                    folders.append(entry.name)
                    if entry.is_symlink():
                        links.add(entry.name)
        except OSError:
            continue
        yield folder, folders, files
        waiting += [f"{folder.rstrip('/')}/{name}" for name in reversed(folders) if name not in links]
