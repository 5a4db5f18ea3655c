"""Summarizes with a language model if possible and within a day's limits, otherwise extractively.

The count is written to disk before each call, so neither a restart nor a crash resets it. If it can't be written, no
call is made.

If the answer is too long, the model is asked once more for a shorter answer. If that fails, or the model can't be
asked now, the extractive summary is used and marked as `provisional`.
"""

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from mcp_memory.errors import SummarizerUnavailable
from mcp_memory.runtime.private_files import replace_file
from mcp_memory.summarizers.base import LlmClient, LlmReply, ModelUsage, Prompt, Summary, SummaryRequest
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.summarizers.extractive import ExtractiveSummarizer
from mcp_memory.summarizers.llm_answers import AnswerFlaw, judge
from mcp_memory.summarizers.prompting import prompt_for
from mcp_memory.summarizers.topic_labels import title_of

LONGEST_BACK_OFF_S = 3600.0
_DAY_S = 86_400


@dataclass(frozen=True)
class QuotaUsage:
    """The usage of a day. `day` counts from 1970 in UTC; `failures` counts consecutive failures; `silent_until` is Unix
    time in seconds; `problem` is why the last call failed."""

    day: int = 0
    calls: int = 0
    tokens: int = 0
    failures: int = 0
    silent_until: float = 0.0
    problem: str = ""


class Quota:
    """A thread-safe quota. `clock` returns Unix time in seconds."""

    def __init__(self, config: SummarizerConfig, file: Path, clock: Callable[[], float] = time.time) -> None:
        self._config = config
        self._file = file
        self._clock = clock
        self._lock = threading.Lock()
        self._spent = _read(file)

    def spend(self, tokens: int) -> None:
        """Record a call with its expected cost. Raises SummarizerUnavailable if the call isn't allowed."""
        with self._lock:
            spent = self._today()
            self._check(spent, tokens)
            self._save(replace(spent, calls=spent.calls + 1, tokens=spent.tokens + tokens))

    def free_in_s(self) -> float:
        """Return the seconds until a call may be allowed; 0 for now."""
        with self._lock:
            spent, now, config = self._today(), self._clock(), self._config
            if spent.calls >= config.calls_a_day or spent.tokens >= config.tokens_a_day:
                return (spent.day + 1) * _DAY_S - now
            return spent.silent_until - now if self._is_silent(spent, now) else 0.0

    def usage(self) -> ModelUsage:
        with self._lock:
            spent, config = self._today(), self._config
        return ModelUsage(spent.calls, config.calls_a_day, spent.tokens, config.tokens_a_day, spent.problem)

    def answered(self, expected: int, cost: int) -> None:
        """Correct the cost that `spend` recorded."""
        with self._lock, suppress(SummarizerUnavailable):  # the next `spend` reports it
            spent = self._today()
            tokens = max(0, spent.tokens + cost - expected)
            self._save(QuotaUsage(spent.day, spent.calls, tokens))

    def failed(self, problem: str) -> None:
        """Pause calls; each further failure doubles the pause."""
        with self._lock, suppress(SummarizerUnavailable):  # the pause applies; the next `spend` reports the error
            spent = self._today()
            until = self._clock() + self._pause_s(spent.failures)
            self._save(replace(spent, failures=spent.failures + 1, silent_until=until, problem=problem))

    def _check(self, spent: QuotaUsage, tokens: int) -> None:
        config, now = self._config, self._clock()
        if self._is_silent(spent, now):
            raise SummarizerUnavailable(
                f"the language model failed, and will be asked again in {spent.silent_until - now:.0f} s"
            )
        if spent.calls >= config.calls_a_day:
            raise SummarizerUnavailable(
                f"today's {config.calls_a_day} calls are used up", hint="summarizer.calls_a_day"
            )
        if spent.tokens + tokens > config.tokens_a_day:
            raise SummarizerUnavailable(
                f"{tokens} more tokens would exceed today's {config.tokens_a_day}", hint="summarizer.tokens_a_day"
            )

    def _is_silent(self, spent: QuotaUsage, now: float) -> bool:
        """Return whether calls are paused. A pause is never longer than planned, even if the clock was ahead when the
        call failed."""
        return now < spent.silent_until <= now + self._pause_s(spent.failures)

    def _today(self) -> QuotaUsage:
        day = int(self._clock() // _DAY_S)
        return self._spent if self._spent.day == day else replace(self._spent, day=day, calls=0, tokens=0)

    def _pause_s(self, failures: int) -> float:
        doubled = self._config.back_off_s * 2.0 ** min(failures, 20)
        return max(self._config.back_off_s, min(doubled, LONGEST_BACK_OFF_S))

    def _save(self, spent: QuotaUsage) -> None:
        self._spent = spent
        try:
            replace_file(self._file, json.dumps(asdict(spent)).encode())
        except OSError as error:
            raise SummarizerUnavailable(
                f"cannot write {self._file.name}, which counts what language models cost: {error.strerror}"
            ) from error


def _read(file: Path) -> QuotaUsage:
    """Read the usage; return no usage if the file is missing or invalid."""
    try:
        spent = QuotaUsage(**json.loads(file.read_bytes()))
        numbers = (spent.day, spent.calls, spent.tokens, spent.failures, spent.silent_until)
        is_valid = all(type(number) in {int, float} and number >= 0 for number in numbers)
        return spent if is_valid and type(spent.problem) is str else QuotaUsage()
    except (OSError, ValueError, TypeError, RecursionError):
        return QuotaUsage()


class FallbackSummarizer:
    """A `Summarizer` that falls back to extraction."""

    def __init__(self, llm: LlmClient, config: SummarizerConfig, spent: Path) -> None:
        self._llm = llm
        self._quota = Quota(config, spent)
        self._extractive = ExtractiveSummarizer()
        self._prompt_tokens = config.prompt_tokens
        self._closed = threading.Event()
        self.name = llm.name

    def summarize(self, request: SummaryRequest) -> Summary:
        """Summarize the sources. Raises SummarizerUnavailable once it is closed; other failures are in the summary's
        `problem`."""
        if not request.sources:
            return self._extractive.summarize(request)
        try:
            answer = self._answer(request)
        except SummarizerUnavailable as error:
            if self._closed.is_set():
                raise
            problem = str(error)
        else:
            if isinstance(answer, Summary):
                return replace(answer, title=answer.title or title_of(request.sources, request.common, request.hint))
            problem = f"{self.name} {answer.value}"
        return replace(self._extractive.summarize(request), provisional=True, problem=problem)

    def ask(self, prompt: Prompt) -> LlmReply:
        """Return the model's answer. Raises SummarizerUnavailable."""
        if self._closed.is_set():
            raise SummarizerUnavailable("the summarizer is closed")
        self._quota.spend(prompt.most_tokens)
        try:
            reply = self._llm.write(prompt)
        except SummarizerUnavailable as error:
            if not self._closed.is_set():
                self._quota.failed(error.message)
            raise
        self._quota.answered(prompt.most_tokens, reply.tokens)
        return reply

    def asked_in_s(self) -> float:
        return self._quota.free_in_s()

    def usage(self) -> ModelUsage:
        return self._quota.usage()

    def close(self) -> None:
        self._closed.set()
        self._llm.close()

    def _answer(self, request: SummaryRequest) -> Summary | AnswerFlaw:
        prompt = prompt_for(request, self._prompt_tokens)
        answer = judge(self.ask(prompt), prompt, self.name)
        if answer is AnswerFlaw.TOO_LONG:
            prompt = prompt_for(request, self._prompt_tokens, terse=True)
            answer = judge(self.ask(prompt), prompt, self.name)
        return answer
