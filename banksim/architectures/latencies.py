"""The figures of the time model, by architecture: each with where it comes from.

A multiprocessor's path of shared-memory requests, in cycles of its clock. One set of figures stands for all accesses.
"""

from banksim.architectures.time_figures import BEYOND_L2, Crossing, Dram, Figure, Figures, Held

LINES = "depths and issue clocks of one H200: tests/data/timing/h200_lines.npz"
STREAMS = "block times of one H200: tests/data/timing/h200_streams.npz"
LATENCY = "chains and rates of instructions on one H200: tests/data/hardware/timing/latency.npz"
CLOCK = "micro-kernels of one block on one H200: tests/data/timing/h200_clock.json"
PARTS = "warps that part more than once, 1 to 32 of them, on one H200: tests/data/timing/h200_parts.npz"
STAGE = "shared memory of one H200 while other warps do one thing each: tests/data/timing/h200_stage.npz"
ISSUES = "clocks between a few instructions of 1 to 32 warps on one H200: tests/data/timing/h200_issues.npz"
OPERANDS = "chains of 1 to 32 warps in straight code on one H200: tests/data/timing/h200_operands.npz"
CODE = "loops, jumps and operands on one H100: tests/data/timing/h100_code.json"
LAUNCHES = "back-to-back launches of 35 kernels of one block on one H200: cuda_kernels/evidence/h200.json"
GRIDS = "launches of 1 to 16,896 blocks on one H200: tests/data/timing/h200_memory.json, h200_grids.json (ends)"
STAMPS = "begin and end of each block of 264 to 5,280 on one H200: tests/data/timing/h200_memory.json"
MEMORY = "loads, stores and atomics of 1 to 1,056 blocks on one H200: tests/data/timing/h200_memory.json"
ASSUMED = "assumed: nobody has shown it"
BEHIND = "copies, mbarriers and products of warp groups on one H100: tests/data/hardware/timing/asynchronous.npz"

CLUSTERS = "accesses between blocks of clusters of 2 to 16 on one H200: tests/data/hardware/timing/clusters.npz"
TOGETHER = "cudaOccupancyMaxActiveClusters for clusters of 1 to 16 on one H200; another chip may have other groups"
ADDITIONS = "additions of all blocks of a grid to the same lines, on one H200: tests/data/timing/h200_additions.json"
STREAMS_OF_DRAM = "arrays of 1 to 512 MB read, written and copied on one H200: tests/data/timing/h200_l2_and_dram.json"
GATHERS = "rows at random places of 4 to 512 MB on one H200: tests/data/timing/h200_gathers.json"
COLD = "loads of lines that no cache has, by 1 to 132 multiprocessors of one H200: tests/data/timing/h200_cold.json"
BETWEEN = "events and graphs on a busy stream of one H200: h200_dram.json (between), h200_grids.json (events) there"
MEETS = "stores, additions and loads at places of lists on one H200: tests/data/timing/h200_meets.json"
FIRST_CODE = (
    "first and later launches of 32 to 256 lines of straight code on one H200: tests/data/timing/h200_code.json"
)
FIRST_LAUNCH = "first and later launches of small kernels of 25 programs on one H200: tests/data/timing/h200_once.json"
STREAMS_OF_GRIDS = "streams of one to four loads and stores on one H200: tests/data/timing/h200_grids.json"
MERGES = "words of one line stored one after the other on one H200: tests/data/timing/h200_merges.json"
CUBES = "cubes copied by rows of 32 bytes, on one H200: tests/data/timing/h200_tiles.json"
TILES = "whole sectors, one to four of each line, stored on one H200: tests/data/timing/h200_tiles.json (quads)"
RESIDENT = "blocks of 1 to 32 warps, up to 64 warps together, on one H200: tests/data/timing/h200_resident.npz"
HITS = "loads that the L1 has, by 1 to 64 warps on one H200: tests/data/timing/h200_hits.npz"
PENDING = "loads of one multiprocessor of lines that the L1 lacks on one H200: tests/data/timing/h200_pending.json"
CONSTANTS = "constants read for the first time in a launch on one H200: tests/data/timing/h200_constants.json"
AROUND = "warps of one H200 that wait for parameters: tests/data/timing/h200_around.json"
REMOTE = "atomics on another block's shared memory, by places, on one H200: tests/data/timing/h200_remote.npz"

LATENESS = (
    59, 61, 63, 64, 66, 67, 68, 69, 71, 72, 73, 75, 79, 90, 100, 104, 107, 109, 111, 112, 114, 115, 117, 119, 120, 123,
    126, 134, 147, 167, 184, 200,
)  # fmt: skip
"""Lines come from DRAM later than from the L2 by so many hundredths of the mean: each is as likely (COLD; the last are
such that the latest of 4 to 32 lines comes as late as there)."""


