"""The simulated GPU under numba-cuda, part by part."""

import asyncio
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import cuda

import banksim
from banksim import architecture
from banksim.errors import Fault, InputError, UnsupportedError
from banksim.machine.addresses import address_of
from banksim.runs.programs import device, standins
from banksim.runs.programs.arguments import Arguments
from banksim.runs.programs.driver import Allocations, Driver
from banksim.runs.programs.numba_hooks import simulated
from banksim.runs.programs.statuses import ILLEGAL_INSTRUCTION, status_of
from helpers.places import written_to

HOPPER = (architecture("sm_90"),)
pytestmark = pytest.mark.filterwarnings("ignore:.*low occupancy")


# ---- memory
def test_memory_finds_the_allocation_of_a_byte() -> None:
    memory = Allocations()
    starts = [memory.allocate(size) for size in (100, 1, 4096, 0)]
    for start, size in zip(starts, (100, 1, 4096, 1), strict=True):
        for byte in {0, size // 2, size - 1}:
            found = memory.find(start + byte)
            assert found is not None
            assert (found[0], found[1].nbytes) == (start, size)
            assert not found[1].any()
    memory.free(starts[2])
    assert memory.find(starts[2] + 17) is None
    assert memory.find(min(starts) - 1) is None


def test_views_are_of_the_memory_itself() -> None:
    memory = Allocations()
    start = memory.allocate(80)
    whole = memory.view(start, (10,), None, np.int64)
    whole[:] = np.arange(10)
    assert memory.view(start + 72, (5,), (-16,), np.int64).tolist() == [9, 7, 5, 3, 1]
    memory.view(start + 8, (1,), (8,), np.int64)[0] = -1
    assert whole[1] == -1
    assert memory.view(0, (0, 3), None, np.int8).shape == (0, 3)
    with pytest.raises(InputError, match="is not the device's"):
        memory.view(start + 80, (1,), None, np.int8)


def test_registered_memory_stays_the_hosts() -> None:
    memory, host = Allocations(), np.arange(6)
    memory.register(host.ctypes.data, host.nbytes)
    memory.view(host.ctypes.data + 8, (2,), None, np.int64)[:] = 9
    assert host.tolist() == [0, 9, 9, 3, 4, 5]


@pytest.mark.parametrize("past", [1, 8])
def test_copies_beyond_an_allocation_are_refused(past: int) -> None:
    driver, host = Driver(), np.zeros(100, np.uint8)
    start = driver.cuMemAlloc(64)
    driver.cuMemcpyHtoD(start, host.ctypes.data, 64)
    for copy in (driver.cuMemcpyHtoD, driver.cuMemcpyDtoHAsync, driver.cuMemcpyDtoD, driver.cuMemsetD8):
        to, other = (host.ctypes.data, start) if copy == driver.cuMemcpyDtoHAsync else (start, host.ctypes.data)
        with pytest.raises(InputError, match="do not lie in one allocation"):
            copy(to, 0 if copy == driver.cuMemsetD8 else other, 64 + past)


# ---- arguments
def test_arrays_of_one_allocation_share_a_buffer() -> None:
    memory = Allocations()
    start = memory.allocate(64)
    arguments = Arguments(memory)
    first = memory.view(start, (4,), None, np.float64)
    second = memory.view(start + 40, (3,), None, np.float64)
    assert arguments.address(first, "first") == address_of(1)
    assert arguments.address(second, "second") == address_of(1) + 40
    assert arguments.address(memory.view(memory.allocate(8), (1,), None, np.float64), "third") == address_of(2)
    assert arguments.address(np.zeros(0), "empty") == 0
    assert [(buffer.name, buffer.data.nbytes) for buffer in arguments.buffers] == [("first", 64), ("third", 8)]


@pytest.mark.parametrize(
    ("inward", "outward", "seen", "after"),
    [(True, True, [1, 2], [5, 6]), (True, False, [1, 2], [1, 2]), (False, True, [0, 0], [5, 6])],
)
def test_arrays_of_the_host_are_copied(inward: bool, outward: bool, seen: list[int], after: list[int]) -> None:
    memory, host = Allocations(), np.array([1, 2])
    arguments = Arguments(memory)
    copy, other = (arguments.given(host, inward, outward) for _ in range(2))
    assert copy.tolist() == other.tolist() == seen
    assert not np.shares_memory(copy, other)
    other[:] = 3
    copy[:] = 4
    other[:] = 5, 6
    arguments.give_back()
    assert host.tolist() == after
    arguments.free()
    assert memory.starts == []


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12).reshape(3, 4),
        np.asfortranarray(np.arange(12).reshape(3, 4)),
        np.broadcast_to(np.arange(4), (3, 4)),
        np.array(5),
        np.arange("2020-01", "2020-09", dtype="M8[M]"),
    ],
)
def test_copies_keep_shape_strides_and_values(array: np.ndarray[Any, Any]) -> None:
    arguments = Arguments(Allocations())
    copy = arguments.given(array)
    np.testing.assert_array_equal(copy, array)
    assert copy.strides == array.strides
    arguments.give_back()


