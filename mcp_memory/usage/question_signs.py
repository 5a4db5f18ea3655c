"""The signs of a question's vector: 48 bytes with the bundled model, enough to recognize it in other words."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mcp_memory.models import Vectors

SAME = 0.77
"""The share of equal signs above which two vectors are treated as the same question. Measured with the bundled model:
10 of 11 pairs that ask the same in other words are above it. So is 1 of 10 pairs that ask something else about the same
matter. So too few questions are counted."""


def pack_signs(vector: "Vectors") -> bytes:
    """Return the signs of a vector, shape (dimension,)."""
    return np.packbits(np.asarray(vector) > 0).tobytes()


def is_same_question(one: bytes, other: bytes) -> bool:
    """Compare the signs of two questions."""
    differ = (int.from_bytes(one) ^ int.from_bytes(other)).bit_count()
    return len(one) == len(other) and differ <= (1 - SAME) * 8 * len(one)
