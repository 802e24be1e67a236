"""The memory of a whole program stays from launch to launch, and no launch goes through all of it."""

from collections.abc import Iterator

import numpy as np
import pytest

from banksim.errors import Fault
from banksim.kernels.compilers.ptx import assemble
from banksim.kernels.cubin import decode
from banksim.kernels.global_addresses import PROGRAM
from banksim.machine.launch import Buffer, prepare
from banksim.machine.program_memory import ProgramMemory, places
from banksim.runs.options import Options
from banksim.runs.run import execute_launch

PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 to) {
    .reg .u64 %a; .reg .u32 %v;
    ld.param.u64 %a, [to];
    ld.u32 %v, [%a];
    add.u32 %v, %v, 7;
    st.u32 [%a], %v;
    ret;
}
"""


class Seen(ProgramMemory):
    def __iter__(self) -> Iterator[Buffer]:
        raise AssertionError("a launch goes through all allocations")


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_a_launch_finds_what_is_held_now_and_goes_through_nothing(engine: str) -> None:
    kernel = decode(assemble(PTX, "sm_90"), "k.ptx", 0)["k"]
    memory, number = Seen(3), 200

    def launch() -> None:
        address = PROGRAM.address_of(number).to_bytes(8, "little")
        execute_launch(prepare(kernel, 1, 1, [address], memory), (), Options(engine=engine))

    first, second = np.zeros(4, np.uint8), np.full(4, 1, np.uint8)
    memory.hold(number, Buffer(first, "first"))
    launch()
    launch()
    memory.hold(number, Buffer(second, "second"))
    launch()
    assert (first.tolist(), second.tolist()) == ([14, 0, 0, 0], [8, 1, 1, 1])
    memory.hold(number, Buffer(np.zeros(0, np.uint8), "second, which was freed"))
    with pytest.raises(Fault, match="second, which was freed"):
        launch()


def test_places_are_those_of_the_buffers() -> None:
    memory = ProgramMemory(2)
    held = {number: np.zeros(number, np.uint8) for number in (1, 5, 3, 9, 40, 5)}
    for number, data in held.items():
        memory.hold(number, Buffer(data, f"allocation {number}"))
    assert len(memory) == 41
    assert (places(memory) == places([*memory])).all()
    assert [int(size) for size in places(memory)[:, 1] if size] == sorted(held)
