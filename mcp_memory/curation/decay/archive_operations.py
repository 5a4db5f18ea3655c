"""Archives outdated notes when you ask for it, and restores them."""

from collections.abc import Sequence

from mcp_memory.core.core import Core
from mcp_memory.core.requests import RestoreRequest, TargetRequest
from mcp_memory.core.serializers import Payload
from mcp_memory.core.verbs.forgetting import restore
from mcp_memory.curation.decay.archive import Archivist
from mcp_memory.curation.requests import ArchiveProposedRequest
from mcp_memory.search.note_lookup import Place


class ArchiveOperations:
    """Answers with plain JSON values."""

    def __init__(self, core: Core, archivist: Archivist) -> None:
        self._core = core
        self._archivist = archivist

    async def archive_proposed(self, request: ArchiveProposedRequest) -> Payload:
        """Return the notes proposed for the archive; with ids, move these notes there."""
        return await self._archivist.answer(request.ids)

    async def unarchive(self, request: TargetRequest) -> Payload:
        """Bring a note back from the archive."""

        async def move(places: Sequence[Place]) -> Payload:
            back = await self._archivist.unarchive(places[0][0])
            return {"path": back or (await restore(self._core, RestoreRequest(request.target))).path}

        return await self._core.search.lookup.reach([request.target], move)
