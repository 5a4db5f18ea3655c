"""Lets a language model decide about lines of notes and logs, if you chose one that reads them.

Whoever asks quotes the lines themselves, so a model can't make anything up. Each finding is kept, and an
unchanged line isn't asked about again. A line that has no finding is left to rules.
"""

import logging
from asyncio import create_task, sleep
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mcp_memory.errors import SummarizerUnavailable
from mcp_memory.jobs.job import JobTurn
from mcp_memory.runtime.json_lines import JsonLines
from mcp_memory.runtime.threads import in_thread
from mcp_memory.summarizers.base import LlmReply, Prompt, Summarizer
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.summarizers.numbered_lines import Finding, LinePrompt, LineTask, SourceLine, batches

MOST_BEFORE = 60
"""The most earlier lines shown with a question."""
POLL_S, ROOM_S = 0.05, 5.0

Earlier = Callable[[Sequence[SourceLine]], Sequence[SourceLine]]

log = logging.getLogger(__name__)


class LineReader:
    """Asks the `model`, which is None unless you chose one. `file` keeps the findings."""

    def __init__(self, config: SummarizerConfig, file: Path) -> None:
        self.model: Summarizer | None = None
        self.unusable = 0
        """How many answers since the start had another form."""
        self.changes = 0
        """How often something was found or erased since the start."""
        self._config = config
        self._lines = JsonLines(file)

    def findings(self, task: LineTask) -> dict[str, Finding]:
        """Return what a model found, by the hashes of lines; nothing without a model. For worker threads. Raises
        StorageFailed."""
        lines = self._lines.read() if self.model else ()
        return {line["line"]: line["found"] for line in lines if line.get("task") == task.name}

    async def read(
        self,
        task: LineTask,
        lines: Sequence[SourceLine],
        turn: JobTurn | None = None,
        *,
        earlier: Earlier = lambda _: (),
    ) -> None:
        """Ask about the lines that have no finding yet, in order. `earlier` returns
        older lines that a batch may refer to. Stops when the model fails, answers in another form, or today's limit is
        reached; the doctor says why. Raises StorageFailed."""
        if self.model is None:
            return
        found = await in_thread(self.findings, task, what="reading what a model found")
        fresh = [line for line in lines if line.key not in found]
        for batch in batches(fresh, self._config.prompt_tokens):
            if self.model.asked_in_s():
                return
            before = await in_thread(earlier, batch, what="looking for earlier lines")
            asked = LinePrompt(task, before[-MOST_BEFORE:], batch)
            try:
                reply = await self.ask(asked.prompt, turn)
            except SummarizerUnavailable as error:
                log.warning("%s weren't read: %s", task.name, error.message)
                return
            answer = None if reply.cut else asked.read(reply.text)
            if answer is None:  # the next would probably be no better
                self.unusable += 1
                return
            await in_thread(self._keep, task, batch, answer, what="keeping what a model found")

    async def ask(self, prompt: Prompt, turn: JobTurn | None) -> LlmReply:
        """Return the model's unchecked answer, and leave the turn to other work until it comes. Raises
        SummarizerUnavailable."""
        assert self.model
        deadline_s = self._config.timeout_s + ROOM_S
        asking = create_task(in_thread(self.model.ask, prompt, deadline_s=deadline_s, what="asking a language model"))
        try:
            while not asking.done():
                if turn:
                    await turn.lull(asking.done)
                await sleep(POLL_S)
            return await asking
        finally:
            asking.cancel()

    def erase(self, *sources: str) -> None:
        """Erase what was found about lines of these notes or entries. `path#` stands for all entries of a log. Raises
        StorageFailed."""
        self._lines.remove(lambda line: line["source"].startswith(sources))
        self.changes += 1

    def _keep(self, task: LineTask, batch: Sequence[SourceLine], answer: Mapping[str, Finding]) -> None:
        self._lines.append(
            *({"task": task.name, "source": one.source, "line": one.key, "found": answer[one.key]} for one in batch)
        )
        self.changes += 1
