"""Reads and writes `_sessions.json` in the managed folder: the topics that you share with sessions that are kept apart.
You may edit it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mcp_memory.errors import ConfigInvalid, McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.integrations import text_file
from mcp_memory.models import NoteId, NotePath, NoteState
from mcp_memory.runtime.health import Finding
from mcp_memory.vault.vault import Vault

SESSIONS_FILE = "_sessions.json"


class SessionGrant(NamedTuple):
    """A session sees the topic in this folder. `page`: the id of the topic's page, by which it is found after it has
    moved."""

    session: str
    topic: str
    page: str = ""


def parse_grants(data: bytes | None) -> list[SessionGrant]:
    """Parse the file. Raises ConfigInvalid."""
    try:
        grants = [SessionGrant(**one) for one in json.loads(data or "[]")]
        if {type(value) for grant in grants for value in grant} - {str}:
            raise TypeError
    except (ValueError, TypeError, RecursionError) as error:
        what = f"{SESSIONS_FILE} can't be used, so no topic is shared with a session"
        raise ConfigInvalid(what, hint="correct it in an editor, or delete it") from error
    return grants


@dataclass(frozen=True)
class SessionGrants:
    """The topics that each session gets besides its own notes. Synchronous."""

    vault: Vault
    index: Index

    @property
    def path(self) -> NotePath:
        """The file's path in the vault."""
        return self.vault.layout.in_home(SESSIONS_FILE)

    def read(self) -> list[SessionGrant]:
        """Return the grants, with the present folders of the topics. Raises ConfigInvalid, Refused, StorageFailed."""
        return list(self._present(text_file.read(self._file)))

    def places_for(self, session: str | None) -> frozenset[str]:
        """Return the folders of a session's topics, and the notes elsewhere that the topics' pages were made from; none
        if the file can't be used, which `findings` reports."""
        places = set[str]()
        with suppress(McpMemoryError):
            places.update(grant.topic for grant in self.read() if grant.session == session)
        for folder in tuple(places):
            places.update(note.path for note in self.index.sources(self.index.pages(folder)))
        return frozenset(places)

    def change(self, grant: SessionGrant, *, revoke: bool) -> list[SessionGrant]:
        """Add a grant, or remove it, and return all. Raises PreconditionFailed if another program writes the file at
        the same moment, and the errors of `read`."""
        notes, old = self.vault.filing.notes, text_file.read(self._file)
        notes.require_vault()
        others = [one for one in self._present(old) if one[:2] != grant[:2]]
        after = others if revoke else [*others, grant]
        text = json.dumps([one._asdict() for one in after], indent=2, ensure_ascii=False)
        text_file.replace(self._file, old, f"{text}\n".encode())
        notes.on_write(self.path)
        return after

    def findings(self) -> Sequence[Finding]:
        """Return why the file can't be used."""
        try:
            self.read()
        except McpMemoryError as error:
            return [Finding("warning", error.message, error.hint or "")]
        return ()

    @property
    def _file(self) -> Path:
        return self.vault.roots()[""] / self.path

    def _present(self, data: bytes | None) -> Iterator[SessionGrant]:
        for grant in parse_grants(data):
            pages = self.index.note_by_id(NoteId(grant.page)) if grant.page else ()
            folders = (page.folder for page in pages if page.state is NoteState.SUMMARY)
            if folder := next(folders, grant.topic.strip("/")):
                yield grant._replace(topic=folder)
