"""Merges what two devices wrote to the same file."""

import logging

from mcp_memory.core.core import Core, Feature
from mcp_memory.errors import McpMemoryError
from mcp_memory.jobs.job import AfterQuiet, Job, JobReport, JobTurn
from mcp_memory.models import NotePath
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.pluralize import counted
from mcp_memory.vault.journals.change_journal import acting
from mcp_memory.vault.journals.tombstones import Caller
from mcp_memory.vault.shared.log_copies import log_of_copy

MERGE = "merge"
"""The client of merged entries, and the name of the job."""
QUIET_S, LONGEST_WAIT_S, MERGE_S = 10.0, 120.0, 60.0
"""A sync program writes several files in a row, a log and its copy among them."""

log = logging.getLogger(__name__)


def build(core: Core) -> Feature:
    vault, writer = core.vault, core.indexing.writer

    async def merge(_: JobTurn) -> JobReport | None:
        """Merge each conflict copy of a daily log into its log. A copy that can't be merged stays, and `doctor` names
        it."""
        merged: list[NotePath] = []
        for copy in sorted(filter(log_of_copy, writer.indexed_files)):
            try:
                with acting(Caller(MERGE)):
                    files = await in_thread(vault.log_copies.merge, copy, deadline_s=MERGE_S, what="merging a log")
            except McpMemoryError as error:
                log.warning("a conflict copy was not merged: %s", error.code)
                continue
            for file in files:
                await writer.index_note(file)
                merged.append(file.record.path)
            await writer.remove_deleted(copy)
        about = f"{counted(len(merged) // 2, 'conflict copy', 'conflict copies')} merged"
        return JobReport(about, merged) if merged else None

    due = AfterQuiet(
        quiet_s=QUIET_S, longest_wait_s=LONGEST_WAIT_S, concerns=lambda paths: any(map(log_of_copy, paths))
    )
    return Feature(jobs=[Job(MERGE, "Merges conflict copies of daily logs into the logs", due, merge)])
