"""A parcel: all that is shared of a topic, ready to be written somewhere, and what is not. Reads the vault alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_memory.errors import McpMemoryError, NotFound
from mcp_memory.models import NotePath, NoteState
from mcp_memory.text.secrets.finder import find_secret
from mcp_memory.topics.page import MAP, PAGE, etag_of
from mcp_memory.topics.topic_tree import Topic
from mcp_memory.transfer.share.link_scrubber import SharedPaths, contained
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.vault import Vault
from mcp_memory.vault.withheld_pages import sources_of


@dataclass(frozen=True, slots=True)
class SharedFile:
    """`path` is that in the share, `source` that in the vault; `verbatim`: its bytes are those of the vault's file."""

    path: str
    source: str
    text: str
    verbatim: bool


@dataclass(frozen=True, slots=True)
class UnsharedNote:
    """`is_warning`: a person should know, for it is not by their own doing."""

    path: str
    why: str
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class ShareBundle:
    """`vault` is the vault's id; `page` that of the topic's page, which it keeps when it moves. `cut`: so many links
    lead out and became plain text. `warnings`: a line each of what is shared and perhaps should not be."""

    vault: str
    topic: str
    page: str | None
    title: str
    files: Sequence[SharedFile]
    left_out: Sequence[UnsharedNote]
    cut: int
    warnings: Sequence[str] = ()

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> ShareBundle:
        """The inverse of `dataclasses.asdict`."""
        lists: dict[str, Any] = {
            "files": [SharedFile(**each) for each in value["files"]],
            "left_out": [UnsharedNote(**each) for each in value["left_out"]],
        }
        return ShareBundle(**{**value, **lists})


def topic_named(target: str, tree: Iterable[Topic], root: str) -> Topic:
    """By its folder, with `topics/` before it or without, or by its page. Raises NotFound."""
    plain = target.strip().removeprefix("./").rstrip("/")
    for topic in (each for top in tree for each in top.walk()):
        names = {topic.folder, topic.folder.removeprefix(f"{root}/"), topic.page_path}
        if plain in names or (topic.page and plain == topic.page.id):
            return topic
    raise NotFound(f"no topic {target[:100]!r}", hint="mcp-memory tree draws them; name one by its folder")


def parcel_of(vault: Vault, vault_id: str, topic: Topic) -> ShareBundle:
    """Notes that count, and pages that tell of nothing else. Reads files: for a worker thread. Raises StorageFailed."""
    files, left = _files(vault, topic)
    warnings = [f"{path} seems to hold a secret ({found})" for path, file in files.items()
                if vault.secrets_allowed and (found := find_secret(file.text))]  # fmt: skip
    start = len(topic.folder) + 1
    places = SharedPaths({path: path[start:] for path in files})
    shared: list[SharedFile] = []
    cut = 0
    for path, file in sorted(files.items()):
        text, so_many = contained(file.text, file.body_start, path, places)
        cut += so_many
        shared.append(SharedFile(path[start:], path, text, text == file.text))
    page = topic.page.id if topic.page else None
    return ShareBundle(vault_id, topic.folder, page, topic.title, shared, left, cut, warnings)


def _files(vault: Vault, topic: Topic) -> tuple[dict[NotePath, NoteFile], list[UnsharedNote]]:
    files: dict[NotePath, NoteFile] = {}
    left: list[UnsharedNote] = []
    counted = {note.path for each in topic.walk() for note in each.leaves}
    pages = {each.page_path: each for each in topic.walk() if each.page}
    for path in sorted(path for path in vault.list().files if path.startswith(f"{topic.folder}/")):
        if path in pages or path.rpartition("/")[2] in {PAGE, MAP}:
            continue
        read = _read(vault, path, counted=path in counted)
        if isinstance(read, UnsharedNote):
            left.append(read)
        else:
            files[path] = read
    told = {file.record.id for file in files.values()}
    for path in pages:  # the deepest first: a page is made from those below it
        read = _read(vault, path, counted=True)
        if isinstance(read, NoteFile) and not told.issuperset(sources_of(read.text)):
            read = UnsharedNote(path, "it tells of notes that are not shared: mcp-memory compact makes it anew", True)
        if isinstance(read, UnsharedNote):
            left.append(read)
        else:
            files[path] = read
            told.add(read.record.id)
    return files, left


_WHY = {NoteState.DELETED: "forgotten", NoteState.ARCHIVED: "archived or superseded", NoteState.INBOX: "awaits review"}


def _read(vault: Vault, path: NotePath, *, counted: bool) -> NoteFile | UnsharedNote:
    try:
        file = vault.read(path)
    except McpMemoryError as error:
        return UnsharedNote(path, error.message, True)
    if why := _WHY.get(file.record.state):
        return UnsharedNote(path, why)
    if not counted:
        return UnsharedNote(path, "expired")
    if etag_of(file.text.encode("utf-8", "surrogatepass")) != file.record.etag:
        return UnsharedNote(path, file.record.problem or "it is no plain UTF-8", True)
    if not vault.secrets_allowed and (found := find_secret(file.text)):
        return UnsharedNote(path, f"it seems to hold a secret ({found})", True)
    return file
