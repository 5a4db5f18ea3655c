"""Answers clients' hooks: puts memory in front of an agent at the moments its client offers. Standard library only.

Imports settings, client and what is below them, and of these only what starts in milliseconds, because a prompt waits
for it. If anything fails, here or in the input, the agent goes on as it would without a hook.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def run(arguments: Sequence[str]) -> NoReturn:
    """`mcp-memory hook ARGUMENTS`. The process ends with exit code 0, whatever happens."""
    try:
        from mcp_memory.hooks.deadline import Deadline, process_age_s
        from mcp_memory.hooks.hook_command import budget_ms, hook, read_input, write_output

        deadline = Deadline(budget_ms(arguments, os.environ), process_age_s()).armed()
        hook(arguments, os.environ, read_input, write_output, deadline)
    except BaseException as error:  # even a broken installation
        _log_failure(error)
    finally:
        os._exit(0)  # Python's own exit may print and fail


def _log_failure(error: BaseException) -> None:
    try:
        from mcp_memory.hooks.hook_log import HookLogLine, fallback_file

        HookLogLine().add_failure(error).write(fallback_file(os.environ))
    except BaseException:  # noqa: S110 -- nobody is left to hear of it
        pass
