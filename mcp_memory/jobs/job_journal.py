"""Record each run of a job in the state folder: why, when, which files, figures, error; never the text of a note."""

from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mcp_memory.jobs.job import JobReport
from mcp_memory.runtime.json_lines import Facts, JsonLines

MOST_BYTES = 500_000  # the bytes of each of two files: some 3,000 runs
MOST_NAMED = 50  # the most changed files that are named; the others are counted


class JobJournal:
    """The journal of jobs. JSON lines, bounded: the oldest runs are dropped. Thread-safe."""

    def __init__(self, file: Path) -> None:
        self._lines = JsonLines(file, synced=False, most_bytes=MOST_BYTES)
        self._erased: set[str] = set()
        """Files that no run may name any more, also one that was under way."""

    def record(self, run: Facts, report: JobReport, *, is_kept: bool) -> Facts:
        """Record a run and return the line, kept or not. If the disk refuses, only the log reports it."""
        changed = [path for path in report.changed if path not in self._erased]
        line: dict[str, Any] = {**run, **asdict(report), "changed": changed[:MOST_NAMED], "files": len(report.changed)}
        if is_kept and not _names(line, self._erased):
            self._lines.try_append(line)
        return line

    def read_runs(self, job: str | None = None, limit: int = 20) -> list[Facts]:
        """Return the runs, the latest first. Raises StorageFailed."""
        runs = [{"error": None, **facts} for facts in self._lines.read() if job in {None, facts.get("job")}]
        return runs[: -limit - 1 : -1]

    def count_naming(self, paths: Collection[str]) -> int:
        """Count the runs that name one of these files. Raises StorageFailed."""
        return sum(_names(facts, paths) for facts in self._lines.read())

    def erase(self, paths: Collection[str]) -> None:
        """Remove the runs that name one of these files, and keep later ones from naming it. Raises StorageFailed."""
        self._erased.update(paths)
        self._lines.remove(lambda facts: _names(facts, paths))

    def names_erased(self, result: str | None) -> bool:
        """Return whether a job's result names an erased file."""
        return _names({"about": result}, self._erased)


def _names(facts: Facts, paths: Collection[str]) -> bool:
    told = [*facts.get("changed", ()), facts.get("about") or "", facts.get("error") or ""]
    return any(path in text for text in told for path in paths)
