"""Three clients on one daemon at once: each finds what the others appended."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tests.clients.agents import Conversation, claude_code, codex, find_in_claude, inspector_calls
from tests.clients.machine import Machine
from tests.clients.stubs import AnthropicStub, OpenAIStub, call

T = TypeVar("T")

FACTS = {
    "claude": "Anna keeps the bees behind the chapel.",
    "codex": "Bertil repairs outboard engines in the red boathouse.",
    "inspector": "Cecilia sells smoked eel on Saturdays.",
}


def test_each_sees_the_others_appends(served: Machine, anthropic: AnthropicStub, openai: OpenAIStub) -> None:
    claude, other = claude_code(served, anthropic), codex(served, openai)

    def by_claude() -> str:
        talk = claude.ask(find_in_claude("memory_append"), call("memory_append", content=FACTS["claude"]))
        return talk.receipt(1)["id"]

    def by_codex() -> str:
        return other.ask(call("memory_append", content=FACTS["codex"])).receipt(0)["id"]

    def by_inspector() -> str:
        return inspector_calls(served, "memory_append", content=FACTS["inspector"])["structuredContent"]["id"]

    written = at_once(by_claude, by_codex, by_inspector)
    assert len(set(written)) == len(FACTS)

    searches = [call("memory_search", query=fact) for fact in FACTS.values()]

    def seen_by_inspector() -> list[str]:
        asked = [inspector_calls(served, "memory_search", query=fact) for fact in FACTS.values()]
        return [result["structuredContent"]["hits"][0]["id"] for result in asked]

    seen = at_once(
        lambda: first_hits(claude.ask(*searches)), lambda: first_hits(other.ask(*searches)), seen_by_inspector
    )
    assert seen == [written] * len(FACTS)


def first_hits(talk: Conversation) -> list[str]:
    """The id of the best hit of each search of a conversation."""
    return [talk.receipt(number)["hits"][0]["id"] for number in range(len(talk.called))]


def at_once(*works: Callable[[], T]) -> list[T]:
    """Do it all at the same time; the results in the order of the arguments."""
    with ThreadPoolExecutor() as pool:
        return [future.result() for future in [pool.submit(work) for work in works]]
