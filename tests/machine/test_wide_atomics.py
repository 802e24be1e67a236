"""Atomics of 128 bits: results and transactions are an H200's."""

from pathlib import Path

import numpy as np

import banksim
from helpers import recordings
from helpers.operations import ENGINES
from helpers.places import KERNELS, written_to


@ENGINES
def test_results_and_counts_are_an_h200s(engine: str) -> None:
    kernel = banksim.load(KERNELS / "wide_atomics.cu", "sm_90")["wide"]
    recorded = recordings.arrays("wide_atomics")
    for n in range(0, 80, 1 if engine == "numpy" else 5):
        out = np.zeros((1056, 4), np.uint32)
        address, mask, how = recorded["address"][n].astype(np.int32), recorded["mask"][n], int(recorded["how"][n])
        run = banksim.run(kernel, 1, 32, [address, out, mask, how], dynamic_shared=16384, engine=engine)
        np.testing.assert_array_equal(out[:, 0], np.concatenate([recorded["lanes"][n], recorded["memory"][n]]))
        assert not out[:, [1, 3]].any()
        [site] = [s for s in run.conflicts.sites if s.op in ("exch", "cas")]
        assert (site.op, site.width, site.transactions) == (("exch", "cas")[how], 16, recorded["transactions"][n])


EXCHANGES = """
extern "C" __global__ void pass(ulonglong2 *one, ulonglong2 *out) {
    unsigned long long n = blockIdx.x * blockDim.x + threadIdx.x + 1, a, b;
    asm volatile("{.reg .b128 o, v; mov.b128 v, {%3, %4}; atom.global.exch.b128 o, [%2], v; mov.b128 {%0, %1}, o;}"
                 : "=l"(a), "=l"(b) : "l"(one), "l"(n), "l"(~n) : "memory");
    out[n - 1] = make_ulonglong2(a, b);
}
extern "C" __global__ void by_both(ulonglong2 *out) {
    extern __shared__ ulonglong2 sh[];
    unsigned long long n = threadIdx.x, a, b;
    ulonglong2 *at = sh + n % 7, *there = n % 3 ? at : out + n;
    unsigned word = (unsigned)__cvta_generic_to_shared(at);
    if (n % 3)
        asm volatile("{.reg .b128 o, v; mov.b128 v, {%3, %4}; atom.shared.exch.b128 o, [%2], v; mov.b128 {%0, %1}, o;}"
                     : "=l"(a), "=l"(b) : "r"(word), "l"(n), "l"(~n) : "memory");
    asm volatile("{.reg .b128 o, v; mov.b128 v, {%3, %4}; atom.exch.b128 o, [%2], v; mov.b128 {%0, %1}, o;}"
                 : "=l"(a), "=l"(b) : "l"(there), "l"(n), "l"(~n) : "memory");
}
"""


@ENGINES
def test_a_request_by_generic_addresses_is_one_of_its_lanes_in_shared_memory(tmp_path: Path, engine: str) -> None:
    kernel = banksim.load(written_to(tmp_path / "by_both.cu", EXCHANGES), "sm_90")["by_both"]
    run = banksim.run(kernel, 1, 32, [np.zeros((32, 2), np.uint64)], dynamic_shared=112, engine=engine)
    shared, generic = (site for site in run.conflicts.sites if site.op == "exch")
    assert (generic.requests, generic.transactions) == (shared.requests, shared.transactions) == (1, 5)


def test_blocks_exchange_in_global_memory(tmp_path: Path) -> None:
    """Each thread takes what another left: of all that is left, there is one."""
    file = written_to(tmp_path / "pass.cu", EXCHANGES)
    blocks = 64
    one, out = np.zeros((1, 2), np.uint64), np.zeros((32 * blocks, 2), np.uint64)
    banksim.run(banksim.load(file, "sm_90")["pass"], blocks, 32, [one, out])
    left = np.concatenate([one, out])
    assert sorted(left[:, 0].tolist()) == [*range(32 * blocks + 1)]
    assert (left[:, 1] == np.where(left[:, 0] == 0, 0, ~left[:, 0])).all()