@pytest.mark.parametrize("step", [2, -1])
def test_scattered_arrays_of_the_host_are_refused(step: int) -> None:
    """As numba-cuda's own `to_device` does."""
    with pytest.raises(ValueError, match="not contiguous"):
        Arguments(Allocations()).given(np.arange(12)[::step])
    with simulated(HOPPER), pytest.raises(ValueError, match="non-contiguous"):
        cuda.to_device(np.arange(12)[::step])


# ---- the device
def test_the_device_answers_like_an_h200() -> None:
    with simulated(HOPPER):
        assert cuda.is_available()
        assert cuda.cuda_error() is None
        gpu = cuda.get_current_device()
        assert (gpu.id, gpu.compute_capability, gpu.name) == (0, (9, 0), device.name("sm_90"))
        assert (gpu.MULTIPROCESSOR_COUNT, gpu.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) == (132, 232448)
        assert gpu.COOPERATIVE_LAUNCH == 0
        with pytest.raises(UnsupportedError, match="GPU_DIRECT_RDMA_SUPPORTED"):
            _ = gpu.GPU_DIRECT_RDMA_SUPPORTED
        assert [g.id for g in cuda.gpus] == [0]
        with cuda.gpus[0]:
            assert cuda.current_context().device.id == 0
        assert cuda.list_devices() is cuda.gpus
        cuda.close()
        assert cuda.device_array(3).shape == (3,)


@pytest.mark.parametrize(("pages", "kept"), [(1 << 26, 150_109_880_320), (2, 8192)])
def test_the_device_has_an_h200s_memory_of_which_the_hosts_is_free(
    monkeypatch: pytest.MonkeyPatch, pages: int, kept: int
) -> None:
    known = {"SC_PAGE_SIZE": 4096, "SC_AVPHYS_PAGES": 1, "SC_PHYS_PAGES": pages}
    monkeypatch.setattr(device.os, "sysconf", known.get)
    assert (device.memory(), device.kept()) == ((4096, 150_109_880_320), kept)


def test_what_the_device_says_of_itself_is_known() -> None:
    """An attribute without an answer is 0 to a program, as no limit is on a GPU."""
    made = (standins.SOURCES / "runtime_device.c").read_text()
    asked = re.findall(r"PROPERTY\(\w+, ([A-Z]\w+)\)", made)
    for several in re.findall(r"PROPERTIES_\d\(\w+, (\w+), ([\w, ]+)\)", made):
        asked += [several[0] + end for end in several[1].split(", ")]
    known = device.attributes_of_programs("sm_90")
    assert {"MAX_BLOCK_DIM_X", "MAX_PITCH"} < set(asked)
    assert [name for name in asked if name not in known and not name.startswith("WHICH")] == []
    assert known["TEXTURE_PITCH_ALIGNMENT"] == 32


def test_whole_programs_are_told_of_clusters_where_there_are_some() -> None:
    assert [device.attributes_of_programs(arch)["CLUSTER_LAUNCH"] for arch in ("sm_80", "sm_90", "sm_120")] == [0, 1, 1]


@pytest.mark.parametrize(
    ("registers", "threads"),
    [(16, 1024), (64, 1024), (65, 896), (72, 896), (80, 768), (96, 640), (128, 512), (168, 384), (255, 256)],
)
def test_registers_limit_the_block(registers: int, threads: int) -> None:
    """The figures of CUDA's occupancy calculator for compute capability 9.0."""
    assert device.threads_per_block(registers) == threads


def test_time_is_not_a_number() -> None:
    with simulated(HOPPER) as launches:
        start, end = cuda.event(), cuda.event()
        with pytest.raises(InputError, match="record both events"):
            cuda.event_elapsed_time(start, end)
        start.record()
        end.record()
        assert math.isnan(start.elapsed_time(end))
    assert launches.time_was_asked


