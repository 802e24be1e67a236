"""The compiled CRC-32 is zlib's."""

import zlib

import numpy as np
import pytest

from banksim.storage.crc32 import STEP, crc32

BYTES = np.random.default_rng(7).integers(0, 256, 9 * max(STEP, 64) + 16, np.uint8).tobytes()


@pytest.mark.parametrize("before", [0, 1, 0xFFFFFFFF, 0x89ABCDEF])
@pytest.mark.parametrize("shift", [0, 1, 13])
def test_it_is_that_of_zlib_for_any_number_of_bytes_at_any_place(before: int, shift: int) -> None:
    for end in range(shift + max(STEP, 64), len(BYTES), 7):
        data = memoryview(BYTES)[shift:end]
        assert crc32(data, before) == zlib.crc32(data, before), end
