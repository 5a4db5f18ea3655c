"""The command line. It imports everything below; nothing imports it.

`main` looks at the first word before it imports anything: an agent's start-up waits for `headers` and `stdio`, and a
prompt for `hook`.
"""

import os
import sys


def main() -> int:
    """Run `mcp-memory`. Returns the exit code: 0 ok, 1 failed, 2 usage, 3 not running or busy, 4 not found, 6 changed
    by another program."""
    first, rest = _first_word(sys.argv[1:])
    if first == "--detached":
        from mcp_memory.client.detached_process import detach

        del sys.argv[1]
        return detach(main)
    if first in {"headers", "stdio"}:
        from mcp_memory.cli.clients import proxies

        return (proxies.headers if first == "headers" else proxies.stdio)(rest)
    if first == "hook":
        from mcp_memory.hooks import run as run_hook

        run_hook(rest)
    from mcp_memory.runtime.telemetry import switch_off

    switch_off()
    from mcp_memory.cli.command_tree import run

    code = run()
    _leave_threads(code)
    return code


def _first_word(words: list[str]) -> tuple[str, list[str]]:
    """Return the first word behind `--vault` and `--config`, and all other words, with these options at the end."""
    at = 0
    while at < len(words) and words[at].partition("=")[0] in {"--vault", "--config"}:
        at += 1 if "=" in words[at] else 2
    return words[at] if at < len(words) else "", [*words[at + 1 :], *words[:at]]


def _leave_threads(code: int) -> None:
    """End the process now if a thread hangs on a dead disk or loads a model, because Python would wait for it, or
    abort."""
    import threading

    if threading.active_count() == 1:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
