"""A program writes the summary: a real one, with a deadline, a bound, and little to see."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from mcp_memory.errors import SummarizerUnavailable
from mcp_memory.summarizers.base import Summary, SummaryRequest, SummarySource, open_summarizer
from mcp_memory.summarizers.config import SummarizerConfig
from tests.summarizers.conftest import BODY, GOOD, SOURCES, TITLE

Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A summarizer that asks this Python program, in place of an agent's."""
    file = tmp_path / "bin" / "claude"
    file.parent.mkdir()
    monkeypatch.setenv("PATH", str(file.parent), prepend=os.pathsep)

    def run(program: str, *arguments: str, **options: Any):
        head = f"#!{sys.executable}\nimport sys, os, json, time, subprocess\nsys.argv = ['claude', *{arguments!r}]\n"
        file.write_text(head + program, encoding="utf-8")
        file.chmod(0o755)
        config = SummarizerConfig(provider="claude", **{"timeout_s": 30.0, **options})
        return open_summarizer(config, tmp_path / "spent.json")

    return run


def until(condition: Callable[[], bool]) -> None:
    waiting = threading.Event()
    for _ in range(1000):
        if condition():
            return
        waiting.wait(0.02)
    raise AssertionError("it never came to be")


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("pass", "answered with nothing"),
        ("sys.stdout.buffer.write(bytes(range(256)) * 99)", "something unrelated to the notes"),
    ],
)
def test_an_answer_of_no_use_leaves_it_to_the_notes(run, request_of_notes, program, problem):
    summary = run(program).summarize(request_of_notes)
    assert summary.provisional and summary.by == "extractive" and problem in summary.problem


@pytest.mark.parametrize("program", ["while True: print('staging pool ' * 1000)", "print('staging pool ' * 10_000)"])
def test_an_endless_answer_is_cut_and_not_waited_for(run, request_of_notes, program):
    summary = run(program, timeout_s=250).summarize(request_of_notes)
    assert summary.provisional and "more than asked for" in summary.problem


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("print(sys.argv[1]); sys.exit(3)", "ended with exit code 3"),
        ("os.kill(os.getpid(), 9)", "was killed by signal 9"),
        ("print(sys.stdin.read(), file=sys.stderr); sys.exit('40 slots')", "ended with exit code 1"),
    ],
)
def test_a_program_that_fails_is_left_alone_for_a_while(run, request_of_notes, program, problem):
    summarizer = run(program, GOOD)
    summary = summarizer.summarize(request_of_notes)
    assert summary.provisional and problem in summary.problem and "40 slots" not in summary.problem
    assert "asked again in" in summarizer.summarize(request_of_notes).problem


def test_a_program_need_not_read(run):
    """The prompt is far larger than a pipe holds."""
    request = SummaryRequest(
        [SummarySource("Pool", "The staging connection pool has 40 slots. " * 20_000), *SOURCES], 60
    )
    summarizer = run("os.close(0); print(sys.argv[1])", GOOD, prompt_tokens=200_000)
    assert summarizer.summarize(request) == Summary(TITLE, BODY, "claude")


def test_a_long_prompt_and_a_long_answer_do_not_wait_for_each_other(run):
    request = SummaryRequest([SummarySource("Pool", "The staging connection pool has 40 slots. " * 20_000)], 50_000)
    say = "print('- The staging connection pool has 40 slots.\\n' * 1800, flush=True)"
    program = f"os.read(0, 8192); {say}; sys.stdin.read()"
    assert not run(program, prompt_tokens=200_000).summarize(request).provisional


FAMILY = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
open(sys.argv[1] + ".tmp", "w").write(f"{os.getpid()} {child.pid}"); os.rename(sys.argv[1] + ".tmp", sys.argv[1])
"""


def gone(pids: list[int]) -> bool:
    return not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids)


@pytest.mark.parametrize("end", ["time.sleep(300)", "sys.exit()"], ids=["hangs", "leaves its child with its output"])
def test_a_deadline_ends_a_program_with_all_that_it_started(run, tmp_path, request_of_notes, end):
    file = tmp_path / "pids"
    summary = run(FAMILY + end, str(file), timeout_s=3.0).summarize(request_of_notes)
    assert summary.provisional and "did not answer within 3 s" in summary.problem
    pids = [int(pid) for pid in file.read_text().split()]
    until(lambda: gone(pids))


def test_closing_ends_a_program_and_is_no_failure(run, tmp_path, request_of_notes):
    file = tmp_path / "pids"
    summarizer = run(FAMILY + "time.sleep(300)", str(file), timeout_s=250)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(summarizer.summarize, request_of_notes)
        until(file.exists)
        summarizer.close()
        with pytest.raises(SummarizerUnavailable, match="closed"):
            answer.result(timeout=15)
    until(lambda: gone([int(pid) for pid in file.read_text().split()]))
    assert not run("print(sys.argv[1])", GOOD).summarize(request_of_notes).provisional


def test_a_program_that_goes_on_after_its_answer_is_ended(run, request_of_notes):
    program = "print(sys.argv[1], flush=True); os.close(1); time.sleep(300)"
    summary = run(program, GOOD, timeout_s=2.0).summarize(request_of_notes)
    assert summary.provisional and "did not answer within 2 s" in summary.problem


def test_a_program_that_is_not_there_is_told(run, tmp_path, request_of_notes):
    summarizer = run("print(sys.argv[1])", GOOD)
    (tmp_path / "bin" / "claude").unlink()
    os.environ["PATH"] = str(tmp_path / "bin")
    assert "claude cannot be run: No such file" in summarizer.summarize(request_of_notes).problem


def test_nothing_is_left_behind(run, request_of_notes, tmp_path, monkeypatch):
    """Neither an open file nor a child that was not waited for."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    run("print(sys.argv[1])", GOOD).summarize(request_of_notes)
    me = psutil.Process()
    before, children = me.num_fds(), me.children()
    for program in ("print(sys.argv[1])", "sys.exit(1)", "while True: print('staging pool ' * 1000)"):
        run(program, GOOD, back_off_s=0.0).summarize(request_of_notes)
    assert me.num_fds() == before
    assert list((tmp_path / "tmp").iterdir()) == []
    assert me.children() == children


def test_a_signal_in_the_caller_changes_nothing(run, request_of_notes):
    """The program is in a session of its own: Ctrl-C at a terminal does not reach it."""
    program = "assert os.getsid(0) == os.getpid(); print(sys.argv[1])"
    assert run(program, GOOD).summarize(request_of_notes).text == BODY
    assert signal.getsignal(signal.SIGCHLD) in {signal.SIG_DFL, None}
