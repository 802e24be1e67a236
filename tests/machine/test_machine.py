"""`banksim.run` of Numba kernels: workers, bank rules, traces, and faults that are named.

That results and counts are right is held elsewhere: by what GPUs recorded (test_hardware.py, tests/cuda_kernels), by
NumPy (test_matrix.py), and instruction by instruction (operations).
"""

from pathlib import Path

import numpy as np
import pytest
from numba import cuda, float32, int32

import banksim
from banksim.errors import Fault, InputError
from banksim.machine.llvm import worker as llvm_worker
from banksim.machine.llvm.driver_callbacks import Server
from banksim.requests.trace import concatenated
from banksim.runs.resolve import list_numba_ahead
from helpers import numba_kernels as kernels


@pytest.fixture(scope="module", autouse=True)
def listed():
    """Kernels of the tests, with one start of nvdisasm."""
    floats, doubles, integers, octets = (np.zeros(32, kind) for kind in ("f4", "f8", "i4", "u1"))
    list_numba_ahead(
        [
            (kernels.spin_lock, (integers, integers)), (unequal_warps, (integers, 1)), (beyond, (doubles,)),
            (beyond, (np.zeros((4, 4))[::2, ::2],)), (beyond_shared, (floats,)), (endless, (floats,)),
            (kernels.bytes_reversed, (octets, octets)), (columns_in_turn, (floats, 1)),
        ]
    )  # fmt: skip


def run(kernel, grid, block, *args, **options):
    return banksim.run(kernel, grid, block, args, **options)


def test_transpose_reads_columns_of_its_tile():
    a = kernels.random("f4", 128, 64)
    out = np.zeros((64, 128), "f4")
    got = run(kernels.transpose, (2, 4), (32, 32), out, a)
    np.testing.assert_array_equal(out, a.T)
    store, load = sorted(got.conflicts.sites, key=lambda s: s.op, reverse=True)
    assert (store.requests, store.transactions, store.degree) == (256, 256, 1)
    assert (load.requests, load.transactions, load.degree) == (256, 256 * 32, 32)
    assert load.file.endswith("numba_kernels.py")
    assert "tile[tx, ty]" in Path(load.file).read_text().splitlines()[load.line - 1]


@pytest.mark.parametrize("workers", [1, 2])
def test_spin_locks_end(workers):
    out, lock = np.zeros(1, "i4"), np.zeros(1, "i4")
    run(kernels.spin_lock, 4, 64, out, lock, workers=workers)
    assert out[0] == 256


@cuda.jit
def unequal_warps(out, n):
    s = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    x = t
    if t // 32 == n % 4:
        for _ in range(n):
            x = (x * 13 + 5) & 0xFFFFF
    cuda.syncthreads()
    s[t] = x
    cuda.syncthreads()
    out[t] = s[127 - t]


@pytest.mark.parametrize("slow", range(4))
def test_warps_wait_for_one_that_takes_many_turns(slow):
    out, n = np.zeros(128, "i4"), 40_000 + slow
    run(unequal_warps, 1, 128, out, n)
    expected = np.arange(128)
    for _ in range(n):
        expected[32 * slow :][:32] = (expected[32 * slow :][:32] * 13 + 5) & 0xFFFFF
    np.testing.assert_array_equal(out, expected[::-1])


def test_workers_count_the_same():
    a = kernels.random("f4", 256, 256)
    outcomes = []
    for workers in (1, 2, 3):
        out = np.zeros_like(a)
        got = run(kernels.transpose, (8, 8), (32, 32), out, a, workers=workers)
        outcomes.append((got.conflicts, got.instructions, out.tobytes()))
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_workers_are_as_many_as_the_cores_that_the_process_may_use(monkeypatch):
    made = []
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {3, 5, 6}, raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    monkeypatch.setattr(llvm_worker, "Server", lambda *given: made.append(given) or Server(*given))
    a = kernels.random("f4", 512, 512)
    run(kernels.transpose, (16, 16), (32, 32), np.zeros_like(a), a, engine="llvm")
    assert len(made) == 3


def test_several_bank_rules_judge_one_execution():
    a, out = kernels.random("f4", 64, 64), np.zeros((64, 64), "f4")
    got = run(kernels.transpose, (2, 2), (32, 32), out, a, arch=["kepler-4", "kepler-8", "fermi", "sm_90"])
    loads = [next(s for s in c.sites if s.op == "ld").transactions_per_request for c in got.judged]
    assert loads == [16, 16, 32, 32]


# ---- faults


