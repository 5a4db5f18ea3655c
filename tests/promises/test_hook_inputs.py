"""A sample of `python -m tests.promises.hook_inputs`, and that it can see a fault."""

from __future__ import annotations

from tests.cli.conftest import served
from tests.daemon.place import Place
from tests.promises.hook_inputs import STORED, Call, fault_in, tried

__all__ = ["served"]


def test_whatever_a_hook_is_told_its_agent_goes_on(served: Place) -> None:
    served.run("append", "-k", "preference", STORED).ok()
    counts, faults = tried(served, 300, 12, seed=7)
    assert faults == []
    given, failed = (counts[f"{outcome} in what the log keeps"] for outcome in ("given", "failed"))
    assert given > 5 and failed > 20, "it is neither all in order nor all broken"


def test_what_a_client_could_not_read_is_a_fault() -> None:
    prompt = Call(("prompt", "--client", "codex"), b"{}")
    good = b'{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "x"}}'
    assert fault_in(prompt, good) is fault_in(prompt, b"") is None
    for out in (b"hello", b"{}", good.replace(b'"x"', b'""'), good.replace(b"User", b"Other"), good + b"\n{}"):
        assert fault_in(prompt, out)
    assert fault_in(Call(("stop", "--client", "codex"), b"{}"), good)
