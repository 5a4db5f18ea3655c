"""Holds the thresholds of confidence and relevance. Standard library only, since `settings` imports it early.

They aren't settings, because each was chosen on labelled questions and prompts together with the fitted weights. A
phase of recall can have other thresholds. `tests/eval` measures them again (`test_developer`, `test_strangers`).
"""

UNSURE = 0.18
"""The confidence below which an answer is probably noise. Of the questions on conversations, 1 % of the answerable ones
are below it, and a quarter of the questions about things that nobody ever said."""

UNWANTED = 0.5
"""The likelihood below which a prompt needs no memory. Measured on seven lived histories by four authors, each excluded
from the fit: it silences 83 % of the prompts that need none, and 40 % of the prompts that need memory. With the former
weights and .34, these were 55 and 25 %. Of six people's single prompts, each excluded from the fit, it silences 68 and
9 %. Another processor's int8 arithmetic moves a prompt or two of each person across it."""

IRRELEVANT = 0.07
"""The probability of helping with a prompt below which a passage is skipped."""

LIKELY = 0.3
"""The probability from which a passage is shown. If none reaches it, a line points to the titles of the others.
Measured as above, with each such line counted as one passage: 33 % of the passages help, instead of 15 % with the
former weights and bars. Of the prompts whose answer is stored, 42 % get it, instead of 62 %. For single prompts, these
are 52 % instead of 34 %, and 75 % instead of 88 %. Precision counts more, since nobody asked."""
