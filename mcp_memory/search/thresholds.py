"""Holds the thresholds of confidence and relevance. Standard library only, since `settings` imports it early.

They aren't settings, because each was chosen on labelled questions and prompts together with the fitted weights. A
phase of recall can have others. `python -m tests.benchmarks --only silence` measures them again.
"""

UNSURE = 0.18
"""Below this confidence an answer is probably noise: of the questions on conversations 1 % of the answerable ones, and
a quarter of those about things that nobody ever said."""

UNWANTED = 0.34
"""Below this a prompt wants no memory. On average it silences 5 % of the prompts that want some, of the five people
whose prompts the weights were fitted on: 4 % of the developer's, and 89 % of those that want none; 9, 0, 7 and 3 % of
four strangers', and 77, 76, 84 and 84 %; 9 and 81 % of a fifth's, who had no part in the fit. Another processor's int8
arithmetic moves a prompt or two of each across it."""

IRRELEVANT = 0.04
"""Passages that help with a prompt with a lower probability stay out of it. Of six people's prompts, each person left
out of the fit: of the notes shown 31 % help instead of 10 %, 87 % of the prompts that want memory get one that does
instead of 92 %, and 74 % all of theirs instead of 86 %, for 30 % of the tokens. At .03 27, 88 and 76 % for 35 % of the
tokens, at .07 39, 82 and 67 % for 23 %, at .2 59, 74 and 54 % for 14 %."""
