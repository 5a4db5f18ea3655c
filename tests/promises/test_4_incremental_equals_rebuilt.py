"""Invariant 4: the index that was kept up to date equals one made from scratch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.promises.machine import VaultMachine
from tests.support.world import EXHAUSTIVE, more


def run(machine: type[VaultMachine], examples: int, steps: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_whatever_happens(toy_plugin: None) -> None:
    run(VaultMachine, 160 if EXHAUSTIVE else 5, 25)


@pytest.fixture
def with_minilm(model_cache: Path) -> Iterator[type[VaultMachine]]:
    yield type("MiniLMMachine", (VaultMachine,), {"provider": "auto", "models": model_cache})


def test_whatever_happens_with_the_real_model(with_minilm: type[VaultMachine]) -> None:
    run(with_minilm, more(1), 10)
