"""Curates memory: claims, recurring statements, and outdated notes."""

from functools import partial

from mcp_memory.core.core import Core, Feature, Operation
from mcp_memory.core.requests import CLAIMS, NoArguments
from mcp_memory.core.verbs.forgetting import forget_note
from mcp_memory.core.verbs.storing import append_for_source
from mcp_memory.curation.claims.answers import ClaimAnswers, ClaimsRequest
from mcp_memory.curation.claims.claim_base import ClaimBase
from mcp_memory.curation.claims.subject_reading import SubjectReading
from mcp_memory.curation.decay.archive import Archivist
from mcp_memory.curation.decay.noise import NoiseRequest, noise
from mcp_memory.curation.dreams.dream_files import DreamCopies, DreamFiles
from mcp_memory.curation.dreams.dream_operations import DreamOperations, DreamRequest
from mcp_memory.curation.dreams.dream_sources import DreamSources
from mcp_memory.curation.dreams.dreamer import Dreamer
from mcp_memory.curation.organizer import Organizer, OrganizeRequest
from mcp_memory.jobs.job import Daily, Job
from mcp_memory.models import Filters
from mcp_memory.runtime.json_lines import JsonLines
from mcp_memory.vault.journals.change_journal import DREAM
from mcp_memory.vault.journals.tombstones import Caller


def build(core: Core) -> Feature:
    may_be_told = Filters(private=core.config.recall.private_marks, foreign=False)
    claims = ClaimAnswers(core, ClaimBase(core.index, may_be_told, core.clock, core.background.reader))
    core.recall.answerer.subjects.append(claims)
    core.search.answers_at[CLAIMS] = claims.search
    files = DreamFiles(core.vault, core.indexing.writer, JsonLines(core.config.state / "dreams.jsonl"))
    forget = partial(forget_note, core, by=Caller(DREAM, is_person=True))
    dreamer = Dreamer(core, files, DreamSources(core), partial(append_for_source, core), forget)
    core.runs.others.append(dreamer)
    dreams = DreamOperations(core, dreamer)
    pages = Organizer(core, claims.base, SubjectReading(core.background.reader, core.clock), files)
    archivist = Archivist(core)
    zone, times = core.vault.layout.tz, core.config.jobs
    return Feature(
        operations={
            "claims": Operation(ClaimsRequest, claims.claims),
            "claim_problems": Operation(NoArguments, pages.problems),
            "dream": Operation(DreamRequest, dreams.dream),
            "organize": Operation(OrganizeRequest, pages.organize),
            "noise": Operation(NoiseRequest, partial(noise, core)),
        },
        jobs=[
            pages.job(),
            Job(
                "dream",
                "Proposes what recurs for MEMORY.md, in DREAMS.md",
                Daily(times.time_of_day("dream"), zone),
                dreams.run,
            ),
            Job(
                "decay",
                "Moves what is over to _archive/, of [decay] archive_kinds, and proposes the rest",
                Daily(times.time_of_day("decay"), zone),
                archivist.run,
            ),
        ],
        copies=DreamCopies(files),
        reviewers=[dreams, claims, archivist],
        left_archive=archivist.withdraw_lesson,
    )
