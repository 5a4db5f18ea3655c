"""What a language model may cost: a day's calls and tokens, and rest after a failure; over restarts and odd clocks."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_memory.errors import SummarizerUnavailable
from mcp_memory.summarizers.base import ModelUsage
from mcp_memory.summarizers.config import SummarizerConfig
from mcp_memory.summarizers.fallback import LONGEST_BACK_OFF_S, Quota

CONFIG = SummarizerConfig(calls_a_day=3, tokens_a_day=100, back_off_s=60)
NOON = 1_800_000_000 - 1_800_000_000 % 86_400 + 43_200.0


@dataclass
class Clock:
    now: float = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "spent.json"


def test_calls_of_a_day_end_and_begin_anew_at_midnight(file: Path, clock: Clock):
    allowance = Quota(CONFIG, file, clock)
    for _ in range(3):
        allowance.spend(1)
    with pytest.raises(SummarizerUnavailable, match=r"today's 3 calls .*calls_a_day"):
        allowance.spend(1)
    with pytest.raises(SummarizerUnavailable, match="calls"):
        Quota(CONFIG, file, clock).spend(1)
    clock.now += 43_200
    Quota(CONFIG, file, clock).spend(1)


def test_tokens_are_counted_as_they_came_to(file: Path, clock: Clock):
    allowance = Quota(CONFIG, file, clock)
    allowance.spend(90)
    with pytest.raises(SummarizerUnavailable, match=r"20 more tokens .*today's 100 .*tokens_a_day"):
        allowance.spend(20)
    allowance.answered(90, 30)
    Quota(CONFIG, file, clock).spend(70)


def test_a_failure_costs_a_rest_that_grows_and_ends_with_an_answer(file: Path, clock: Clock):
    config = SummarizerConfig(calls_a_day=1000, tokens_a_day=10_000, back_off_s=60)
    rests = []
    for _ in range(9):
        allowance = Quota(config, file, clock)
        allowance.spend(1)
        allowance.failed("it is down")
        begun = clock.now
        while True:
            try:
                Quota(config, file, clock).spend(0)
                break
            except SummarizerUnavailable as error:
                assert "asked again in" in str(error)
                clock.now += 30
        rests.append(clock.now - begun)
    assert rests[:4] == [60, 120, 240, 480] and rests[-1] == LONGEST_BACK_OFF_S
    allowance = Quota(config, file, clock)
    allowance.answered(0, 0)
    allowance.failed("it is down")
    clock.now += 61
    allowance.spend(1)


def test_a_clock_that_was_ahead_silences_nobody(file: Path, clock: Clock):
    clock.now += 10 * 365 * 86_400
    allowance = Quota(CONFIG, file, clock)
    for _ in range(3):
        allowance.spend(1)
    allowance.failed("it is down")
    clock.now = NOON
    allowance.spend(1)
    Quota(CONFIG, file, clock).spend(1)


def test_the_last_failure_is_told_until_an_answer(file: Path, clock: Clock):
    allowance = Quota(CONFIG, file, clock)
    allowance.spend(30)
    allowance.failed("it is down")
    assert Quota(CONFIG, file, clock).usage() == ModelUsage(1, 3, 30, 100, "it is down")
    clock.now += 86_400
    assert allowance.usage() == ModelUsage(0, 3, 0, 100, "it is down")
    allowance.spend(30)
    allowance.answered(30, 20)
    assert Quota(CONFIG, file, clock).usage() == ModelUsage(1, 3, 20, 100)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"null", b"[1]", b"\xff", b'{"calls": 9}{', b'{"calls": "9"}', b'{"calls": -9}', b'{"calls": NaN}',
     b'{"x": 1}', b'{"problem": 3}', b'{"calls": null}', b"[" * 100_000],
    ids=range(13),
)  # fmt: skip
def test_a_damaged_file_counts_as_none(file: Path, clock: Clock, data: bytes):
    file.parent.mkdir()
    file.write_bytes(data)
    Quota(CONFIG, file, clock).spend(1)
    assert json.loads(file.read_bytes())["calls"] == 1


def test_the_file_is_private_and_alone(file: Path, clock: Clock):
    Quota(CONFIG, file, clock).spend(1)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


def test_what_cannot_be_counted_is_not_spent(file: Path, clock: Clock):
    file.mkdir(parents=True)
    with pytest.raises(SummarizerUnavailable, match=r"cannot write spent\.json"):
        Quota(CONFIG, file, clock).spend(1)
    assert list(file.parent.iterdir()) == [file]


def test_a_failure_that_cannot_be_written_holds_all_the_same(file: Path, clock: Clock):
    allowance = Quota(CONFIG, file, clock)
    allowance.spend(1)
    file.unlink()
    file.mkdir()
    allowance.failed("it is down")
    file.rmdir()
    with pytest.raises(SummarizerUnavailable, match="asked again in"):
        allowance.spend(1)


def test_many_at_once_get_no_more_than_one_by_one(file: Path, clock: Clock):
    allowance = Quota(SummarizerConfig(calls_a_day=20), file, clock)

    def takes(_: int) -> bool:
        try:
            allowance.spend(1)
        except SummarizerUnavailable:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(takes, range(60))) == 20
    assert json.loads(file.read_bytes())["calls"] == 20


def test_it_says_when_it_allows_a_call_again_and_counts_none(file: Path, clock: Clock):
    allowance = Quota(CONFIG, file, clock)
    assert allowance.free_in_s() == 0
    allowance.spend(10)
    allowance.failed("it is down")
    pause_s = allowance.free_in_s()
    assert 0 < pause_s == Quota(CONFIG, file, clock).free_in_s()
    clock.now += pause_s / 2
    assert allowance.free_in_s() == pytest.approx(pause_s / 2)
    with pytest.raises(SummarizerUnavailable):
        allowance.spend(10)
    clock.now += pause_s / 2
    assert allowance.free_in_s() == 0
    allowance.spend(90)
    assert allowance.free_in_s() == (NOON // 86_400 + 1) * 86_400 - clock.now, "the day's tokens are used up"
    clock.now += allowance.free_in_s()
    assert allowance.free_in_s() == 0
    for _ in range(3):
        allowance.spend(1)
    assert 0 < allowance.free_in_s() <= 86_400, "and here its calls"
