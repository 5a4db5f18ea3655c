"""Separates the words that a person typed from words that a program wrote in the person's name. Pure."""

import re

_INSERTED = r"system[-_]reminder|hook_context|ide_[a-z_]{1,40}|new-diagnostics|[a-z-]{1,40}-hook"
"""Tags that clients add to typed words."""

_FRAME = re.compile(rf"(?<!`)<({_INSERTED})(?:\s[^<>\n]{{0,500}})?>.*?(?:</\1\s{{0,9}}>|\Z)", re.DOTALL)
_LEFT_OPEN = re.compile(rf"\A.*(?<!`)</(?:{_INSERTED})\s{{0,9}}>(?!`)", re.DOTALL)
"""Matches a closing tag that remains of nested frames."""

_BY_A_PROGRAM = re.compile(
    r"[\s\ufeff]*(?:"
    # Claude Code
    r"</?(?:task[-_]notification|local-command-|bash-|user-memory-input|teammate-message)|"
    r"\[SYSTEM (?:NOTIFICATION|MESSAGE|REMINDER|EVENT|NOTICE)\b|\[Request interrupted|"
    r"[A-Z][A-Za-z]{1,30}(?::[^\n]{1,120}?)? hook (?:feedback|success|additional context|blocking error|"
    r"stopped continuation)\b|"
    r"This session is being continued from a previous conversation|Caveat: The messages below|"
    r"Base directory for this skill:|Implement the following plan:|"
    # Codex
    r"<(?:environment_context|user_instructions|turn_aborted|skill|user_shell_command|subagent_notification|"
    r"hook_prompt|user_action)\b|# AGENTS\.md instructions|"
    r"Another language model started to solve this problem and produced a summary|"
    r"Warning: (?:The maximum number of unified exec processes|apply_patch was requested via)|"
    # Gemini CLI
    r"<(?:session_context|state_snapshot)>|"
    # OpenClaw
    r"System: \[|\[cron:|\[Subagent (?:Context|Task)\]|\[Inter-session message\]|"
    r"The conversation history before this point was compacted)"
)
"""Matches the start of messages that nobody typed: notices, output of commands and hooks, summaries of compactions."""


def typed_words(message: str) -> str:
    """Return the message without its client's additions; empty if a program wrote it."""
    words = _LEFT_OPEN.sub("", _FRAME.sub("", message))
    return "" if _BY_A_PROGRAM.match(words) else words
