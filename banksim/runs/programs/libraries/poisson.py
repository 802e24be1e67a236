"""Poisson's numbers, as cuRAND makes them: by a table of columns that each hold two numbers (G. Marsaglia, W. W. Tsang
and J. Wang, "Fast generation of discrete random variables", 2004), or of large means by rounding normal numbers."""

from functools import lru_cache
from math import exp, lgamma, log

import numpy as np

from banksim.runs.programs.libraries.calls import Array

ROUNDED = 2000.0
"""The least mean whose numbers are rounded normal ones: so an H200's cuRAND has it."""


def of_words(words: Array, mean: float) -> Array:
    """A number of each word below 2^32."""
    first, shares, others = table(mean)
    place = (words + np.uint64(1)) * (2.0**-32 * len(shares))
    column = np.minimum(place.astype(np.int64), len(shares) - 1)
    numbers: Array = np.where(place - column < shares[column], column, others[column])
    numbers += first
    return numbers


def of_normal(numbers: Array, mean: float) -> Array:
    rounded: Array = np.floor(mean + np.sqrt(mean) * numbers.astype(float) + 0.5).astype(np.int64)
    return rounded


@lru_cache(maxsize=16)
def table(mean: float) -> tuple[int, Array, Array]:
    """The first number whose probability a double can hold. For it and each further one: the share that it takes of
    its own column, and the number that takes the rest of that column, counted from the first.

    In each round, columns that are not full are filled up by the highest number that has more than a column, until it
    has no more than one; then by the next lower one."""

    def probability(number: int) -> float:
        return exp(number * log(mean) - mean - lgamma(number + 1))

    first = last = int(mean)
    while first and probability(first - 1):
        first -= 1
    while probability(last + 1):
        last += 1
    size = last + 1 - first
    shares = [probability(number) * size for number in range(first, last + 1)]
    others, giver, going = list(range(size)), size - 1, True
    while going:
        going = False
        for column, share in enumerate(shares):
            while giver >= 0 and shares[giver] <= 1:
                giver -= 1
            if giver >= 0 and share < 1 and others[column] == column:
                others[column], going = giver, True
                shares[giver] -= 1 - share
    return first, np.array(shares), np.array(others)
