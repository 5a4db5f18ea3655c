"""Find the project of a folder, and list, merge and split the projects of a vault."""

import os
from collections.abc import Callable, Collection
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from mcp_memory.errors import ConfigInvalid, InvalidInput, NotFound, PreconditionFailed, Refused, StorageFailed
from mcp_memory.integrations import text_file
from mcp_memory.models import SESSION, is_channel
from mcp_memory.projects.matching import NearMatch, find_project, learn, namesakes, near_matches, new_project
from mcp_memory.projects.project_book import FILE, Project, ProjectBook
from mcp_memory.projects.repository_facts import MAX_LABEL_CHARS, RepositoryFacts, find_repository_facts
from mcp_memory.text.text_hash import text_hash
from mcp_memory.vault.marker import MARKER

if TYPE_CHECKING:  # each search in a shell reads the list
    from mcp_memory.projects.session_grants import SessionGrants

MOST_TRIES = 5
"""The tries of a change of the file that other programs change at the same moment."""

MOST_SEEN = 1000

LATE_S = 60.0
"""The seconds until git is asked again about a repository after it was too slow."""


class Projects:
    """The projects of a vault. `labels_in_use`: the projects named in notes. Unless it `writes`, it keeps newly learned
    facts to itself. Thread-safe."""

    def __init__(
        self, vault: Path, labels_in_use: Callable[[], Collection[str]] = tuple, *, writes: bool = True
    ) -> None:
        self._vault = vault.resolve()
        self._file = self._vault / FILE
        self._labels_in_use = labels_in_use
        self._writes = writes
        self._lock = Lock()
        self._book = ProjectBook()
        self.problem: str | None = None
        self.listeners: list[Callable[[str, str], None]] = []
        """Called with a project and a folder of it in which somebody works."""
        self.grants: SessionGrants | None = None
        """What is shared with sessions, if they are kept apart."""
        self.is_git_late = False
        """Whether git was too slow to identify a repository."""
        self._late_until = 0.0
        self._signature: tuple[int, ...] | None = None
        self._seen: dict[tuple[RepositoryFacts, tuple[int, int]], RepositoryFacts] = {}

    def of_session(self, session: str | None, project: str | None = None) -> str | None:
        """Return the project of a session that is kept apart. None for any other session, for all projects (`*`), and
        in a conversation with others, whose `project` is its own already."""
        if not (self.grants and session) or project == "*" or is_channel(project):
            return None
        name = f"{SESSION}{session}"
        return name if len(name) <= MAX_LABEL_CHARS else f"{SESSION}{text_hash(session)}"

    def label_of(self, folder: str, session: str | None = None) -> str | None:
        """Return the label of the project that a folder belongs to, or belonged to before it was moved or removed. A
        new project is remembered. A `session` that is kept apart has its own. None outside of all repositories. Raises
        ConfigInvalid if the file can't be used."""
        if own := self.of_session(session):
            return own
        facts = self._facts_of(folder)
        if facts is None:
            has_gone = folder.startswith("/") and "\0" not in folder and not os.path.lexists(folder)
            return self.book().label_at(folder) if has_gone else None
        book = self.book()
        found = find_project(facts, book.projects, _is_gone)
        is_known = False
        if found and facts.folder in found.folders:
            is_known = facts.origin in book.origins if facts.origin else found.first_commits or not facts.first_commits
        if facts.was_git_late:
            return self._without_git(facts, book, found).label
        return found.label if found and is_known else self._remember(facts).label

    def names_of(self, name: str) -> tuple[str, frozenset[str]]:
        """Return the label and the aliases of the project with this name; the name itself if there is none."""
        found = self.book().named(name)
        return (found.label, found.names - {found.label}) if found else (name, frozenset())

    @property
    def names_in_use(self) -> frozenset[str]:
        """Return the names of all projects in the list or in notes."""
        return self.book().names.union(self._labels_in_use())

    def label_named(self, name: str | None) -> str | None:
        """Return the label that `names_of` finds; None for no project, and for all projects."""
        name = (name or "").strip()
        return self.names_of(name)[0] if name and name != "*" else None

    def book(self) -> ProjectBook:
        """Read the file again if it has changed. If it can't be used, return its last good state; `problem` has the
        reason. Raises ConfigInvalid if there is no such state, Refused, StorageFailed."""
        try:
            found = self._file.stat()
        except OSError:
            if self._signature is not None and self._is_vault_there:  # you deleted it
                self._book, self._signature = ProjectBook(), None
            return self._book
        signature = (found.st_mtime_ns, found.st_size, found.st_ino)
        if signature != self._signature:
            try:
                self._book = ProjectBook.parse(text_file.read_text(self._file))
            except ConfigInvalid as error:
                self.problem = error.message
                if self._signature is None:
                    raise
            else:
                self._signature, self.problem = signature, None
        return self._book

    def near_matches(self, loose: Collection[str] = ()) -> list[NearMatch]:
        """Return projects that may be one. Reads their repositories. `loose`: the projects that only notes name."""
        projects = self.book().projects
        seen = [
            (one.label, facts)
            for one in projects
            for folder in one.folders  # another repository may be there now
            if (facts := self._facts_of(folder)) and find_project(facts, projects, _is_gone) == one
        ]
        return [*near_matches(projects, seen), *namesakes(projects, loose)]

    def merge(self, name: str, into: str) -> Project:
        """Make two projects one. No note is rewritten: the name of the first project becomes an alias. Raises
        NotFound."""

        def change(book: ProjectBook) -> tuple[ProjectBook, Project]:
            one, other = book.named(name) or Project(name), book.named(into) or Project(into)
            used = {*book.names, *self._labels_in_use()}
            if unknown := [label for label in (name, into) if label not in used]:
                raise NotFound(f"no project is called {unknown[0]!r}", hint="mcp-memory projects lists them")
            if one.label == other.label:
                raise InvalidInput(f"{name!r} and {into!r} are one project already")
            merged = other.joined(one).joined(Project(other.label, aliases=(one.label,)))
            return book.with_project(merged, without=[one.label]), merged

        return self._change(change)

    def split(self, name: str, folder: str) -> Project:
        """Make a project's repository a project of its own. No note moves, as nobody knows which notes are from it.
        Raises NotFound, InvalidInput."""
        facts = self._facts_of(folder)
        if facts is None:
            raise NotFound(f"{folder} is in no repository that can be a project", hint="name a repository's folder")

        def change(book: ProjectBook) -> tuple[ProjectBook, Project]:
            old = book.named(name)
            if old is None:
                raise NotFound(f"no project is called {name!r}", hint="mcp-memory projects lists them")
            if len(old.folders) < 2 and old.folders == (facts.folder,):
                raise InvalidInput(f"{folder} is the only repository of {old.label!r}", hint="nothing is to be split")
            rest = Project(
                old.label, old.origins, old.first_commits,
                tuple(one for one in old.folders if one != facts.folder), old.aliases,
            )  # fmt: skip
            without = book.with_project(rest)
            own = new_project(facts, without, ())
            return without.with_project(own), own

        return self._change(change)

    def _without_git(self, facts: RepositoryFacts, book: ProjectBook, found: Project | None = None) -> Project:
        """Return the project that was found without git's answer, else the folder's earlier project, else a project
        that is not remembered."""
        import logging  # here, because each search in a shell reads the list

        if not self.is_git_late:  # a command warns about it itself
            logging.getLogger(__name__).info("git is too slow: projects are found by their folders alone")
        self.is_git_late, self._late_until = True, monotonic() + LATE_S
        before = (project for project in book.projects if facts.folder in project.folders)
        return found or next(before, None) or new_project(facts, book, frozenset(self._labels_in_use()))

    def _remember(self, facts: RepositoryFacts) -> Project:
        in_use = frozenset(self._labels_in_use())
        facts.first_commits  # noqa: B018 -- asks git before the lock is taken
        if facts.was_git_late:
            return self._without_git(facts, self.book())

        def change(book: ProjectBook) -> tuple[ProjectBook, Project]:
            found = find_project(facts, book.projects, _is_gone)
            project = learn(facts, found, book, in_use) if found else new_project(facts, book, in_use)
            return book if project == found else book.with_project(project), project

        try:
            return self._change(change)
        except (StorageFailed, Refused):  # it lasts as long as we run
            with self._lock:
                self._book, project = change(self.book())
            return project

    def _change(self, change: Callable[[ProjectBook], tuple[ProjectBook, Project]]) -> Project:
        with self._lock:
            for tries_left in reversed(range(MOST_TRIES)):
                old = text_file.read(self._file)
                before = self._book if old is None else ProjectBook.parse(text_file.decode(old))
                book, project = change(before)
                try:
                    if book != before or old is None:
                        self._write(old, book)
                except PreconditionFailed:
                    if not tries_left:
                        raise
                else:
                    self._book, self._signature = book, ()
                    return project
        raise AssertionError("the loop returns or raises")

    def _write(self, old: bytes | None, book: ProjectBook) -> None:
        """Write the list. Raises PreconditionFailed, StorageFailed."""
        if not (self._writes and self._is_vault_there):
            raise StorageFailed("the vault is not there", hint="mount the disk or finish the sync")
        text_file.replace(self._file, old, book.text.encode())

    @property
    def _is_vault_there(self) -> bool:
        return os.path.isfile(self._vault / MARKER)

    def _facts_of(self, folder: str) -> RepositoryFacts | None:
        """Return the facts of a folder's repository, with git's earlier answers for the same repository."""
        facts = find_repository_facts(folder, str(self._vault))
        if facts is None:
            return None
        if len(self._seen) > MOST_SEEN:
            self._seen.clear()
        known = self._seen.get((facts, facts.age))
        is_asked_again = known is not None and known.was_git_late and monotonic() >= self._late_until
        if known is None or known.had_no_commit or is_asked_again:
            known = self._seen[facts, facts.age] = facts
        return known


def _is_gone(folder: str) -> bool:
    """Return whether the repository is gone; a work tree of a repository that moved may still be there."""
    found = find_repository_facts(folder)
    return found is None or found.folder != folder
