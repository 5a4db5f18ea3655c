"""Memory in front of the agent: what a hook costs beside a bare interpreter, and what 100 prompts are told."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

from mcp_memory.client.connection import Address
from mcp_memory.settings.raw_settings import PROMPT_MS, SESSION_START_MS
from tests.benchmarks.calls import Timed, in_turns, timed
from tests.benchmarks.figures import Figure, percentile
from tests.benchmarks.search import SMALL
from tests.benchmarks.shell import SCRIPT
from tests.benchmarks.site import Daemon, Site, fresh, indexed

ROUNDS = 200
HUNG_ROUNDS = 50
WORK_ROUNDS = 50
ADDED_MS = 60.0
DEVELOPER = Path(__file__).parents[1] / "eval" / "developer"
PROMPTS = 100


def hooks() -> Iterator[Figure]:
    """The process of one hook with a daemon over 10,000 chunks, with none, and with one that never answers; then 100
    prompts of a developer's session."""
    site = indexed(SMALL)
    with site.daemon() as daemon, fresh() as nowhere, fresh() as stuck, _hung(stuck):
        daemon.until_complete()
        events = ("session-start", "prompt", "before-tool", "after-tool", "subagent-start")
        calls = [_bare(site), *(_hook(site, event) for event in events), _hook(nowhere, "prompt")]
        bare, start, prompt, before, after, subagent, down = in_turns(calls, ROUNDS, warm_up=3)
        hung, hung_start = in_turns([_hook(stuck, "prompt"), _hook(stuck, "session-start")], HUNG_ROUNDS, warm_up=1)
    base = percentile(bare, 50) * 1e3
    for name, taken, budget in (
        ("session start", start, SESSION_START_MS),
        ("prompt", prompt, PROMPT_MS),
        ("before a tool", before, PROMPT_MS),
        ("after a failure", after, PROMPT_MS),
        ("a sub-agent's start", subagent, SESSION_START_MS),
        ("prompt, no daemon", down, PROMPT_MS),
        ("prompt, hung daemon", hung, PROMPT_MS),
        ("session start, hung daemon", hung_start, SESSION_START_MS),
    ):
        p50, p99 = (percentile(taken, share) * 1e3 for share in (50, 99))
        if "hung" not in name:
            about = f"{p50 / base:.1f} × `python -c pass`, {base:.3g} ms"
            yield Figure(f"hook: {name}, p50 over a bare interpreter", p50 - base, "ms", ADDED_MS, about=about)
        yield Figure(f"hook: {name}, p99", p99, "ms", budget, about=f"{p99 / base:.1f} × a bare interpreter's p50")
    yield Figure("hook: prompt, processor time over a bare interpreter", _work_ms(site), "ms", ADDED_MS)
    yield from _session()


def _bare(site: Site) -> Timed:
    return lambda _: _run(site, "pass", data="")


def _hook(site: Site, event: str) -> Timed:
    def call(number: int) -> float:
        question = SMALL.question(number)
        said: dict[str, Any] = {"session_id": f"{number}", "cwd": str(site.root)}
        if event == "before-tool":
            said |= {"tool_name": "Bash", "tool_input": {"command": f"pnpm run build && git commit -m '{question}'"}}
        elif event == "after-tool":
            said |= {"tool_name": "Bash", "error": f"Exit code 1\n{question}\n" + "E1234: no such table\n" * 200}
        else:
            said |= {"prompt": question, "agent_type": "general-purpose"}
        return _run(site, SCRIPT, "hook", event, "--client", "benchmarks", data=json.dumps(said))

    return call


def _work_ms(site: Site) -> float:
    """Mean processor time of a prompt's hook, less that of an interpreter: other work on the machine adds little."""
    with site.daemon() as daemon:
        daemon.until_complete()
        bare, ours = (_used_ms(call) for call in (_bare(site), _hook(site, "prompt")))
    return ours - bare


def _used_ms(call: Timed) -> float:
    before = getrusage(RUSAGE_CHILDREN)
    for number in range(WORK_ROUNDS):
        call(number)
    after = getrusage(RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / WORK_ROUNDS * 1e3


def _run(site: Site, program: str, *arguments: str, data: str) -> float:
    command: Sequence[str] = [sys.executable, "-c", program, *arguments]
    return timed(
        lambda: subprocess.run(
            command, input=data.encode(), env=site.environ, cwd=site.root, check=True, capture_output=True
        )
    )


@contextmanager
def _hung(site: Site) -> Iterator[None]:
    """Something that takes connections in the daemon's place, and never says a word."""
    site.settings.state.make()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = Address("127.0.0.1", listening.getsockname()[1], "", 1, "0.1.0", str(site.vault))
        address.write(site.settings.state.daemon)
        yield


def _session() -> Iterator[Figure]:
    """A developer's vault, and every third of the prompts that an agent of hers was given, in one session."""
    lines = (DEVELOPER / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
    prompts = [json.loads(line)["prompt"] for line in lines[:: len(lines) // PROMPTS]][:PROMPTS]
    with fresh() as site:
        shutil.copytree(DEVELOPER / "vault", site.vault, dirs_exist_ok=True)
        with site.daemon() as daemon:
            daemon.until_complete()
            start = _told(daemon, None)
            told = [_told(daemon, prompt) for prompt in prompts]
            cold = [_told(daemon, prompt, session=f"one prompt {number}") for number, prompt in enumerate(prompts)]
    shown = Counter(each for text, _ in (start, *told) for each in _passages(text))
    tokens, spoken = [cost for _, cost in told], [cost for _, cost in told if cost]
    twice = sum(count - 1 for count in shown.values())
    yield Figure(f"passages given twice in {PROMPTS} prompts", twice, "of " + str(len(shown)), 0)
    about = f"{len(spoken)} of {PROMPTS} were told something, these {percentile(spoken, 50):.0f}; start {start[1]}"
    yield Figure("tokens per prompt, median", percentile(tokens, 50), "tokens", float("inf"), about=about)
    about = f"the same as the first prompt of as many sessions: {sum(cost for _, cost in cold)}"
    yield Figure(f"tokens of {PROMPTS} prompts", sum(tokens), "tokens", float("inf"), about=about)


def _told(daemon: Daemon, prompt: str | None, *, session: str = "s") -> tuple[str, int]:
    answer = daemon.connection.call("brief", {"session": session, **({"prompt": prompt} if prompt else {})})
    return str(answer["text"]), int(answer["tokens"])


def _passages(text: str) -> Iterator[str]:
    """All lines that are quoted, without their heads."""
    for line in text.split("\n")[1:]:
        if line.endswith(">>>"):
            break
        if line.strip(">") and not line.startswith("Left out"):
            yield line.partition(": ")[2] or line
