"""Writes the file that leads a browser to a link: other users of the machine can read a browser's command line, but not
this file."""

from pathlib import Path

from mcp_memory.runtime.private_files import naming_the_cause, replace_file
from mcp_memory.text.text_hash import text_hash

_HTML = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={0}"><a href="{0}">Open</a>\n'


class LinkFiles:
    """The files of links that still work, in a private folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, url: str) -> Path:
        """Return a file, readable by its owner only, that leads to the URL. Raises StorageFailed."""
        file = self._file(url)
        with naming_the_cause(str(file)):
            replace_file(file, _HTML.format(url).encode())
        return file

    def remove(self, url: str) -> None:
        """Remove the file of this link, which may be gone."""
        self._file(url).unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Remove what earlier daemons left."""
        for file in self._folder.glob("*.html"):
            file.unlink(missing_ok=True)

    def _file(self, url: str) -> Path:
        return self._folder / f"{text_hash(url.partition('=')[2], 16)}.html"
