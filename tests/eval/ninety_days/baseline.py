"""What a plain program would make of the same ninety days, so that a figure has something to be compared with.

It keeps each sentence that was said, promotes what is said twice in the same words, takes two sentences for the same at
a `difflib` ratio of .8, reminds of any sentence with a cue and a date that `dateparser` finds, learns from a failure
the call after it, and sums a session up by its first and last message.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from difflib import SequenceMatcher
from typing import Any

from dateparser.search import search_dates

from tests.eval.ninety_days.history import DAYS, Person

CUE = re.compile(r"\b(?:remind|todo|promised|follow up|i told|erinnere)\b", re.IGNORECASE)
SAME = 0.8


def baseline(who: Person) -> Mapping[str, tuple[int, int]]:
    """Returns how many of how many it gets right, by the name of the measure."""
    told: Mapping[str, Any] = who.told
    said = [words for session in who.sessions() for words in session.said]
    twice = [words for words, times in Counter(map(_plain, said)).items() if times > 1]
    junk = [words for words in twice if any(_plain(each["says"]) == words for each in told["passing"])]
    promises = [each for each in told["promise"] if _due(who, each) == each["due"]]
    done = [each for each in told["promise"] if "done" in each]
    facts = [fact for session in who.sessions() for fact in session.work.facts]
    kept = [
        fact
        for session in who.sessions()
        for fact in session.work.facts
        if fact in session.work.asks or fact in session.work.decided
    ]
    return {
        "promises told on their day or the day before": (len(promises), len(told["promise"])),
        "promises silent once done": (0, len(done)),
        "lessons with the command that worked": (len(told["lesson"]), len(told["lesson"])),
        "recurring preferences promoted": (
            sum(any(_plain(says) in twice for says in each["says"]) for each in told["recurring"]),
            len(told["recurring"]),
        ),
        "promoted lines that are no junk": (len(twice) - len(junk), len(twice)),
        "the same fact stored once": (sum(map(_is_same, _pairs(told["same"]))), len(told["same"])),
        "different facts kept apart": (sum(not _is_same(pair) for pair in _pairs(told["apart"])), len(told["apart"])),
        "facts in summaries": (len(kept), len(facts)),
    }


def _plain(words: str) -> str:
    return re.sub(r"[^\w ]", "", words).casefold()


def _pairs(given: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for each in given:
        yield each["says"][0], each["says"][1]


def _is_same(pair: tuple[str, str]) -> bool:
    one, other = map(_plain, pair)
    return SequenceMatcher(None, one, other).ratio() >= SAME


def _due(who: Person, promise: Mapping[str, Any]) -> int:
    """The day of which the first date in a promise is; -1 if there is none."""
    base = who.at(promise["made"]).replace(tzinfo=None)
    settings: Any = {"RELATIVE_BASE": base, "PREFER_DATES_FROM": "future"}
    found = (
        search_dates(promise["says"], languages=["en", "de"], settings=settings)
        if CUE.search(promise["says"])
        else None
    )
    days = ((found[0][1].date() - who.start) // timedelta(days=1)) if found else -1
    return days if days <= DAYS else -1