def measured(source: str, **values: int) -> dict[str, Figure]:
    return {name: Figure(value, "measured", source) for name, value in values.items()}


H200 = Figures(
    "sm_90",
    clock_mhz=1980,
    multiprocessors=132,
    l1_and_shared=256 << 10,  # CUDA programming guide
    launch=Figure(1435, "measured", LAUNCHES),
    spread=Figure(75, "measured", AROUND),
    accesses=(Figure(70, "measured", AROUND), Figure(190, "measured", AROUND)),
    first_launch=Figure(240, "measured", FIRST_LAUNCH),
    new_code=Figure(190, "measured", FIRST_CODE),
    event=Figure(1300, "measured", BETWEEN),
    graph=Figure(1150, "measured", BETWEEN),
    in_graph=Figure(570, "measured", BETWEEN),
    figures={
        **measured(LINES, queue=8, pool=19, held=2),
        **measured(STREAMS, look_ahead=4, apart=2, to_pool=3, to_slot=3, queue_return=1, pool_return=13, service=2),
        **measured(STREAMS, result=14, operands=5, fence_entered=3, fence=8, branch=10, line=3, global_cost=6),
        **measured(OPERANDS, reads=7),
        **measured(RESIDENT, settle=2),
        **measured(STAGE, missed=55, stored=45, special=100),
        **measured(CODE, branch_apart=2, branch_others=2, code_own=46, code_shared=272, code_last=1024, code_near=11),
        **measured(CODE, code_ahead=11, code_far=51, code_farthest=195, code_apart=18, code_apart_l2=44),
        **measured(CONSTANTS, constants=73, constants_l2=190),
        **measured(AROUND, constants_own=62, constants_next=16, begin=2),
        **measured(LATENCY, fence_accessed=285, barrier=14, join=6, switch=10, server=2, copy=5, copy_ways=3, sleep=75),
        **measured(PARTS, buried=38),
        **measured(ISSUES, unexecuted=1),
        **measured(CLOCK, value=11),
        "global_latency": Figure(600, "assumed", ASSUMED),
        **measured(HITS, l1=8),
        **measured(PENDING, l1_lacks=1),
        **measured(MEMORY, l2=277, l2_farthest=18, l2_atomic=400, l2_ahead=100, l2_buffer=900),
        **measured(MERGES, l2_places=31, l2_under_way=500),
        **measured(BEYOND_L2, late=0, fetched=0, written=0, others=0, drain=0, copies_later=0, copies_read=0),
        **measured(STAMPS, first=24, first_warp=3, replace=300),
        **measured(GRIDS, apart_blocks=160),
        **measured(BEHIND, arrive=14, signal=20, bulk=7, bulk_row=1, bulk_row_out=2, bulk_out=64, product=10),
        **measured(
            CLUSTERS,
            remote=189,
            remote_sector=150,
            remote_ahead=100,
            remote_buffer=650,
            remote_seen=140,
            across=169,
            cluster=70,
            near=160,
        ),
    },
    together=(18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2),
    crossing={
        "load": Crossing(150, 0, 0, 38, 30, 22),
        "store": Crossing(150, 0, 160, 0, 94, 28),
        "add": Crossing(188, 400, 0, 150, 0, 78),
        "swap": Crossing(372, 460, 0, 197, 0, 139),
    },
    slices=(115, 144, 343),
    dram=Dram(
        all=28 << 20,
        none=46 << 20,
        kept=52 << 20,
        lost=60 << 20,
        stays=28 << 20,
        read=438,
        write=451,
        turn=60,
        alone=119,
        alone_written=144,
        parts=6 << 20,
        first=1000,
        first_at_once=2400,
        late=404,
        spread=LATENESS,
        drain=480,
    ),
    held={
        "load line": Held(28, 163, "measured", MEMORY),
        "load sector": Held(28, 93, "measured", MEMORY),
        "load beside": Held(0, 40, "measured", STREAMS_OF_GRIDS),
        "load line beside": Held(0, 150, "measured", CUBES),
        "store line": Held(158, 296, "measured", TILES),
        "store sector": Held(100, 183, "measured", MEMORY),
        "store parts": Held(100, 160, "measured", MERGES),
        "store again": Held(0, 30, "measured", MERGES),
        "add sector": Held(125, 235, "measured", MEMORY),
        "add lane": Held(100, 290, "measured", MEMORY),
        "add lanes": Held(100, 440, "measured", MEETS),
        "atom sector": Held(130, 340, "measured", MEMORY),
        "atom lane": Held(200, 370, "measured", MEMORY),
        "atom lanes": Held(200, 440, "measured", MEETS),
    },
)
FIGURES = {"sm_90": H200}
"""Those that were measured."""
