"""An agent's session: searches, recalls, appends, and forgets or restores what it said itself."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.soak.book import LOG, Book, Told
from tests.soak.line import Failed, Line, Unanswered

KINDS = (LOG, "note", "fact", "decision")
PASSING = {"storage_failed", "index_unavailable", "deadline_exceeded", "precondition_failed", "busy"}
"""Errors after which the same call may succeed."""


@dataclass(frozen=True)
class Mix:
    """Shares of the calls; they sum to 1."""

    search: float = 0.70
    recall: float = 0.15
    append: float = 0.13
    retire: float = 0.02


@dataclass
class Errors:
    """By call and kind. `excused` is told the call, the error's code and when the call began (on the monotonic clock),
    and says whether the error belongs to a trouble that was made on purpose."""

    excused: Callable[[str, str, float], bool] = lambda _call, _code, _began_s: False
    during_trouble: Counter[str] = field(default_factory=Counter)
    unexpected: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    """Answers that say `unknown`: the deadline had passed."""
    samples: list[str] = field(default_factory=list)

    def met(self, call: str, error: Unanswered | Failed, began_s: float, *, died: bool) -> None:
        """`died`: the daemon was ended while the call ran."""
        code = error.code if isinstance(error, Failed) else "unanswered"
        if (died and isinstance(error, Unanswered)) or self.excused(call, code, began_s):
            self.during_trouble[f"{call} {code}"] += 1
        else:
            self.unexpected[f"{call} {code}"] += 1
            if len(self.samples) < 20:
                self.samples.append(f"{call}: {error}")


class Session:
    """Calls one after the other, until it is cancelled. What was not answered is asked again, as an agent would."""

    def __init__(
        self,
        number: int,
        line: Line,
        book: Book,
        errors: Errors,
        *,
        chance: random.Random,
        vocabulary: Sequence[str],
        think_s: float,
        mix: Mix,
        is_up: Callable[[], bool],
        lives: Callable[[], int],
    ) -> None:
        """`think_s` is the mean pause between calls; `lives` counts the daemon's starts."""
        self._name = f"session-{number}"
        self._number = number
        self._line = line
        self._book = book
        self._errors = errors
        self._chance = chance
        self._vocabulary = vocabulary
        self._think_s = think_s
        self._mix = mix
        self._is_up = is_up
        self._lives = lives
        self._mine: list[Told] = []
        self._count = 0

    async def run(self) -> None:
        acts = (self._search, self._recall, self._append, self._retire)
        weights = (self._mix.search, self._mix.recall, self._mix.append, self._mix.retire)
        try:
            while True:
                await asyncio.sleep(self._chance.expovariate(1 / self._think_s) if self._think_s else 0)
                (act,) = self._chance.choices(acts, weights)
                await act()
        finally:
            self._line.close()

    async def _search(self) -> None:
        known = self._some_of_mine() if self._chance.random() < 0.3 else None
        query = known.word if known else self._words(4)
        await self._call("memory_search", {"query": query, "limit": 6}, lambda: False)

    async def _recall(self) -> None:
        known = self._some_of_mine() if self._chance.random() < 0.3 else None
        arguments = {"ids": [known.id]} if known and known.shown else {"query": self._words(4), "budget_tokens": 1000}
        await self._call("memory_recall", arguments, lambda: False)

    async def _append(self) -> None:
        self._count += 1
        told = Told(
            word=f"zz{self._number}x{self._count}z",
            filler=self._words(self._chance.randrange(4, 40)),
            kind=self._chance.choice(KINDS),
            session=self._name,
        )
        old = self._some_of_mine()
        if old and not told.is_log and not old.is_log and old.shown and self._chance.random() < 0.1:
            told.supersedes = old
        self._book.told.append(told)
        self._book.asked(told)
        receipt = await self._call("memory_append", told.arguments, lambda: told.may_be_asked_again)
        if receipt:
            self._book.appended(told, receipt)
            self._mine.append(told)

    async def _retire(self) -> None:
        told = self._some_of_mine()
        if told is None or told.superseded:
            return
        self._book.asked(told)
        answer = await self._call("memory_forget", {"id": told.id, "restore": not told.shown}, lambda: True)
        if answer:
            self._book.marked(told, answer)

    async def _call(self, tool: str, arguments: dict[str, Any], again: Callable[[], bool]) -> dict[str, Any] | None:
        """The answer; None where there is none. `again` says whether a call without one may be made once more."""
        while True:
            life, was_up, began_s = self._lives(), self._is_up(), time.monotonic()
            try:
                answer = await self._line.tool(tool, arguments)
                if answer.get("outcome") != "unknown":
                    return answer
                self._errors.unknown[tool] += 1
            except (Unanswered, Failed) as error:
                died = not was_up or not self._is_up() or self._lives() != life
                self._errors.met(tool, error, began_s, died=died)
                if isinstance(error, Failed) and error.code not in PASSING:
                    return None
            if not again():
                return None
            await asyncio.sleep(0.2 + self._chance.random() * 0.3)

    def _some_of_mine(self) -> Told | None:
        return self._chance.choice(self._mine[-50:]) if self._mine else None

    def _words(self, count: int) -> str:
        return " ".join(self._chance.choices(self._vocabulary, k=count))
