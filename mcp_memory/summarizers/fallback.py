"""A language model's summary where one is to be had, the extractive one where not.

Three levels: the model is asked; where it says too much, it is asked for less; where that is of no use either, or it
cannot or must not be asked now, the sources' own sentences stand in, marked as `provisional`.
"""

from __future__ import annotations

import threading
from dataclasses import replace

from mcp_memory.errors import SummarizerUnavailable
from mcp_memory.summarizers.base import Summarizer, Summary, SummaryRequest
from mcp_memory.summarizers.llm_answers import AnswerFlaw, JudgedAnswer, judge
from mcp_memory.summarizers.llm_port import LlmClient, LlmReply, Prompt
from mcp_memory.summarizers.prompting import prompt_for
from mcp_memory.summarizers.quota import Quota
from mcp_memory.summarizers.topic_labels import title_of


class FallbackSummarizer:
    """Implements `Summarizer`."""

    def __init__(self, writer: LlmClient, allowance: Quota, stand_in: Summarizer, prompt_tokens: int) -> None:
        self._writer = writer
        self._allowance = allowance
        self._stand_in = stand_in
        self._prompt_tokens = prompt_tokens
        self._closed = threading.Event()

    @property
    def name(self) -> str:
        return self._writer.name

    def summarize(self, request: SummaryRequest) -> Summary:
        """Raises SummarizerUnavailable once it is closed; any other fault of the model is told in `problem`."""
        if not request.sources:
            return self._stand_in.summarize(request)
        try:
            answer = self._asked(request)
        except SummarizerUnavailable as error:
            if self._closed.is_set():
                raise
            return self._stood_in(request, str(error))
        if isinstance(answer, AnswerFlaw):
            return self._stood_in(request, f"{self.name} {answer.value}")
        return Summary(answer.title or title_of(request.sources, request.common), answer.text, self.name)

    def ask(self, prompt: Prompt) -> LlmReply:
        """Raises SummarizerUnavailable."""
        if self._closed.is_set():
            raise SummarizerUnavailable("the summarizer is closed")
        self._allowance.spend(prompt.most_tokens)
        try:
            written = self._writer.write(prompt)
        except SummarizerUnavailable:
            if not self._closed.is_set():
                self._allowance.failed()
            raise
        self._allowance.answered(prompt.most_tokens, written.tokens)
        return written

    def asked_in_s(self) -> float:
        return self._allowance.free_in_s()

    def close(self) -> None:
        self._closed.set()
        self._writer.close()
        self._stand_in.close()

    def _asked(self, request: SummaryRequest) -> JudgedAnswer | AnswerFlaw:
        answer: JudgedAnswer | AnswerFlaw = AnswerFlaw.EMPTY
        for terse in (False, True):
            prompt = prompt_for(request, self._prompt_tokens, terse=terse)
            answer = judge(self.ask(prompt), prompt)
            if answer is not AnswerFlaw.TOO_LONG:
                break
        return answer

    def _stood_in(self, request: SummaryRequest, problem: str) -> Summary:
        return replace(self._stand_in.summarize(request), provisional=True, problem=problem)
