"""Answers clients' hooks: adds memory to an agent's context at the moments that its client offers. Standard library
only.

Imports settings, client and the packages below them, and of these only modules that start in milliseconds, because a
prompt waits for the hook. If anything fails, here or in the input, the agent continues as without a hook.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def run(arguments: Sequence[str]) -> NoReturn:
    """Run `mcp-memory hook ARGUMENTS`. The process ends with exit code 0, whatever happens."""
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
