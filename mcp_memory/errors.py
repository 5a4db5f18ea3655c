"""The one tree of errors. Raised where a fault is detected, translated once at the edge (tool, CLI, HTTP).

A message describes the fault in the user's words, and `hint` what to do next. Neither ever contains the text of a
note.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` itself takes longer to import than a hook has
if TYPE_CHECKING:
    from typing import ClassVar


class McpMemoryError(Exception):
    """Root of the tree; never raised itself."""

    code: ClassVar[str] = "error"
    """Stable and machine-readable: the class's name in snake case. A class of another module keeps its parent's."""

    def __init_subclass__(cls) -> None:
        if cls.__module__ == __name__ and "code" not in vars(cls):
            cls.code = "".join(f"_{c.lower()}" if c.isupper() else c for c in cls.__name__)[1:]

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InvalidInput(McpMemoryError):
    """An argument that can never be right; the hint names what to pass instead."""


class PathRefused(InvalidInput):
    """A path that leaves the vault, is hidden, isn't a regular file, or collides on some file systems."""


class ConfigInvalid(InvalidInput):
    """A setting with an unknown name or a wrong value."""


class Unusable(InvalidInput):
    """A client passed unusable input to a hook. The message is logged, so it quotes none of the input."""


class NotFound(McpMemoryError):
    """No note, entry or file has that name."""


class AlreadyExists(McpMemoryError):
    """The name for a new file is taken."""


class PreconditionFailed(McpMemoryError):
    """The file has another etag than expected, because another program has changed it."""


class Refused(McpMemoryError):
    """The request is possible, but against the rules: a personal note, a read-only source, a secret."""


class StorageFailed(McpMemoryError):
    """The file system refused (disk full, I/O error, read-only …); the old bytes are intact."""


class EmbedderUnavailable(McpMemoryError):
    """No embedding model can be used now; searches answer with keywords."""


class SummarizerUnavailable(McpMemoryError):
    """No language model can be asked now; the extractive summary is used instead."""


class IndexUnavailable(McpMemoryError):
    """The index cannot be opened, read or written; the files are untouched."""


class IndexReplaced(IndexUnavailable):
    """The index was damaged and an empty one has taken its place: the same call works there."""

    code = IndexUnavailable.code


class StillReading(IndexUnavailable):
    """A large index is being read into memory: it answers in a few seconds."""


class GitUnavailable(McpMemoryError):
    """Git is missing, refuses the repository, or didn't end in time; no file was changed."""


class GitTooSlow(GitUnavailable):
    """Git didn't end in time."""

    code = GitUnavailable.code


class ExtraMissing(McpMemoryError):
    """A back end needs a package that is not installed."""


class DeadlineExceeded(McpMemoryError):
    """A disk, model, lock or peer did not answer in time."""


class Busy(McpMemoryError):
    """Another process owns the resource."""


class NotRunning(McpMemoryError):
    """No daemon answers for this vault."""