@cuda.jit
def beyond(out):
    out[cuda.grid(1)] = 1.0


@cuda.jit
def beyond_shared(out):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t + out.size] = 1.0
    out[t] = s[t]


@cuda.jit
def half_the_block(out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = t
    if t < 32:
        cuda.syncthreads()
    else:
        while out[0] == 0.0:
            cuda.syncthreads()
            cuda.syncthreads()
    out[t] = s[63 - t]


@cuda.jit
def endless(out):
    while out[0] == 0.0:
        out[1] += 1.0


def test_a_store_out_of_bounds_names_everything():
    with pytest.raises(Fault, match=r"beyond.*store of 8 bytes out of bounds, at byte 800 of out \(800 bytes\)") as e:
        run(beyond, 1, 128, np.zeros(100))
    assert "test_machine.py:" in str(e.value)
    assert "block (0, 0, 0), warp 3, lane 4" in str(e.value)
    assert "\n" not in str(e.value)


def test_shared_memory_out_of_bounds():
    with pytest.raises(Fault, match="store of 4 bytes out of bounds in shared memory"):
        run(beyond_shared, 1, 32, np.zeros(32, "f4"))


def test_an_endless_loop_is_stopped():
    with pytest.raises(Fault, match="instruction limit"):
        run(endless, 1, 32, np.zeros(2, "f4"), max_instructions=1_000_000)


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        (1, 2048, "block x is 2048"),
        (1, (64, 32), "a block of 2048 threads"),
        (0, 32, "grid x is 0"),
        ((1, 70000), 32, "grid y is 70000"),
        (1.5, 32, "grid"),
    ],
)
def test_launches_beyond_the_limits(grid, block, message):
    with pytest.raises(InputError, match=message):
        run(beyond, grid, block, np.zeros(32))


def test_too_much_shared_memory():
    with pytest.raises(InputError, match="bytes of shared memory"):
        run(kernels.bytes_reversed, 1, 32, np.zeros(32, "u1"), np.zeros(32, "u1"), dynamic_shared=1 << 20)


def test_arrays_that_cannot_be_passed():
    with pytest.raises(InputError, match="not contiguous"):
        run(beyond, 1, 32, np.zeros((64, 64))[::2, ::2])


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_a_trace_holds_every_request(engine):
    """The requests in a trace, judged afterwards, cost what the machine counted."""
    a, out = kernels.random("f4", 64, 64), np.zeros((64, 64), "f4")
    chunks = []
    got = run(kernels.transpose, (2, 2), (32, 32), out, a, trace=chunks.append, engine=engine)
    counted = {(s.line, s.op): (s.requests, s.transactions, s.ideal, s.degree) for s in got.conflicts.sites}
    assert {(c.sites, len(c)) for c in chunks} == {(chunks[0].sites, 256)}
    judged = banksim.replay(chunks[0], "sm_90").sites
    assert {(s.line, s.op): (s.requests, s.transactions, s.ideal, s.degree) for s in judged} == counted


@cuda.jit
def columns_in_turn(out, turns):
    """Of three warps one reads a column in each turn: in the first turn not the first of them."""
    s = cuda.shared.array(1024, float32)
    for turn in range(turns):
        column = (turn + cuda.threadIdx.x // 32) % 3 == 2
        out[cuda.grid(1)] += s[cuda.threadIdx.x % 32 * (32 if column else 1)]
        cuda.syncthreads()


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_of_equally_bad_requests_execution_and_replay_name_the_same(engine):
    chunks = []
    got = run(columns_in_turn, 3, 96, np.zeros(288, "f4"), 3, trace=chunks.append, engine=engine)
    [executed], [judged] = got.conflicts.sites, banksim.replay(concatenated(chunks), "sm_90").sites
    assert executed.worst == judged.worst
    assert (executed.worst.block, executed.worst.warp, executed.worst.excess) == (0, 2, 31)


def test_long_traces_come_in_chunks():
    a = kernels.random("u1", 1 << 22).astype("i4")
    out = np.zeros(256, "i4")
    chunks = []
    got = run(kernels.histogram, 64, 256, out, a, trace=chunks.append, workers=1)
    assert len(chunks) > 1
    assert sum(map(len, chunks)) == got.conflicts.requests
    assert sum(banksim.replay(c, "sm_90").transactions for c in chunks) == got.conflicts.transactions


def test_an_error_of_the_traces_receiver_reaches_the_caller():
    def refuse(trace):
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        run(kernels.reduction, 4, 256, np.zeros(4, "f4"), kernels.random("f4", 1024), trace=refuse)
