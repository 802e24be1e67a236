"""Kernels for grids of a million blocks and more, at any size, by classes and with every block executed.

BANKSIM_GRIDS=all pytest tests/classes/test_grids.py counts the recorded launches that take seconds too."""

import os
from typing import Any

import numpy as np
import pytest
from grids import CUSTOMARY, GRIDS, IRREGULAR, LIBRARY, PRACTICE, SETS, UNUSUAL, Grid

import banksim
from banksim.runs.outcome import Run
from helpers import recordings
from helpers.both_ways import equal

KERNELS = list(dict.fromkeys(one.kernel for one in GRIDS))
FEW = {"transpose": 4, "transpose_padded": 4, "product": 4, "reduce": 2, "scan": 2, "stencil": 24, "convolution": 5}
"""Classes that their edges make, at most."""
RECORDED = {one["name"]: one for chosen in SETS for one in recordings.text(chosen)["launches"]}
EXECUTED = ("causal_softmax", "layer_norm", "radix_ranks", "compressed_rows", "life")
"""Kernels whose blocks are all executed, and need memory: data decide what they do."""
EACH = ("shuffled", "bits", "spilled", "doubling", "rastered", "pairs", "hilbert", "stream_k", "morton_product",
        "hilbert_copy", "packed_sequences", "scaled_rows", "dropped", "packed_triangles",
        "grouped_queries", "ranks", "hashed_shift", "filled_copies")  # fmt: skip
"""Those of which nearly each block is executed, as far as counts need it."""
OF_A_GPU = [
    one for one in (*GRIDS, *IRREGULAR, *CUSTOMARY, *LIBRARY, *PRACTICE, *UNUSUAL) if one.name in RECORDED and one.paged
]
TAKES_SECONDS = [one for one in OF_A_GPU if one.kernel in (*EXECUTED, *EACH) and np.prod(one.grid) > 10**5]
OTHER = {
    "pyramid 1001x1003 16000,16033": "what the source page calls ideal of 8 bytes, where half of the lanes ask",
    "tensor_pipeline 1001000 1001,72": "the source page counts copies past the L1 cache that a guard turns off",
    "bulk_rows 100003 3,2": "a GPU gives up a try_wait after some time, and the code tries again",
}
"""Launches of which a GPU counts something else, and what."""
MORE = {
    "convolution 1000001 128000001,13": (0, 16),
    "boxes 127x101x83 401,330": (892, 9233),
    "boxes 43x41x37 163,144": (162, 1938),
    "halo3d 101x103x105 803,411": (0, 1_016_576),
    "tiles_of_threads 1000003 8000013,7": (1_428_574, 49_142_935),
    "table_of_functions 1000003 32,50000": (6_000_018, 128_000_384),
}
"""By how much the counters of instructions and of thread instructions are above the sums of the source page's rows.
Every row agrees with ours; why the counters have more is not known."""


pytestmark = pytest.mark.usefixtures("by_classes")


@pytest.fixture(scope="module", name="module")
def loaded() -> Any:
    return {name: one for chosen in SETS for name, one in recordings.kernels(chosen).items()}


def counted(module: Any, one: Grid) -> Run:
    array = np.zeros if one.kernel in EXECUTED else banksim.absent
    memory = [array(size // 4, np.float32) for size in one.memory]
    given = [*memory, *map(np.uint32, one.numbers)]
    dynamic = one.dynamic_shared
    return banksim.run(module[one.kernel], one.grid, one.block, given, values=False, dynamic_shared=dynamic)


@pytest.mark.parametrize("one", [one for one in GRIDS if one.kernel in FEW], ids=lambda one: one.name)
def test_edges_alone_make_classes(module: Any, one: Grid) -> None:
    """Addresses of global memory alone make none, though they are masked and so wrap around within the grid."""
    assert 0 < counted(module, one).classes <= FEW[one.kernel]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("grid", "numbers"), [((23, 5), (701, 13, 37)), ((1,), (5, 3, 2)), ((3, 2, 5), (17, 19, 18))])
def test_any_size_is_counted_as_every_block(
    module: Any, kernel: str, grid: tuple[int, ...], numbers: tuple[int, ...]
) -> None:
    like = next(one for one in GRIDS if one.kernel == kernel)

    def run(values: bool) -> Run:
        memory = [np.zeros(1 << 20, np.float32) for _ in like.memory]
        given = [*memory, *map(np.uint32, numbers[: len(like.numbers)])]
        return banksim.run(module[kernel], grid, like.block, given, values=values)

    mine = run(False)
    assert mine.classes, mine.undecided
    equal(mine, run(True))


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(one, marks=[pytest.mark.xfail(reason=OTHER[one.name], strict=True)] if one.name in OTHER else [])
        for one in OF_A_GPU
        if one not in TAKES_SECONDS or os.environ.get("BANKSIM_GRIDS") == "all"
    ],
    ids=lambda one: one.name,
)
def test_a_gpu_counts_the_same(module: Any, one: Grid) -> None:
    """Every row of the profiler's source page, and its counters that hold nothing but this launch."""
    mine, recorded = counted(module, one), RECORDED[one.name]
    assert bool(mine.classes) == (one.kernel not in EXECUTED)
    executed = {e.instruction.pc: [e.warps, e.threads, e.predicated_on] for e in mine.profile if e.warps}
    assert executed == {offset: counts for offset, *counts in (row[:4] for row in recorded["rows"])}
    passes: dict[int, list[int]] = {}
    unknown = {site.site.offset for site in mine.conflicts.sites if site.transactions is None}
    for site in mine.conflicts.sites:
        # the source page has no shared accesses of a load of another block's memory
        if site.op.startswith("remote") or site.site.offset in unknown:
            continue
        before = passes.get(site.site.offset, [0, 0])
        passes[site.site.offset] = [before[0] + site.transactions, before[1] + site.ideal]
    assert passes == {row[0]: row[4:] for row in recorded["rows"] if len(row) > 4 and row[0] not in unknown}
    hardware = recorded["hardware"]
    counters = hardware["smsp__inst_executed.sum"], hardware["smsp__thread_inst_executed.sum"]
    more, more_threads = MORE.get(one.name, (0, 0))
    assert (mine.instructions + more, mine.thread_instructions + more_threads) == counters


@pytest.mark.parametrize("one", [one for one in UNUSUAL if not one.paged], ids=lambda one: one.name)
def test_a_gpu_counts_the_same_in_grids_of_more_than_two_billion_blocks(module: Any, one: Grid) -> None:
    """Its counters, but for the wavefronts of loads: these hold some of other traffic."""
    mine, hardware = counted(module, one), RECORDED[one.name]["hardware"]
    sites = {op: [site for site in mine.conflicts.sites if site.op == op] for op in ("ld", "st")}
    found = [mine.instructions, mine.thread_instructions, *(sum(s.requests for s in sites[op]) for op in sites)]
    assert [*found, sum(site.transactions for site in sites["st"])] == [
        hardware["smsp__inst_executed.sum"],
        hardware["smsp__thread_inst_executed.sum"],
        hardware["smsp__inst_executed_op_shared_ld.sum"],
        hardware["smsp__inst_executed_op_shared_st.sum"],
        hardware["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"],
    ]
    loads = hardware["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"]
    assert 0 <= loads - sum(site.transactions for site in sites["ld"]) < 1e-6 * loads


def test_most_of_what_was_recorded_has_more_than_a_million_blocks() -> None:
    assert sum(np.prod(one.grid) > 10**6 for one in OF_A_GPU) >= 83