def test_what_the_driver_cannot_do_is_named() -> None:
    with simulated(HOPPER), pytest.raises(NotImplementedError, match="cuGraphCreate"):
        cuda.driver.driver.cuGraphCreate(0)


def test_everything_is_as_before_afterwards() -> None:
    """Even after an error, and what the simulation made can be thrown away later."""
    inside, devices, dispatcher = cuda.cudadrv.driver, cuda.cudadrv.devices, cuda.dispatcher
    owners = (cuda, cuda.api, inside, inside.Stream, devices, dispatcher.CUDADispatcher, dispatcher.ForAll)

    def state() -> list[Any]:
        return [dict(vars(owner)) for owner in owners] + [type(inside.driver), dict(vars(inside.driver))]

    with simulated(HOPPER):
        cuda.device_array(1)  # what numba-cuda does once in a process is done
    before = state()
    kept: list[Any] = []

    def fail() -> None:
        with simulated(HOPPER):
            assert type(inside.driver) is not before[-2]
            kept.extend([cuda.stream(), cuda.event(), cuda.pinned_array(5), cuda.mapped_array(5)])
            kept.append(cuda.to_device(np.ones(9)))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert state() == before
    kept.clear()


def test_several_simulations_follow_each_other() -> None:
    @cuda.jit
    def count(out: Any) -> None:
        cuda.atomic.add(out, 0, 1)

    for blocks in (1, 2):
        with simulated(HOPPER) as launches:
            out = np.zeros(1, np.int32)
            count[blocks, 32](out)
            assert out[0] == 32 * blocks
            assert launches.count == 1


def test_compiled_kernels_tell_what_they_need() -> None:
    with simulated(HOPPER):

        @cuda.jit("void(float32[::1])")
        def shift(x: Any) -> None:
            s = cuda.shared.array(256, np.float32)
            s[cuda.threadIdx.x] = x[cuda.threadIdx.x]
            cuda.syncthreads()
            x[cuda.threadIdx.x] = s[(cuda.threadIdx.x + 1) % 256]

        assert shift.get_shared_mem_per_block() == 1024
        assert 0 < shift.get_regs_per_thread() <= 64
        assert shift.get_max_threads_per_block() == 1024
        assert shift.get_local_mem_per_thread() == 0
        assert ".entry" in shift.inspect_asm(shift.signatures[0])
        x = np.arange(256, dtype=np.float32)
        shift[1, 256](x)
        np.testing.assert_array_equal(x, np.roll(np.arange(256), -1))
        with pytest.raises(NotImplementedError, match="inspect_sass"):
            shift.inspect_sass()


def test_streams_can_be_awaited() -> None:
    async def finished() -> Any:
        stream = cuda.stream()
        return stream, await stream.async_done()

    with simulated(HOPPER):
        stream, result = asyncio.run(finished())
        assert result is stream


def test_half_precision_needs_no_driver() -> None:
    """Numba compiles its functions for float16 by NVRTC, through a library that asks the driver's version."""
    with simulated(HOPPER):

        @cuda.jit
        def polynomial(x: Any, out: Any) -> None:
            i = cuda.grid(1)
            out[i] = x[i] * x[i] + x[i]

        x = np.arange(32).astype(np.float16)
        out = np.zeros_like(x)
        polynomial[1, 32](x, out)
        np.testing.assert_array_equal(out, np.arange(32) * np.arange(32) + np.arange(32))


def test_a_fault_leaves_the_device_usable() -> None:
    with simulated(HOPPER) as launches:

        @cuda.jit
        def put(x: Any, i: int) -> None:
            x[i] = 1

        x = np.zeros(4, np.int64)
        with pytest.raises(Fault, match="at byte 320 of x"):
            put[1, 1](x, 40)
        put[1, 1](x, 3)
        assert x.tolist() == [0, 0, 0, 1]
        assert launches.count == 1


BARRIER = """
.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u32 threads) {
    .reg .u32 %n;
    ld.param.u32 %n, [threads];
    bar.sync 1, %n;
    ret;
}
"""


def test_an_illegal_instruction_has_its_own_error(tmp_path: Path) -> None:
    path = written_to(tmp_path / "k.ptx", BARRIER)
    with pytest.raises(Fault, match="no multiple of 32") as fault:
        banksim.run(banksim.load(path)["k"], 1, 64, [np.uint32(33)])
    assert status_of(fault.value) == ILLEGAL_INSTRUCTION
