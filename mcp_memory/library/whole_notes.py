"""The methods of `Memory` that read, delete, dump and load whole notes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_memory.errors import InvalidInput, McpMemoryError, StorageFailed
from mcp_memory.models import Etag, NoteId, NotePath, NoteState, SearchResult, tag_name, tag_names
from mcp_memory.storage import open_storage
from mcp_memory.text.markdown import frontmatter, logs
from mcp_memory.vault.note_file import is_memory

if TYPE_CHECKING:
    from mcp_memory.transfer.formats.jsonl import ExportedFile
    from mcp_memory.transfer.item import SkippedItem

BATCH_NOTES = 100


@dataclass(frozen=True)
class WholeNote:
    """A note or log entry: its `text` without the head, and the head's `properties`. `score`: set by a search."""

    id: NoteId
    path: NotePath
    text: str
    properties: Mapping[str, Any]
    etag: Etag
    score: float | None = None


@dataclass(frozen=True)
class DeletedNotes:
    """The notes that were deleted. `left`: the paths of notes that stay, such as your own, each with the reason."""

    deleted: Sequence[NoteId] = ()
    left: Mapping[NotePath, str] = field(default_factory=dict[NotePath, str])


class WholeNotes(ABC):
    """The methods for whole notes. Each raises errors of `mcp_memory.errors`."""

    @abstractmethod
    def _ask(self, operation: str, **arguments: object) -> Mapping[str, Any]: ...

    @abstractmethod
    def search(self, query: str, *, limit: int = 6) -> SearchResult: ...

    @property
    @abstractmethod
    def _vault(self) -> Path: ...

    def get(self, target: str) -> WholeNote:
        """Return a note or log entry, by its id or path. Raises NotFound."""
        found = self._ask("update", target=target)
        return _whole(found["path"], found["text"], found["etag"], found["entry"])

    def get_all(
        self,
        *,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] = (),
        project: str | None = None,
        path: str = "",
    ) -> list[WholeNote]:
        """Return the active notes, ordered by path: of these kinds, with all these tags, of this project, in this
        folder. Daily logs, `MEMORY.md` and pages are excluded."""
        return [
            _whole(NotePath(file.path), file.data.decode("utf-8", "replace"), facts["etag"], None)
            for file, facts in self._files()
            if facts["shelf"] == NoteState.ACTIVE
            and not logs.is_log_path(file.path)
            and not is_memory(file.path)
            and (kinds is None or facts["kind"] in kinds)
            and frozenset(map(tag_name, tags)) <= tag_names(facts["tags"])
            and project in (None, facts["project"])
            and f"{file.path}/".startswith(f"{path.rstrip('/')}/" if path else "")
        ]

    def find(self, query: str, *, top_k: int = 6) -> list[WholeNote]:
        """Return the notes with the best answers, whole and without duplicates, the best first. `search` returns
        passages."""
        best: dict[str, float] = {}
        for hit in self.search(query, limit=top_k).hits:
            best.setdefault(hit.id, hit.score)
        return [replace(self.get(note_id), score=score) for note_id, score in best.items()]

    def delete(self, target: str, *, reason: str | None = None) -> NoteId:
        """Take a note out of every answer, as `forget` does: its file stays, and `restore` brings it back."""
        return self._ask("forget", target=target, reason=reason)["id"]

    def delete_all(
        self,
        *,
        confirm: bool = False,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] = (),
        project: str | None = None,
        path: str = "",
    ) -> DeletedNotes:
        """Delete each note of `get_all`, as `delete` does. Raises InvalidInput without `confirm=True`."""
        notes = self.get_all(kinds=kinds, tags=tags, project=project, path=path)
        if confirm is not True:
            raise InvalidInput(f"{len(notes)} notes would be deleted", hint="pass confirm=True; restore undoes it")
        deleted: list[NoteId] = []
        left: dict[NotePath, str] = {}
        for note in notes:
            try:
                deleted.append(self.delete(note.id, reason="delete_all"))
            except McpMemoryError as error:
                left[note.path] = error.message
        return DeletedNotes(deleted, left)

    def drop(self, file: str | Path) -> DeletedNotes:
        """Write all notes to a new JSONL file, then delete each as `delete_all` does; `load` brings them back."""
        self.dump(file)
        return self.delete_all(confirm=True)

    def dump(self, file: str | Path) -> int:
        """Write all notes that aren't forgotten to a new JSONL file, as `mcp-memory export` does. Return their
        number."""
        from mcp_memory.transfer.formats import jsonl

        number = 0
        with Path(file).open("xb") as out:
            for note, facts in self._files():
                out.write(jsonl.line(note, {key: value for key, value in facts.items() if key not in {"path", "etag"}}))
                number += 1
        return number

    def load(self, file: str | Path) -> Mapping[str, int]:
        """Restore the notes of a dump to their own paths, byte for byte, also those that were deleted since.

        Overwrites nothing. Returns the number of notes that were `new`, `unchanged`, `restored` and so on. Raises
        InvalidInput for a damaged line, before anything is stored."""
        from mcp_memory.transfer.formats import jsonl

        damaged: list[SkippedItem] = []
        notes = list(jsonl.files(Path(file), damaged))
        if damaged:
            raise InvalidInput(
                f"{file}: {damaged[0].path}: {damaged[0].why}", hint="mend the file, or take the line out"
            )
        deeds = Counter[str]()
        for at in range(0, len(notes), BATCH_NOTES):
            batch = notes[at : at + BATCH_NOTES]
            deeds.update(
                self._bring_back(note) if deed == "forgotten" else deed
                for note, deed in zip(batch, self._put(batch), strict=True)
            )
        return dict(deeds)

    def _put(self, notes: Sequence[ExportedFile]) -> list[str]:
        """Store the notes, and return the outcome for each."""
        items = [{"path": note.path, "data": b64encode(note.data).decode()} for note in notes]
        return [taken["deed"] for taken in self._ask("import", items=items)["taken"]]

    def _bring_back(self, note: ExportedFile) -> str:
        """Restore a deleted note, byte for byte as in the dump unless it was changed before it was deleted."""
        try:
            self._ask("restore", target=note.path)
        except McpMemoryError:  # not from this vault
            return "forgotten"
        (deed,) = self._put([note])
        return "restored" if deed == "unchanged" else deed

    def _files(self) -> Iterator[tuple[ExportedFile, Mapping[str, Any]]]:
        """Yield all files of the vault without forgotten text, each with its facts from the index. Raises
        StorageFailed for a file that can't be read."""
        from mcp_memory.transfer.formats import jsonl

        left_out: list[SkippedItem] = []
        storage = open_storage(self._vault, read_only=True)
        yield from jsonl.exported(lambda after: self._ask("export", after=after), storage, left_out)
        for item in left_out:
            if (self._vault / item.path).exists():  # it wasn't removed since
                raise StorageFailed(f"{item.path}: {item.why}")


def _whole(path: NotePath, text: str, etag: Etag, entry: str | None) -> WholeNote:
    document = frontmatter.parse(text)
    note_id = f"{path}#{entry}" if entry else str(document.meta.get("id") or f"path:{path}")
    return WholeNote(NoteId(note_id), path, document.body.strip("\r\n"), document.meta, etag)
