"""Holds the settings and shipped weights of confidence. Standard library only, since `settings` imports it early."""

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class ConfidenceConfig:
    """Section `[confidence]`. Each list is a logistic model for the available signs: the doubt, which is subtracted,
    then the weight of each sign; 0 for signs that `mcp-memory calibrate` finds useless.

    The shipped ones were fitted on three sets of equal weight, each balanced: development conversations (answerable
    against absent), the developer's questions (likewise) and prompts (memory wanted or not).
    """

    model: str = "all-MiniLM-L6-v2"
    """The name of the model whose cosines the weights were fitted to, or a part of it. For another model they are
    fitted automatically (`search/classifier_training.py`)."""
    weak_below: float = UNSURE
    words_and_vectors: tuple[float, float, float, float] = (5.07, 1.34, 2.17, 7.35)
    """Doubt; coverage by the best passage, by the first five; best cosine."""
    words: tuple[float, float, float] = (2.19, 2.80, 2.20)
    """Doubt; coverage by the best passage, by the first five."""
    vectors: tuple[float, float] = (4.59, 9.94)
    """Doubt; best cosine."""
    prompts: tuple[float, float, float, float, float] = (2.74, 0.49, 1.26, 7.2, 1.21)
    """For a whole prompt. Doubt; coverage by the best passage, by the first five; best cosine; memory intent. Fitted on
    the prompts of five people (`tests/eval/developer` and, of `tests/eval/strangers`, all but `ecology`), on none of
    whose prompts the intent was trained."""

    def fits(self, fingerprint: str) -> bool:
        """Whether the weights are for the embedder with this fingerprint."""
        return self.model in fingerprint.partition("@")[0]
