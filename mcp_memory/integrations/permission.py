"""Claude Code's permission to call our tools: a rule in its settings. Without one it asks before each call, and refuses
where nobody can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_memory.integrations import jsonc
from mcp_memory.integrations.config_tree import list_at

_PATH = ("permissions", "allow")


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """`server` is its name in Claude Code's configuration; `others` are names that it had, or has twice."""

    server: str
    others: Sequence[str] = ()
    what = "the permission to call the memory tools"

    def insert(self, text: str) -> str:
        for other in self.others:
            text = self._without(text, other, text)
        of_server = f"mcp__{self.server}"
        said = [str(rule) for kind in ("ask", "deny") for rule in _rules(text, kind)]
        if any(rule == of_server or rule.startswith(f"{of_server}__") for rule in said):
            return text  # a person has said what they want
        if {of_server, f"{of_server}__*", rule_for(self.server)} & {*map(str, _rules(text, "allow"))}:
            return text
        return jsonc.append(text, _PATH, rule_for(self.server))

    def remove(self, text: str, before: str | None) -> str:
        for name in (self.server, *self.others):
            text = self._without(text, name, before)
        return text

    def is_in(self, text: str) -> bool:
        return any(rule_for(name) in _rules(text, "allow") for name in (self.server, *self.others))

    def _without(self, text: str, name: str, before: str | None) -> str:
        rules = _rules(text, "allow")
        if rule_for(name) not in rules:
            return text
        return jsonc.remove(text, (*_PATH, rules.index(rule_for(name))), before)


def rule_for(server: str) -> str:
    """What allows our tools. People write `mcp__NAME` or `mcp__NAME__*`, so that this one is known to be ours."""
    return f"mcp__{server}__memory_*"


def _rules(text: str, kind: str) -> list[object]:
    return list_at(jsonc.value_of(text), "permissions", kind)
