"""Groups texts about one subject. Pure."""

from collections.abc import Sequence

from mcp_memory.text.language.terms import containment, content_words

ONE_SUBJECT, LEAST_COMMON = 0.4, 2
"""The share of a text's words, and the fewest words, that another text about its subject has, too."""


def by_subject(texts: Sequence[str]) -> list[list[int]]:
    """Return groups of texts about one subject, as their numbers, in the order of the first text of each group."""
    words = list(map(content_words, texts))
    left, groups = list(range(len(texts))), list[list[int]]()
    while left:
        first, *others = left
        alike = [
            other
            for other in others
            if len(words[first] & words[other]) >= LEAST_COMMON
            and containment(words[first], words[other]) >= ONE_SUBJECT
        ]
        groups.append([first, *alike])
        left = [other for other in others if other not in alike]
    return groups
