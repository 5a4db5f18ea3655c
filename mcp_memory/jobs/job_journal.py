"""Records each run of a job in the state folder: why, when, which files, figures, error; never the text of a note."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mcp_memory.jobs.job import JobReport
from mcp_memory.runtime.rotated_lines import RotatedLines

MOST_BYTES = 500_000
"""Two files of this size hold some 3,000 runs."""

MOST_NAMED = 50
"""Changed files that are named in the journal; of the others it keeps the count."""


class JobJournal:
    """Thread-safe. JSON lines, bounded: of the oldest runs nothing is known."""

    def __init__(self, file: Path) -> None:
        self._lines = RotatedLines(file, MOST_BYTES)

    def record(self, run: Mapping[str, Any]) -> None:
        """`run`: what `describe` returned. If the disk refuses, only the log says so."""
        self._lines.append(dict(run))

    @staticmethod
    def describe(
        run: str, job: str, why: str, times: tuple[str, str], report: JobReport, error: str | None
    ) -> dict[str, Any]:
        """A line about a run that began and ended at these `times`, ISO 8601 in UTC."""
        facts = {"run": run, "job": job, "why": why, "began": times[0], "ended": times[1], **asdict(report)}
        return facts | {"changed": list(report.changed[:MOST_NAMED]), "files": len(report.changed), "error": error}

    def read_runs(self, job: str | None = None, limit: int = 20) -> list[dict[str, Any]]:
        """The latest first. Raises StorageFailed."""
        runs = [{"error": None, **facts} for facts in self._lines.read() if job in {None, facts.get("job")}]
        return runs[: -limit - 1 : -1]
