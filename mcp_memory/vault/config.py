"""Sections `[vault]` and `[kinds]`, and the folders for notes of each kind. Standard library only: `settings` imports
it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from mcp_memory.constants import constant
from mcp_memory.errors import ConfigInvalid, InvalidInput
from mcp_memory.runtime.paths import DEFAULT_VAULT

TRANSCRIPTS = "transcripts"
"""The read-only source that holds captured sessions: `@transcripts/…`."""
CHATS = "chats"
"""The folder in the state folder for the transcripts of `mcp-memory chat`."""


@dataclass(frozen=True)
class VaultConfig:
    """Section `[vault]`."""

    path: str = DEFAULT_VAULT
    storage: str = "filesystem"  # a name in the registry of `storage`
    sources: Mapping[str, str] = field(default_factory=dict[str, str])  # name → folder, read-only as `@name/…`
    secrets: Literal["refuse", "allow"] = "refuse"
    # the part that is read of a larger file, which is reported and which no tool changes
    max_note_bytes: int = 8_000_000
    write_deadline_s: float = constant(10.0)  # then append answers `unknown`: clients give up after 30 to 60 s
    undo_days: int = 30  # days with edits for which `mcp-memory undo` has the earlier bytes


@dataclass(frozen=True)
class KindConfig:
    """The table `[kinds.<name>]`: the folder of this kind's notes and how long they stay active."""

    folder: str = ""  # below the managed folder; empty = the shipped kind's, else `notes/<kind>`
    ttl_days: int = 0  # 0 = for ever
    about: str = ""  # one line that tells agents when to use it; empty = the shipped kind's


SHIPPED_KINDS: Mapping[str, KindConfig] = {
    "note": KindConfig("topics/_fresh", about="what fits no other kind"),
    "log": KindConfig("memory", about="what happened today"),
    "preference": KindConfig(about="how the person wants it"),
    "fact": KindConfig(about="true of the person, project or world"),
    "decision": KindConfig(about="what was decided, and why"),
    "workflow": KindConfig(about="how a recurring task is done"),
    "fix": KindConfig(about="an error and what solved it"),
    "lesson": KindConfig(about="what to do differently"),
    "reference": KindConfig(about="links, paths, names, commands"),
    "idea": KindConfig(about="to try later"),
    "skill": KindConfig(about="a procedure, step by step"),
    "task": KindConfig(ttl_days=7, about="in progress; counts for 7 days"),
    "agent": KindConfig(ttl_days=30, about="an agent's state; for 30 days"),
    "commitment": KindConfig(about="promised for a date: `due`"),
}


MOST_NAMED = 20
"""The most kinds of the vault's notes that an error names beside the configured kinds."""

LOG = "log"
COMMITMENT = "commitment"
NOTE = "note"


class NoteKind(NamedTuple):
    """A kind with its defaults filled in."""

    name: str
    folder: str  # relative to the managed folder; a log's to the vault
    ttl_days: int
    about: str


class NoteKinds:
    """The shipped kinds, with your kinds added or in their place."""

    def __init__(self, configured: Mapping[str, KindConfig]) -> None:
        self._kinds: dict[str, NoteKind] = {}
        for name, config in {**SHIPPED_KINDS, **configured}.items():
            if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii() or name.startswith("_"):
                raise ConfigInvalid(f"kind {name!r} is no plain word", hint="use letters, digits, - and _")
            shipped = SHIPPED_KINDS.get(name, KindConfig())
            folder = config.folder.strip("/") or shipped.folder or f"notes/{name}"
            self._kinds[name] = NoteKind(name, folder, config.ttl_days, config.about or shipped.about)
        self._by_folder = {k.folder: k.name for k in self._kinds.values() if k.folder.startswith("notes/")}

    def __iter__(self) -> Iterator[NoteKind]:
        return iter(self._kinds.values())

    @property
    def names(self) -> list[str]:
        return list(self._kinds)

    def get(self, name: str) -> NoteKind:
        """Return a kind. Raises InvalidInput, which lists the known kinds."""
        if kind := self._kinds.get(name):
            return kind
        raise self.unknown(name)

    def unknown(self, name: str, others: Iterable[str] = ()) -> InvalidInput:
        """Return the error for a kind that is neither known nor one of `others`."""
        import difflib  # 5 ms of every command's start

        kinds = {kind[:100].lower(): kind[:100] for kind in (*others, *self._kinds)}
        near = [kinds[kind] for kind in difflib.get_close_matches(name[:100].lower(), kinds, n=2)]
        own = [kind for kind in kinds.values() if kind not in self._kinds]
        known = f"known kinds: {', '.join((*self._kinds, *own[:MOST_NAMED]))}"
        if len(own) > MOST_NAMED:
            known += f" and {len(own) - MOST_NAMED} more"
        hint = f"did you mean {' or '.join(map(repr, near))}? {known}" if near else known
        return InvalidInput(f"unknown kind {name[:100]!r}", hint=hint)

    def of_folder(self, folder: str) -> str:
        """Return the kind of a file in this folder (relative to the managed folder) that doesn't name its kind."""
        while folder:
            if name := self._by_folder.get(folder):
                return name
            folder = folder.rpartition("/")[0]
        return NOTE
