"""Checks what became of the code that notes name."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from mcp_memory.core.core import Core, ErasedText, Feature, NoteCopies, Operation
from mcp_memory.core.serializers import Payload
from mcp_memory.errors import InvalidInput
from mcp_memory.grounding.grounder import Grounder
from mcp_memory.jobs.job import Every, Job
from mcp_memory.models import NotePath
from mcp_memory.runtime.threads import LOOK_DEADLINE_S, in_thread
from mcp_memory.search.filters import ANY_PROJECT
from mcp_memory.text.escape_invisible import visible_in

CHECK_S = 900.0
"""Seconds between two checks whether code has changed."""


@dataclass(frozen=True)
class RefsRequest:
    """The code that notes, or the note or log entry `target`, name, as of the last check. `check`: look now. `confirm`:
    `target` is right as the code is now. `folder`: the repository of the `project`."""

    target: str | None = None
    _: KW_ONLY
    check: bool = False
    confirm: bool = False
    project: str | None = None
    folder: str | None = None


def build(core: Core) -> Feature:
    grounder = Grounder(core.index, core.config.state / "grounding.json", core.projects, core.clock)
    core.recall.answerer.current.remarks.append(grounder.remark)
    core.projects.listeners.append(grounder.note_folder)

    async def refs(request: RefsRequest) -> Payload:
        """Return the notes that name code, with what became of it; check them again, or confirm one, if asked."""
        project = None if request.project == ANY_PROJECT else request.project
        if request.confirm and not request.target:
            raise InvalidInput("which note is right?", hint="name one: mcp-memory links --code NOTE --confirm")
        if project and request.folder:
            grounder.note_folder(project, request.folder)
        if request.check:
            await grounder.check()
        place = await core.search.lookup.find(request.target) if request.target else None
        if request.confirm:
            await grounder.check(confirmed=[one.id for one in grounder.notes(place)])
        return visible_in(
            await in_thread(grounder.answer, place, project, deadline_s=LOOK_DEADLINE_S, what="looking at the note")
        )

    return Feature(
        operations={"refs": Operation(RefsRequest, refs)},
        jobs=[Job("code", "Looks at what became of the code that notes name", Every(CHECK_S), grounder.run)],
        prepare=grounder.load,
        copies=References(grounder),
    )


@dataclass(frozen=True)
class References(NoteCopies):
    """The stored references of notes, as copies to erase with their notes."""

    grounder: Grounder

    def erase(self, erased: ErasedText) -> Sequence[NotePath]:
        self.grounder.forget(erased.path, erased.entry)
        return ()
