"""Summarizes with a language model if possible, otherwise extractively.

If the answer is too long, the model is asked once more for a shorter answer. If that fails, or the model can't be asked
now, the extractive summary is used and marked as `provisional`.
"""

import threading
from dataclasses import replace
from pathlib import Path

from mcp_memory.errors import SummarizerUnavailable
from mcp_memory.summarizers.base import LlmClient, LlmReply, ModelUsage, Prompt, Summary, SummaryRequest
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.summarizers.extractive import ExtractiveSummarizer
from mcp_memory.summarizers.llm_answers import AnswerFlaw, judge
from mcp_memory.summarizers.prompting import prompt_for
from mcp_memory.summarizers.quota import Quota
from mcp_memory.summarizers.topic_labels import title_of


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
