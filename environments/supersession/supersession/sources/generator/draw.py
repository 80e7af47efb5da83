"""A random source that gives the same draws on every platform and Python version."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def seed_of(*parts: object) -> int:
    """Return a 64-bit seed hashed from `parts`, so that neighbouring seeds and indices share nothing."""
    return int.from_bytes(hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=8).digest(), "big")


class Draw:
    """Draws from one seed. Everything derives from `random()`, whose sequence Python guarantees; `choice` and `sample` are not so."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        return self._random() < probability

    def fraction(self) -> float:
        return self._random()

    def below(self, count: int) -> int:
        """Return an integer in [0, count)."""
        return int(self._random() * count)

    def between(self, low: int, high: int) -> int:
        """Return an integer in [low, high]."""
        return low + int(self._random() * (high - low + 1))

    def pick(self, items: Sequence[T]) -> T:
        return items[int(self._random() * len(items))]

    def weighted(self, weights: Mapping[T, float]) -> T:
        """Return a key of `weights` with probability proportional to its value."""
        left = self._random() * sum(weights.values())
        for item, weight in weights.items():
            left -= weight
            if left < 0:
                return item
        return next(reversed(list(weights)))

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """Return `count` different items in random order."""
        pool = list(items)
        for place in range(count):
            other = place + int(self._random() * (len(pool) - place))
            pool[place], pool[other] = pool[other], pool[place]
        return pool[:count]
