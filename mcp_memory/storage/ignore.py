"""Parse `.memoryignore`, which names the files to keep out of memory in gitignore's syntax.

The patterns may come with another person's vault, so they run in linear time (RE2, no backtracking), and their number
and length are bounded. A pattern that can't be used is reported; the others still apply.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mcp_memory.models import Problem

IGNORE_FILE = ".memoryignore"
MAX_FILE_BYTES = 64 * 1024
MAX_PATTERNS = 500
MAX_PATTERN_CHARS = 255


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of a `.memoryignore`. `matches` takes a relative path, with a trailing `/` for a folder."""

    matches: Callable[[str], bool]
    problems: tuple[Problem, ...] = ()


def parse_ignore(data: bytes) -> IgnoreRules | None:
    """Parse the rules in a `.memoryignore`; return None if it has none. Never raises: errors become problems."""
    if len(data) > MAX_FILE_BYTES:
        return IgnoreRules(lambda _: False, (Problem(IGNORE_FILE, f"not used: larger than {MAX_FILE_BYTES} bytes"),))
    good: list[str] = []
    problems: list[Problem] = []
    for number, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        fault = _fault(line) if len(good) < MAX_PATTERNS else f"more than {MAX_PATTERNS} patterns"
        if fault:
            problems.append(Problem(IGNORE_FILE, f"line {number} not used: {fault}"))
        else:
            good.append(line)
    if not good and not problems:
        return None
    try:  # RE2 bounds the memory of the whole set
        return IgnoreRules(_compile(good), tuple(problems))
    except Exception as error:
        problems.append(
            Problem(IGNORE_FILE, f"not used: the patterns together are too complex ({type(error).__name__})")
        )
        return IgnoreRules(lambda _: False, tuple(problems))


def _fault(line: str) -> str | None:
    if len(line) > MAX_PATTERN_CHARS:
        return f"longer than {MAX_PATTERN_CHARS} characters"
    try:  # pathspec, re and RE2 each raise an error type of their own
        _compile([line])
    except Exception as error:
        return f"no valid pattern ({type(error).__name__})"
    return None


def _compile(lines: list[str]) -> Callable[[str], bool]:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines, backend="re2").match_file
