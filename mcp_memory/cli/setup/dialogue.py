"""Asks questions and prints the answers, step by step."""

import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import click

from mcp_memory.cli.command_context import CommandContext
from mcp_memory.cli.console import Heading, asking, confirm, is_terminal, say_all
from mcp_memory.errors import McpMemoryError


@dataclass
class Dialogue:
    """A dialogue with the person. With `--json` it prints nothing; `report` has what was found and done. With `preview`
    nothing is agreed to."""

    cli: CommandContext
    yes: bool
    preview: bool
    report: dict[str, Any] = field(default_factory=dict[str, Any])
    has_failed: bool = False

    def say(self, text: str, *, indent: int = 2) -> None:
        """Print a paragraph that fits the terminal, if there is one."""
        if not self.cli.as_json:
            width = min(shutil.get_terminal_size().columns, 100) if is_terminal() else sys.maxsize
            margins = " " * indent, " " * (indent + 2)
            wrapper = textwrap.TextWrapper(width, *margins, break_long_words=False, break_on_hyphens=False)
            say_all(wrapper.wrap(text))

    def head(self, title: str) -> None:
        if not self.cli.as_json:
            say_all(["", Heading(title)])

    def agree(self, question: str, show_more: Callable[[], None] | None = None) -> bool:
        """Return whether to do it: you agreed, or passed --yes. `d` shows more before. Raises Abort."""
        if self.preview or self.yes or show_more is None:
            return not self.preview and (self.yes or confirm(f"  {question}", default=True))
        shown = click.Choice(["y", "yes", "n", "no", "d"], case_sensitive=False)
        asked = partial(click.prompt, default="y", type=shown, show_default=False, show_choices=False)
        with asking():
            while (answer := asked(f"  {question} d shows them", prompt_suffix=" [Y/n]: ")) == "d":
                show_more()
        return answer.startswith("y")

    def choose(self, question: str, choices: Sequence[str]) -> str:
        """Return one of the choices, the first unless you name another. Raises Abort."""
        with asking():
            return click.prompt(f"  {question}", default=choices[0], type=click.Choice(choices, case_sensitive=False))

    def fail(self, what: str, error: McpMemoryError) -> None:
        """Print why a step was not possible; the other steps go on."""
        self.has_failed = True
        self.say(f"{what}: {error.message}")
        if error.hint:
            self.say(f"→ {error.hint}", indent=4)
