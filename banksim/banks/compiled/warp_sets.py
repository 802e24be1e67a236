"""Which warps came to a site: sets of (block, warp) that can be united, small where blocks are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Blocks = npt.NDArray[np.int64]
Masks = npt.NDArray[np.uint64]
WARPS = 64
"""Warps that one mask tells apart; those beyond are kept as further blocks, from `BEYOND` on."""
BEYOND = 32


@dataclass(frozen=True)
class Warps:
    """Runs of blocks from `first` to `last` (both in, ascending, apart) that the same warps of each came from.

    Bit i of `mask` stands for warp i. Memory goes with the number of runs: one where all blocks are alike.
    """

    first: Blocks
    last: Blocks
    mask: Masks

    @classmethod
    def of(cls, block: npt.NDArray[np.integer], warp: npt.NDArray[np.integer]) -> Warps:
        """The set of these pairs, in any order and any number of times."""
        high = warp.astype(np.int64) // WARPS
        return cls.of_masks(block.astype(np.int64) | high << BEYOND, np.uint64(1) << (warp % WARPS).astype(np.uint64))

    @classmethod
    def of_masks(cls, block: Blocks, mask: Masks) -> Warps:
        """The set with these warps of these blocks; a block may come several times."""
        if not len(block):
            return cls(block, block, mask)
        if (block[1:] <= block[:-1]).any():
            order = np.argsort(block, kind="stable")
            block, mask = block[order], mask[order]
            starts = np.flatnonzero(np.concatenate([[True], block[1:] != block[:-1]]))
            block, mask = block[starts], np.bitwise_or.reduceat(mask, starts)
        return cls(*_joined(block, block, mask))

    def __len__(self) -> int:
        return int(((self.last - self.first + 1) * np.bitwise_count(self.mask)).sum())

    def __or__(self, other: Warps) -> Warps:
        edges = np.unique(np.concatenate([self.first, self.last + 1, other.first, other.last + 1]))
        if not len(edges):
            return self
        first, last = edges[:-1], edges[1:] - 1
        return Warps(*_joined(first, last, self.at(first) | other.at(first)))

    def at(self, block: Blocks) -> Masks:
        """The warps of each block."""
        if not len(self.first):
            return np.zeros(len(block), np.uint64)
        run = np.maximum(np.searchsorted(self.first, block, "right") - 1, 0)
        inside = (self.first[run] <= block) & (block <= self.last[run])
        return np.where(inside, self.mask[run], np.uint64(0))


def _joined(first: Blocks, last: Blocks, mask: Masks) -> tuple[Blocks, Blocks, Masks]:
    """Without empty runs, and neighbours with the same warps as one."""
    some = mask != 0
    first, last, mask = first[some], last[some], mask[some]
    if not len(first):
        return first, last, mask
    apart = (first[1:] != last[:-1] + 1) | (mask[1:] != mask[:-1])
    starts = np.flatnonzero(np.concatenate([[True], apart]))
    ends = np.flatnonzero(np.concatenate([apart, [True]]))
    return first[starts], last[ends], mask[starts]
