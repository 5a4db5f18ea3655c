"""Decides whether two sentences of one form are about two things: two places, months, runs, or opposites."""

from mcp_memory.comparison.change_words import OPPOSITES
from mcp_memory.comparison.sentence import ParsedSentence
from mcp_memory.comparison.values import MEASURED, is_same


def are_apart(old: ParsedSentence, new: ParsedSentence) -> bool:
    """Return whether the sentences name two environments, months, measures, numbers (`Sprint 14`, `Sprint 15`) or
    opposites (`upload`, `download`)."""
    if old.environments != new.environments or (old.months and new.months and not old.months & new.months):
        return True
    if old.labels and new.labels and not old.labels & new.labels:
        return True
    return any(differ_within(group, old.words, new.words) for group in OPPOSITES) or numbers_differ(old, new)


def are_in_two_places(old: ParsedSentence, new: ParsedSentence) -> bool:
    one, two = old.environments, new.environments
    return bool(one and two and not one & two)


def differ_within(group: frozenset[str], old: frozenset[str], new: frozenset[str]) -> bool:
    """Return whether each of two sets of words has a word of the group that the other set lacks."""
    return bool((old & group) - new and (new & group) - old)


def numbers_differ(old: ParsedSentence, new: ParsedSentence) -> bool:
    """Return whether the sentences are about two numbers, such as `Sprint 14` and `Sprint 15`."""
    return bool(old.subject_numbers - new.keys and new.subject_numbers - old.keys)


def is_modified(old: ParsedSentence, new: ParsedSentence) -> bool:
    """Return whether a shared word follows a different word in each sentence: `audit logs` and `access logs`."""
    return any(
        not (token.is_value or other.is_value)
        and is_same(token.key, other.key)
        and token.start - one.end <= 1
        and other.start - two.end <= 1
        and one.key not in new.keys
        and two.key not in old.keys
        and not {one.type, two.type} & (MEASURED | {"identifier"})
        for one, token in zip(old.tokens, old.tokens[1:], strict=False)
        for two, other in zip(new.tokens, new.tokens[1:], strict=False)
    )
