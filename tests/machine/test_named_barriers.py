"""Barriers of a block whose number and threads registers tell, as recorded on one H200."""

from typing import Any

import numpy as np
import pytest

import banksim
from banksim.errors import Fault
from helpers.operations import ENGINES
from helpers.places import written_to

SOURCE = """
extern "C" __global__ void meet(int *out, unsigned first, unsigned second, unsigned threads) {
    unsigned number = threadIdx.x / 32 ? second : first;
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
    out[threadIdx.x] = 1;
}
extern "C" __global__ void apart(int *out, unsigned first, unsigned second, unsigned threads) {
    unsigned number = threadIdx.x / 32 ? second : first;
    asm volatile("bar.sync %0, 64;" ::"r"(number) : "memory");
    asm volatile("bar.sync 3, %0;" ::"r"(threads) : "memory");
    asm volatile("bar.sync %0;" ::"r"(number) : "memory");
    out[threadIdx.x] = 1;
}
"""


@pytest.fixture(scope="module")
def meet(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return banksim.load(written_to(tmp_path_factory.mktemp("barriers") / "meet.cu", SOURCE))


def run(meet: Any, engine: str, *numbers: int, name: str = "meet") -> list[int]:
    out = np.zeros(64, np.int32)
    banksim.run(meet[name], 1, 64, [out, *(np.uint32(n) for n in numbers)], engine=engine)
    return [int(n) for n in np.unique(out)]


@ENGINES
@pytest.mark.parametrize(
    ("first", "second"), [(77, 13), (13, 77), (16, 0), (32, 16), (259, 3), (0x80000003, 3), (65539, 3), (15, 15)]
)
def test_the_lowest_bits_name_a_barrier(meet: Any, engine: str, first: int, second: int) -> None:
    """One register tells barrier and threads, or each of two operands one of them."""
    assert run(meet, engine, first, second, 64) == [1]
    assert run(meet, engine, first, second, 64, name="apart") == [1]


@ENGINES
def test_other_barriers_do_not_meet(meet: Any, engine: str) -> None:
    with pytest.raises(Fault, match=r"32 threads wait for barrier 13 at .*; 32 threads wait for barrier 12 at "):
        run(meet, engine, 77, 12, 64)


@ENGINES
def test_the_lowest_bits_tell_how_many_threads(meet: Any, engine: str) -> None:
    assert run(meet, engine, 3, 3, 4128) == [1]
    assert run(meet, engine, 3, 5, 4128) == [1]  # 32 threads: each warp by itself
    assert run(meet, engine, 3, 3, 4096) == run(meet, engine, 3, 3, 0) == [1]  # all


@ENGINES
@pytest.mark.parametrize("threads", [33, 63, 1])
def test_a_number_that_is_no_multiple_of_32_is_an_illegal_instruction(meet: Any, engine: str, threads: int) -> None:
    with pytest.raises(Fault, match="a barrier for a number of threads that is no multiple of 32, which is an illegal"):
        run(meet, engine, 3, 3, threads)
