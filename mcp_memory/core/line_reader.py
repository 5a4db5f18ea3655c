"""Lets a language model decide about lines of notes and logs, if you chose one that reads them.

Whoever asks quotes the lines themselves, so a model can't make anything up. What it found about a line is kept, and an
unchanged line isn't asked about again. A line that has no finding is left to rules.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

import anyio

from mcp_memory.errors import SummarizerUnavailable
from mcp_memory.jobs.job import JobTurn
from mcp_memory.runtime.json_lines import JsonLines
from mcp_memory.runtime.threads import in_thread
from mcp_memory.summarizers.base import LlmReply, Prompt, Summarizer
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.summarizers.numbered_lines import Finding, LinePrompt, LineTask, SourceLine, batches

MOST_BEFORE = 60
"""The most earlier lines shown with a question."""
MOST_TRIES = 2
"""How often a line is asked about if the answers have another form."""
POLL_S, ROOM_S = 0.05, 5.0

Earlier = Callable[[Sequence[SourceLine]], Sequence[SourceLine]]

log = logging.getLogger(__name__)


class LineReader:
    """Asks the `model`, which is None unless you chose one. `file` keeps the findings."""

    def __init__(self, config: SummarizerConfig, file: Path) -> None:
        self.model: Summarizer | None = None
        self.unusable = 0
        """How many answers since the start had another form."""
        self._config = config
        self._lines = JsonLines(file)

    def findings(self, task: LineTask) -> dict[str, Finding]:
        """Return what a model found, by the hashes of lines; nothing without a model. For worker threads. Raises
        StorageFailed."""
        return self._read(task)[0] if self.model else {}

    async def read(
        self,
        task: LineTask,
        lines: Sequence[SourceLine],
        turn: JobTurn | None = None,
        *,
        about: str = "",
        earlier: Earlier = lambda _: (),
    ) -> None:
        """Ask about the lines that have no finding yet, in order. `about` says where they're from. `earlier` returns
        older lines that a batch may refer to. Stops when the model fails or today's limit is reached; the doctor says
        why. Raises StorageFailed."""
        if self.model is None:
            return
        found, tries = await in_thread(self._read, task, what="reading what a model found")
        fresh = [line for line in lines if line.key not in found and tries[line.key] < MOST_TRIES]
        for batch in batches(fresh, self._config.prompt_tokens):
            if self.model.asked_in_s():
                return
            asked = LinePrompt(task, list(earlier(batch))[-MOST_BEFORE:], batch, about)
            try:
                reply = await self.ask(asked.prompt, turn)
            except SummarizerUnavailable as error:
                log.warning("%s weren't read: %s", task.name, error.message)
                return
            answer = None if reply.cut else asked.read(reply.text)
            self.unusable += answer is None
            await in_thread(partial(self._keep, task, batch, answer), what="keeping what a model found")

    async def ask(self, prompt: Prompt, turn: JobTurn | None) -> LlmReply:
        """Return the model's unchecked answer, and leave the turn to other work until it comes. Raises
        SummarizerUnavailable."""
        outcome: list[LlmReply | SummarizerUnavailable] = []

        def ask() -> None:
            try:
                assert self.model
                outcome.append(self.model.ask(prompt))
            except SummarizerUnavailable as error:
                outcome.append(error)

        async with anyio.create_task_group() as tasks:
            deadline_s = self._config.timeout_s + ROOM_S
            tasks.start_soon(partial(in_thread, ask, deadline_s=deadline_s, what="asking a language model"))
            while not outcome:
                if turn:
                    await turn.lull(lambda: bool(outcome))
                await anyio.sleep(POLL_S)
        if isinstance(outcome[0], SummarizerUnavailable):
            raise outcome[0]
        return outcome[0]

    def erase(self, sources: Collection[str]) -> None:
        """Erase what was found about lines of these notes or entries. Raises StorageFailed."""
        self._lines.remove(lambda line: line.get("source") in sources)

    def _read(self, task: LineTask) -> tuple[dict[str, Finding], Counter[str]]:
        """Return the findings, and how often a line got an answer of another form."""
        found, tries = dict[str, Finding](), Counter[str]()
        for line in self._lines.read():
            if line.get("task") != task.name:
                continue
            if "found" in line:
                found[line["line"]] = line["found"]
            else:
                tries[line["line"]] += 1
        return found, tries

    def _keep(self, task: LineTask, batch: Sequence[SourceLine], answer: dict[str, Finding] | None) -> None:
        kept = defaultdict[str, Finding | None](lambda: None, answer or {})
        self._lines.append(
            *({"task": task.name, "source": line.source, "line": line.key, "found": kept[line.key]} for line in batch)
        )
