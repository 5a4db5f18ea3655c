"""The one tree of errors. Raised where a fault is detected, translated once at the edge (tool, CLI, HTTP).

A message says what is wrong in the user's words; `hint` says what to do next. Neither ever holds the
text of a note. `code` is stable and machine-readable.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` itself takes longer to import than a hook has
if TYPE_CHECKING:
    from typing import ClassVar


class McpMemoryError(Exception):
    """Root of the tree; never raised itself."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InvalidInput(McpMemoryError):
    """An argument that can never be right; the message says what to pass instead."""

    code = "invalid_input"


class PathRefused(InvalidInput):
    """A path that leaves the vault, is hidden, is no regular file, or no file system would keep apart."""

    code = "path_refused"


class ConfigInvalid(InvalidInput):
    """A setting with an unknown name or a wrong value."""

    code = "config_invalid"


class Unusable(InvalidInput):
    """What a client calls one of its hooks with. The message quotes nothing of it, so that a log can."""

    code = "unusable"


class NotFound(McpMemoryError):
    """No note, entry or file under that name."""

    code = "not_found"


class AlreadyExists(McpMemoryError):
    """A new file was asked for, and its name is taken."""

    code = "already_exists"


class PreconditionFailed(McpMemoryError):
    """The file's etag is not the expected one: somebody else wrote it meanwhile."""

    code = "precondition_failed"


class Refused(McpMemoryError):
    """Possible, but against the rules: somebody else's note, a read-only source, a secret."""

    code = "refused"


class StorageFailed(McpMemoryError):
    """The file system said no (disk full, I/O error, read-only …); the old bytes are intact."""

    code = "storage_failed"


class EmbedderUnavailable(McpMemoryError):
    """No embedding model can be used now; searches answer with keywords."""

    code = "embedder_unavailable"


class SummarizerUnavailable(McpMemoryError):
    """No language model can be asked now; the extractive summary stands in."""

    code = "summarizer_unavailable"


class IndexUnavailable(McpMemoryError):
    """The index cannot be opened, read or written; the files are untouched."""

    code = "index_unavailable"


class IndexReplaced(IndexUnavailable):
    """The index was found damaged, and an empty one stands in its place: the same call goes on there."""


class StillReading(IndexUnavailable):
    """A large index is being read into memory: it answers in some seconds."""

    code = "still_reading"


class GitUnavailable(McpMemoryError):
    """There is no git, it refuses the repository, or it did not end in time; no file was changed."""

    code = "git_unavailable"


class ExtraMissing(McpMemoryError):
    """A named back end needs a package that is not installed; the hint names the extra."""

    code = "extra_missing"


class DeadlineExceeded(McpMemoryError):
    """A disk, model, lock or peer did not answer in time."""

    code = "deadline_exceeded"


class Busy(McpMemoryError):
    """Another process owns what was asked for."""

    code = "busy"


class NotRunning(McpMemoryError):
    """No daemon answers for this vault."""

    code = "not_running"
