"""Holds the thresholds of confidence and relevance. Standard library only, since `settings` imports it early.

They aren't settings, because each was chosen on labelled questions and prompts together with the fitted weights. A
phase of recall can have other thresholds. `tests/eval` measures them again (`test_developer`, `test_strangers`).
"""

UNSURE = 0.18
"""The confidence below which an answer is probably noise. Of the questions on conversations, 1 % of the answerable ones
are below it, and a quarter of the questions about things that nobody ever said."""

UNWANTED = 0.34
"""The likelihood below which a prompt needs no memory. It silences 5 % of the prompts that need memory, on average over
the five people of the fit. These are 4 % of the developer's, and 9, 0, 7 and 3 % of four strangers' prompts. Of the
prompts that need none, it silences 89 % of the developer's, and 77, 76, 84 and 84 % of the strangers'. For a fifth
stranger, who had no part in the fit, these are 9 and 81 %. Another processor's int8 arithmetic moves a prompt or two of
each person across it."""

IRRELEVANT = 0.04
"""The probability of helping with a prompt below which a passage is skipped. Measured on six people's prompts, each
person excluded from the fit. Of the notes shown, 31 % help instead of 10 %, for 30 % of the tokens. Of the prompts that
need memory, 87 % instead of 92 % get a note that helps, and 74 % instead of 86 % get all of theirs. At .03 these are
27, 88 and 76 % for 35 % of the tokens. At .07 they are 39, 82 and 67 % for 23 %, and at .2 59, 74 and 54 % for 14 %."""
