"""How often a language model may be asked: so many calls and tokens a day, and not right after it failed.

What was spent is on disk before the call is made, so that no restart and no crash gives it back; where it cannot be
written, nobody is asked. The file is replaced as a whole but not synced: a power cut may cost the count of a day.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mcp_memory.errors import SummarizerUnavailable
from mcp_memory.summarizers.config import SummarizerConfig

LONGEST_BACK_OFF_S = 3600.0
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """`day` counts from 1970 in UTC; `failures` in a row; `silent_until` is Unix time in seconds."""

    day: int = 0
    calls: int = 0
    tokens: int = 0
    failures: int = 0
    silent_until: float = 0.0


class Quota:
    """Thread-safe. `clock` gives Unix time in seconds."""

    def __init__(self, config: SummarizerConfig, file: Path, clock: Callable[[], float] = time.time) -> None:
        self._config = config
        self._file = file
        self._clock = clock
        self._lock = threading.Lock()
        self._spent = _read(file)

    def spend(self, tokens: int) -> None:
        """A call that is expected to cost so much. Raises SummarizerUnavailable where it is not allowed."""
        with self._lock:
            spent = self._today()
            self._refuse(spent, tokens)
            self._keep(replace(spent, calls=spent.calls + 1, tokens=spent.tokens + tokens))

    def free_in_s(self) -> float:
        """In how many seconds a call may be allowed again; 0 for now."""
        with self._lock:
            spent, now, config = self._today(), self._clock(), self._config
            if spent.calls >= config.calls_a_day or spent.tokens >= config.tokens_a_day:
                return (spent.day + 1) * _DAY_S - now
            return spent.silent_until - now if self._is_silent(spent, now) else 0.0

    def answered(self, taken: int, cost: int) -> None:
        """What `take` took, and what it came to."""
        with self._lock, suppress(SummarizerUnavailable):  # what was taken is on disk; the next `take` says so
            spent = self._today()
            self._keep(replace(spent, tokens=max(0, spent.tokens + cost - taken), failures=0, silent_until=0.0))

    def failed(self) -> None:
        """Nobody is asked for a while, twice as long after each further failure."""
        with self._lock, suppress(SummarizerUnavailable):  # it holds in memory; the next `take` says so
            spent = self._today()
            until = self._clock() + self._pause_s(spent.failures)
            self._keep(replace(spent, failures=spent.failures + 1, silent_until=until))

    def _refuse(self, spent: QuotaUsage, tokens: int) -> None:
        config, now = self._config, self._clock()
        if self._is_silent(spent, now):
            raise SummarizerUnavailable(
                f"the language model failed, and is asked again in {spent.silent_until - now:.0f} s"
            )
        if spent.calls >= config.calls_a_day:
            raise SummarizerUnavailable(
                f"the {config.calls_a_day} calls of this day are used up", hint="summarizer.calls_a_day"
            )
        if spent.tokens + tokens > config.tokens_a_day:
            raise SummarizerUnavailable(
                f"{tokens} tokens more would exceed the {config.tokens_a_day} of this day",
                hint="summarizer.tokens_a_day",
            )

    def _is_silent(self, spent: QuotaUsage, now: float) -> bool:
        """A clock that was ahead when a call failed must not silence the model until then."""
        return now < spent.silent_until <= now + self._pause_s(spent.failures)

    def _today(self) -> QuotaUsage:
        day = int(self._clock() // _DAY_S)
        return self._spent if self._spent.day == day else replace(self._spent, day=day, calls=0, tokens=0)

    def _pause_s(self, failures: int) -> float:
        doubled = self._config.back_off_s * 2.0 ** min(failures, 20)
        return max(self._config.back_off_s, min(doubled, LONGEST_BACK_OFF_S))

    def _keep(self, spent: QuotaUsage) -> None:
        self._spent = spent
        draft = self._file.with_suffix(f".{os.getpid()}")
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # somebody may have removed it
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as out:
                json.dump(asdict(spent), out)
            draft.replace(self._file)
        except OSError as error:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise SummarizerUnavailable(
                f"cannot write {self._file.name}, which counts what language models cost: {error.strerror}"
            ) from error


def _read(file: Path) -> QuotaUsage:
    """Nothing spent where there is no file, or none of ours."""
    try:
        said: Any = json.loads(file.read_bytes())
        spent = QuotaUsage(**said)
        numbers = (spent.day, spent.calls, spent.tokens, spent.failures, spent.silent_until)
        return spent if all(type(number) in {int, float} and number >= 0 for number in numbers) else QuotaUsage()
    except (OSError, ValueError, TypeError, RecursionError):
        return QuotaUsage()
