"""Lists the jobs that run in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_memory.jobs.job import Job

if TYPE_CHECKING:
    from mcp_memory.engine.parts import EngineParts


def list_jobs(parts: EngineParts) -> list[Job]:
    """Of jobs that are due at once, an earlier one of this list runs first."""
    summarizer = parts.config.summarizer
    return [parts.auto_compactor.job(longest_s=3600 + summarizer.day_s)]
