"""Collects the files of a shared topic and turns links that lead out of it into text."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from mcp_memory.errors import McpMemoryError
from mcp_memory.models import Etag, NotePath, NoteState, PrivateMarks, etag_of
from mcp_memory.text.markdown.links import Link, find_links, relative_link, resolve
from mcp_memory.text.secrets.finder import find_secret
from mcp_memory.topics.page import MAP, PAGE
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import sources_of

_ELSEWHERE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.\-]*:|//")


@dataclass(frozen=True)
class SharedPaths:
    """Paths in the vault → paths in the share."""

    shared: Mapping[str, str]

    @cached_property
    def folders(self) -> set[str]:
        """Folders in the share that hold a file."""
        return {posixpath.dirname(path) for path in self.shared.values()}

    @cached_property
    def stems(self) -> set[str]:
        """Names that a wikilink may use for the shared files."""
        return {posixpath.basename(path).removesuffix(".md").casefold() for path in self.shared.values()}


def rewrite_links(text: str, body_start: int, path: str, places: SharedPaths) -> tuple[str, int]:
    """Return the shared text of the note at `path` in the vault, and how many of its links became plain text because
    they lead out. Links to the web stay."""
    cut = 0
    while edits := list(_edits(text, body_start, path, places)):
        for start, end, replacement, is_cut in reversed(edits):
            text = text[:start] + replacement + text[end:]
            cut += is_cut
    return text, cut


def _edits(text: str, body_start: int, path: str, places: SharedPaths) -> Iterator[tuple[int, int, str, bool]]:
    """Yield the start, the end and the text of each replacement, and whether it cuts a link. No replacement lies within
    another."""
    done = body_start
    for link in find_links(text, body_start):
        if link.start < done:
            continue  # an image in a link's label: its turn comes after that link
        if link.kind == "wiki":
            if not _is_named(link.target, places):
                yield link.start, link.end, link.label or _stem(link.target), True
                done = link.end
            continue
        if _ELSEWHERE.match(link.target) or link.target.startswith("#"):
            continue
        target = resolve(link.target, path)
        inside = places.shared.get(target) if target else None
        here = places.shared[path]
        if inside is None:
            if target and resolve(link.target, here) in places.folders:
                continue
            yield link.start, link.end, _plain(text, link), True
            done = link.end
        elif resolve(link.target, here) != inside:
            _, mark, heading = link.target.partition("#")
            yield link.target_start, link.target_end, relative_link(here, inside) + mark + heading, False
            done = link.end


def _plain(text: str, link: Link) -> str:
    """Return the part of the link that a reader sees; empty for a link's definition."""
    opened = link.start + (2 if text[link.start] == "!" else 1)
    if text.startswith("]:", opened + len(link.label)):
        return ""
    return link.label.strip() or _stem(link.target)


def _is_named(target: str, places: SharedPaths) -> bool:
    name = target.partition("#")[0]
    return not name or _stem(name).casefold() in places.stems


def _stem(target: str) -> str:
    return posixpath.basename(target.partition("#")[0]).removesuffix(".md")


@dataclass(frozen=True)
class ShareBundle:
    """The files of a shared topic: path in the share → text. `vault` is the vault's id. `page` is the id of the topic's
    page, which it keeps when it moves. `left_out`: path in the vault → why. `cut`: how many links became plain text.
    `warnings`: lines about what is shared and perhaps should not be, and about what isn't, unless you decided that."""

    vault: str
    topic: str
    page: str | None
    files: Mapping[str, str]
    left_out: Mapping[str, str]
    cut: int
    warnings: Sequence[str] = ()

    @property
    def etags(self) -> dict[str, Etag]:
        return {path: etag_of(text.encode()) for path, text in self.files.items()}


_WHY = {
    NoteState.DELETED: "forgotten",
    NoteState.ARCHIVED: "archived or superseded",
    NoteState.REPLACED: "superseded",
    NoteState.INBOX: "awaits review",
    NoteState.ASIDE: "it is a conflict copy or a template",
}


def build_bundle(vault: Vault, topic: Topic, private: PrivateMarks) -> ShareBundle:
    """Collect notes that are active and not private, and pages made only from such notes. For a worker thread. Raises
    StorageFailed."""
    files, left_out = _files(vault, topic, private)
    warnings = [f"{path} seems to hold a secret ({found})" for path, file in files.items()
                if vault.secrets_allowed and (found := find_secret(file.text))]  # fmt: skip
    warnings += [f"{path}: {why}" for path, why in left_out.items() if why not in {*_WHY.values(), "expired"}]
    inside = f"{topic.folder}/"  # a note elsewhere keeps its path below the managed folder
    places = SharedPaths({p: p.removeprefix(inside) if p.startswith(inside) else vault.layout.below_home(p) or p
                          for p in files})  # fmt: skip
    shared, cut = dict[str, str](), 0
    for path, file in sorted(files.items()):
        shared[places.shared[path]], count = rewrite_links(file.text, file.body_start, path, places)
        cut += count
    page = topic.page.id if topic.page else None
    return ShareBundle(vault.marker.id, topic.folder, page, shared, left_out, cut, warnings)


def _files(vault: Vault, topic: Topic, private: PrivateMarks) -> tuple[dict[NotePath, NoteFile], dict[str, str]]:
    """Return the files to share, and why the others aren't shared."""
    files: dict[NotePath, NoteFile] = {}
    left_out, shared = dict[str, str](), set[str]()
    pages = [below.page_path for below in topic.walk() if below.page]  # the deepest first: they are sources of others
    counted = {*(note.path for note in topic.all_notes), *pages}
    inside = {path for path in vault.list().files if path.startswith(f"{topic.folder}/")}
    notes = (path for path in sorted({*inside, *counted} - {*pages}) if path.rpartition("/")[2] not in {PAGE, MAP})
    for path in [*notes, *pages]:
        read = _read(vault, path, private, counted=path in counted)
        if path in pages and isinstance(read, NoteFile) and not shared.issuperset(sources_of(read.text)):
            read = "it is about notes that aren't shared: mcp-memory topics compact renews it"
        if isinstance(read, str):
            left_out[path] = read
        else:
            files[path] = read
            shared.add(read.record.id)
    return files, left_out


def _read(vault: Vault, path: NotePath, private: PrivateMarks, *, counted: bool) -> NoteFile | str:
    """Return the file, or why it isn't shared."""
    try:
        file = vault.read(path)
    except McpMemoryError as error:
        return error.message
    if why := _WHY.get(file.record.state):
        return why
    if private.cover(file.record):
        return "private"
    if not counted:
        return "expired"
    if etag_of(file.text.encode("utf-8", "surrogatepass")) != file.record.etag:
        return file.record.problem or "it is not plain UTF-8"
    if not vault.secrets_allowed and (found := find_secret(file.text)):
        return f"it seems to hold a secret ({found})"
    return file
