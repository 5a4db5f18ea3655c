"""Names the folders outside the vault that have a copy of a note."""

from collections.abc import Iterator

from mcp_memory.compaction.share.folder import SharedFolders
from mcp_memory.core.feature import ErasedText, NoteCopies


class SharedCopies(NoteCopies):
    """The copies in folders that topics were shared with."""

    def __init__(self, folders: SharedFolders) -> None:
        self._folders = folders

    def beyond(self, erased: ErasedText) -> Iterator[str]:
        names = {erased.entry} if erased.entry else {*erased.ids, erased.path}
        for folder, topic in self._folders.find_copies(names):
            yield f"the folder {folder}, which {topic} was shared with: share it again or remove it"
