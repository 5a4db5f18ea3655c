"""Holds the thresholds of confidence and relevance. Standard library only, since `settings` imports it early.

They aren't settings, because each was chosen on labelled questions and prompts together with the fitted weights. A
phase of recall can have other thresholds. `tests/eval` measures them again (`test_developer`, `test_strangers`).
"""

UNSURE = 0.18
"""The confidence below which an answer is probably noise. Of the questions on conversations, 1 % of the answerable ones
are below it, and a quarter of the questions about things that nobody ever said."""

UNWANTED = 0.4
"""The likelihood below which a prompt needs no memory. This and the thresholds below were chosen by simulation on the
prompts of three lived histories and of seven other people. A line that points to titles counts as one passage. With .5,
.07 and no pointers beside a passage, 39 and 56 % of what is shown help. 39 of 103 and 76 % of the prompts that need
memory get something. With these thresholds, it is 47 and 55 %, and 40 of 103 and 80 %. 59 % of the other people's
prompts get all that they need, instead of 54 %. Another processor's int8 arithmetic moves a prompt or two across a
threshold."""

IRRELEVANT = 0.07
"""The probability of helping with a prompt below which a passage is skipped."""

POINTED, POINTED_BESIDE = 0.15, 0.2
"""The probability that one passage must reach before a line points to the titles of those below `LIKELY`, and the
probability that each must reach if passages are shown."""

LIKELY = 0.3
"""The probability from which a passage is shown. With .25 or .35, fewer prompts get what they need, or fewer passages
help; it was chosen on seven lived histories by four authors, each excluded from the fit of the weights."""
