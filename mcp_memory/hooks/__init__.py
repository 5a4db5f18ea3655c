"""The hooks: memory put in front of an agent at the moments that its client offers. Standard library only.

Imports settings, client and what stands below them, and of these only what starts in milliseconds: a person's prompt
waits for it. Keeps one promise above all: whatever is wrong, with us or what we are given, the agent goes on as if we
were not there. `report` reads the log that this leaves.
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
    except BaseException as error:  # a broken installation, too
        _complain(error)
    finally:
        os._exit(0)  # not by way of Python's own end, which may print and fail


def _complain(error: BaseException) -> None:
    try:
        from mcp_memory.hooks.hook_log import HookLogLine, fallback_file

        HookLogLine().add_failure(error).write(fallback_file(os.environ))
    except BaseException:  # noqa: S110 -- there is nobody left to tell
        pass
