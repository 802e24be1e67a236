"""Loads give each lane its own word, whichever way they move: as one vector, a broadcast, half by half, or a gather."""

from pathlib import Path

import numpy as np
import pytest

import banksim

SOURCE = """
extern "C" __global__ void moved(int* from_shared, int* from_global, int4* wide, const int* words, const int* index,
                                 const unsigned* masks) {
    __shared__ int4 s[128];
    int t = threadIdx.x, at = blockIdx.x * 32 + t, i = index[at];
    for (int k = t; k < 512; k += 32) ((int*)s)[k] = words[k];
    __syncwarp();
    if (masks[blockIdx.x] >> t & 1) {
        from_shared[at] = ((int*)s)[i];
        from_global[at] = words[i];
        wide[at] = s[i / 4];
    }
}
"""
LANE = np.arange(32)
LOWER = LANE < 16
PLACES = {
    "neighbours": LANE + 5,
    "one word": 0 * LANE + 77,
    "two rows": LANE % 16 + 100 * (LANE // 16),
    "one row twice": LANE % 16 + 496,
    "a word for each half": np.where(LOWER, 9, 511),
    "a row and a word": np.where(LOWER, LANE, 300),
    "a word and a row": np.where(LOWER, 300, LANE),
    "rows, but for the last lane": np.where(LANE == 31, 3, LANE % 16 + 40 * (LANE // 16)),
    "words, but for a lane": np.where(LANE == 4, 3, np.where(LOWER, 50, 90)),
    "rows from the end": 511 - LANE % 16,
    "lower row ends the array": np.where(LOWER, LANE + 496, 0),
    "vectors of two places": np.where(LOWER, 128, 260),
}
MASKS = (0xFFFFFFFF, 0x0000FFFF, 0xFFFF0000, 0x00010001, 0x80008000, 0x7FFFFFFF, 0xAAAA5555, 1 << 20, 1 << 3)


@pytest.fixture(scope="module", name="kernel")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> object:
    path: Path = tmp_path_factory.mktemp("moved") / "moved.cu"
    path.write_text(SOURCE)
    return banksim.load(path)["moved"]


def test_every_lane_gets_its_word(kernel: object) -> None:
    places = np.repeat([*PLACES.values()], len(MASKS), axis=0)
    masks = np.tile(np.array(MASKS, np.uint32), len(PLACES))
    active = (masks[:, None] >> LANE & 1).astype(bool)
    words = np.random.default_rng(3).integers(1, 1 << 30, 512).astype(np.int32)
    # Where a lane is not active its address may be anything: that of no memory as well.
    index = np.where(active, places, 1 << 28).astype(np.int32)
    shared, far, wide = (np.zeros((len(masks), 32 * n), np.int32) for n in (1, 1, 4))
    banksim.run(kernel, len(masks), 32, (shared, far, wide, words, index, masks))
    expected = np.where(active, words[places], 0)
    np.testing.assert_array_equal(shared, expected)
    np.testing.assert_array_equal(far, expected)
    vectors = words.reshape(-1, 4)[places // 4] * active[..., None]
    np.testing.assert_array_equal(wide.reshape(vectors.shape), vectors)
