"""The machine against an H200: every recorded launch, every instruction, every result.

What was recorded and how: tests/hardware/record.py. The rows come from the profiler's source page, the totals of
loads from the hardware's counters, because the page does not know how pairs of lanes merge in 8- and 16-byte loads.

What the recordings say about divergence (sources in tests/hardware: order.cu draws tickets, schedule.cu logs the
active mask, place and clock at every step of every lane):

- At a divergent branch the side with fewer threads goes on; when equal, the fall-through (order_if_else, 10
  masks). The other side is parked and remembered in one slot.
- The running group gives way only when it waits, exits or yields: no load, no backward branch switches
  (order_stall), nor does a BSYNC that it completes: it goes on with those who waited (schedule_inner_branch). Then
  the slot goes on; if a later parking has overwritten or a switch emptied it, the group that was parked last,
  together with all ready threads at the same pc. 37 logged warps follow this rule in every one of their up to 331
  steps (schedule_states, _loop, _switch, _indirect, _recursion …).
- Memory instructions that the profiler patches empty the slot, so that its rows show a few joins more than the
  kernel has by itself (break_continue 7,837 warp instructions, unprofiled 7,843). Without that the executions are those
  of the counters, in schedule_states too, whose rows are not known: test_without_patches_executions_are_the_counters.
- Indirect branches, calls and returns split off the threads that go where the lowest thread goes; the others
  execute the instruction again (counted by the hardware, not by the profiler's source page).
- What BSSY, BSYNC, BREAK and BMOV do to the masks of convergence barriers: test_convergence_barriers.py.
- Where groups come to a WARPSYNC one after the other, its threads execute it once more together when the last has
  come: counted by the hardware's counters, not by the profiler's source page, whose rows are compared here
  (scan_shuffles, radix_digits, aggregate_partition: test_warpsync_is_counted_once_more). So it is with 2, 3, 4 and 8
  groups, with and without a block barrier behind it: one execution with all 32 threads more per gathering (looped four
  times: 4 and 128). Where one half of the warp has parted and joined again at a BSYNC and the other branches past it,
  4 groups cost no execution more, and looped 16.
- WARPSYNC.COLLECTIVE gathers the threads of its mask behind the instruction of the last group to come;
  ENDCOLLECTIVE sends all to where they came from. WARPSYNC.EXCLUSIVE parts threads of different masks.
- __syncthreads() in both sides of a divergent branch never ends (order_barrier_sides); threads that returned
  before it do no harm (order_barrier_after_return).
- Groups that have yielded, once one of them is resumed, go on together where they yielded at one place.
- A shuffle from a thread that does not take part gives zero (shuffle_absent, reduce_ballot).
- ATOMS.CAST.SPIN lets one thread per bank succeed, the lowest; of stores to one place the lowest thread's stays,
  of the parts of a wide store the last part's (store_collision).
"""

import fnmatch
from typing import Any

import numpy as np
import pytest
from launches import LAUNCHES, argument

import banksim
from banksim.errors import Fault
from banksim.machine.reference import warp
from banksim.requests.kinds import OPS
from banksim.requests.trace import Trace
from helpers.places import EXAMPLES, H200, ROOT
from helpers.recorded_launches import ENDING, ENTRIES, SOURCES, because, executed, kernels, launched
from helpers.recordings import text

TIMED = {
    "atomics.shared_float/?-128": "warps contend for the same cells: rounds depend on time",
    "atomics.shared_float/??-128": "warps contend for the same cells: rounds depend on time",
    "atomics.shared_double": "warps contend for the same cells: rounds depend on time",
    "atomics.spin_lock/128": "warps contend for a lock",
    "atomics.spin_lock_naive/128": "warps contend for a lock",
    "atomics.warp_relay": "warps wait for one another by spinning",
    "sorts.scan_chained": "blocks wait for one another by polling",
    "sums.jacobi_rows": "warps contend for the same cells: rounds depend on time",
    "sums.reduce_wide_tiles": "warps wait for one another by polling",
    "tensor.copy_bulk": "warps poll a barrier",
}
"""Launches whose counts depend on time, and why: their results are compared, their rows are not."""

NOISY = {
    "blocks.exchange_cub": 2, "blocks.radix_sort_cub": 6, "blocks.scan_cub<memoize>": 2, "blocks.scan_cub<raking>": 2,
}  # fmt: skip
"""Launches whose counter of loads holds noise: by how much it exceeds the source page's rows, which agree."""

RACING = {
    "atomics.shared_long": "warps race for the values that atomics return",
    "order.order_barrier_*-128": "warps draw from one counter",
    "order.order_barrier_after_loop/warps": "warps draw from one counter",
    "sums.atomic_kinds": "warps race for a cell that they compare and swap",
}
"""Launches whose results depend on time, and why: their rows are compared, their results are not."""

APPROXIMATE = {
    **dict.fromkeys(
        ("textbook.softmax", "textbook.layer_norm", "samples.binomial_option", "tensor.attention", "sums.softmax_*",
         "sums.binomial_registers", "sums.cross_entropy", "sums.flash_attention", "sums.quasi_random",
         "transforms.bilateral", "triton_kernels.*softmax", "triton_kernels.layer_norm"), 1e-6),
    **dict.fromkeys(("textbook.n_body", "textbook.fft", "sums.options", "triton_kernels.attention"), 1e-5),
    **dict.fromkeys(
        ("arithmetic.functions_*", "arithmetic.special_functions*", "textbook.black_scholes", "sums.bodies*"), 1e-4),
}  # fmt: skip
"""Results of the special-function unit, whose last bits are not exact: the error allowed, absolute or relative."""

JOINS = "which ready threads join, and when, is not known well enough here"
RECURSION = "calls of different depth share convergence barriers; who joins under the profiler is not known well enough"
NATIVE = "a log of the native run, where memory instructions do not empty the slot as under the profiler"
BLOCKS = "the profiler counts basic blocks: of the groups that join behind a YIELD as many as came before it"
YIELDS = "which threads join behind a YIELD is not known well enough"
PREDICATED = "of copies past the L1 cache behind a predicate the profiler shows none, or those that it turned off too"
TURNED_OFF = "of copies past the L1 cache that an operand turns off the profiler counts less, and it reads P0 as false"
UNKNOWN: dict[str, dict[str, str]] = {
    "rows": {
        "atomics.shared_divergent": "the order of groups around a YIELD is not known well enough",
        "divergence.mutual_recursion": RECURSION,
        "divergence.recursion": RECURSION,
        "divergence.recursive_sort": RECURSION,
        "samples.spheres": JOINS,
        "schedule.schedule_recursion/0": RECURSION,
        "schedule.schedule_states/8-0": JOINS,
        "schedule.schedule_states/1-2": JOINS,
        "sorts.hash_count": YIELDS,
        "sorts.histogram_tagged/one": BLOCKS,
        "sorts.histogram_tagged/*": YIELDS,
        "warp.syncwarp_after_exit": "which threads BSYNC gathers after a YIELD is not known well enough",
    },
    "shared": {
        "copies.copy_patterns<16>": PREDICATED,
        "products.gemm_doubles": PREDICATED,
        "sorts.hash_count": YIELDS,
        "sorts.histogram_tagged/[ef]*": YIELDS,
        "triton_kernels.product*": TURNED_OFF,
    },
    "results": {
        "schedule.schedule_states/8-0": JOINS,
        "schedule.schedule_states/1-[12]": NATIVE,
        "schedule.schedule_loop/8-0": NATIVE,
        "schedule.schedule_recursion/0": NATIVE,
    },
}
"""What banksim does not reproduce yet, by aspect and launch, and why."""


TOLD = (
    "atomics.shared_cas_loop", "atomics.shared_divergent", "atomics.spin_lock*", "divergence.*recurs*",
    "divergence.goto_machine", "order.order_spin/*", "schedule.schedule_loop/8-0", "schedule.schedule_states/*",
    "schedule.schedule_recursion/*", "schedule.schedule_states_yield/*", "sorts.hash_count",
    "sorts.histogram_tagged/*", "tensor.nap", "warp.syncwarp_after_exit",
)  # fmt: skip
"""Launches of which the report says that who runs together is not established. Of some of them the rows are right."""
MET = (
    "atomics.table_float/hash", "atomics.table_cas/hash", "atomics.table_cas/mixed", "divergence.break_continue",
    "divergence.short_circuit", "divergence.mandelbrot", "divergence.shared_in_divergence",
    "order.order_barrier_after_loop/warps", "programs.automaton", "python_kernels.py_product", "samples.spheres",
    "schedule.schedule_switch/8-0", "schedule.schedule_switch/1-1", "schedule.schedule_switch/1-2",
    "schedule.schedule_syncwarp/8-0", "schedule.schedule_syncwarp/1-1", "schedule.schedule_syncwarp/1-2",
    "schedule.schedule_two_exits/4-1", "schedule.schedule_two_exits/4-5", "schedule.schedule_two_exits/4-6",
    "schedule.schedule_inner_branch/5-0", "schedule.schedule_inner_branch/5-1", "schedule.schedule_inner_branch/5-6",
    "schedule.schedule_inner_branch/5-7", "sums.bisect",
)  # fmt: skip
"""Launches of which it says so of the executions of a BSYNC alone. Of all but one the rows are right."""


def each(aspect: str, names: list[str]) -> Any:
    """Parametrizes a test with launches; those that are known to differ must differ."""
    marks = {name: because(UNKNOWN[aspect], name) for name in names}
    return pytest.mark.parametrize(
        "name", [pytest.param(n, marks=pytest.mark.xfail(reason=why)) if (why := marks[n]) else n for n in names]
    )


@pytest.mark.parametrize("name", [n for n in ENTRIES if because(UNKNOWN["rows"], n)])
def test_rows_that_may_differ_are_told(name: str) -> None:
    run, _ = executed(name)
    assert run.notes


def comparable(name: str, number: int, values: Any) -> Any:
    """An array without the clock readings that some kernels store in it."""
    if name.startswith("order.") and number == 1:
        return values.reshape(-1, 4)[:, :2]
    if name.startswith("schedule.") and number == 1 and values.size > 96:
        return values.reshape(-1, 2) & np.uint32([0xFFFFFFFF, 7])
    return values


def test_every_launch_is_recorded_and_every_record_is_a_launch() -> None:
    assert set(ENTRIES) == {launch.name for launch in LAUNCHES}
    for launch in LAUNCHES:
        entry = ENTRIES[launch.name]
        assert tuple(entry["arguments"]) == launch.arguments
        assert (tuple(entry["grid"]), tuple(entry["block"])) == (launch.grid, launch.block)


def test_the_guide_tells_how_many_launches_are_equal() -> None:
    compared = [name for name in ENDING if not because(TIMED, name)]
    rows, shared = (sum(1 for name in compared if because(UNKNOWN[aspect], name)) for aspect in ("rows", "shared"))
    guide = " ".join((EXAMPLES / "guide" / "hardware.md").read_text(encoding="utf-8").split())
    assert f"has {len(ENTRIES)} launches more" in guide
    assert f"of the {len(compared)} whose counts" in guide
    assert f"{len(compared) - rows} are equal in every row. The other {rows} are" in guide
    assert f"transactions** are equal in all but {shared}:" in guide
    assert f"{len(compared) - rows} of {len(compared)} launches" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("source", SOURCES)
def test_listings(source: str) -> None:
    """The profiler listed the same code that banksim reads from the cubin."""
    for name, opcodes in text(source)["listings"].items():
        code = [i.opcode for i in kernels(source)[name].instructions]
        assert code[: len(opcodes.split())] == opcodes.split(), name
        assert set(code[len(opcodes.split()) :]) <= {"NOP"}, name


@each("rows", [name for name in ENDING if not because(TIMED, name)])
def test_rows(name: str) -> None:
    """Warps, threads and predicated-on threads of every instruction."""
    run, _ = executed(name)
    said = {"Which threads of": TOLD, "How often warps ": MET}
    expected = [start for start, names in said.items() if any(fnmatch.fnmatchcase(name, one) for one in names)]
    assert [note[:16] for note in run.notes] == expected
    hardware = {row[0]: tuple(row[1:4]) for row in ENTRIES[name]["rows"]}
    machine = {e.instruction.pc: (e.warps, e.threads, e.predicated_on) for e in run.profile if e.warps}
    different = {hex(pc): (machine.get(pc), hardware.get(pc)) for pc in machine.keys() | hardware.keys()}
    assert {pc: both for pc, both in different.items() if both[0] != both[1]} == {}


def test_warps_that_poll_take_turns() -> None:
    """A warp that polls for another does not keep its turn until that is over."""
    run, _ = executed("sums.reduce_wide_tiles")
    assert run.instructions < 2 * sum(row[1] for row in ENTRIES["sums.reduce_wide_tiles"]["rows"])


@each("shared", [name for name in ENDING if not because(TIMED, name)])
def test_shared(name: str) -> None:
    """Transactions of every instruction; for wide loads their sum by the hardware's counter."""
    run, _ = executed(name)
    entry = ENTRIES[name]
    opcodes = text(name.split(".")[0])["listings"][entry["kernel"]].split()
    hardware = {row[0]: row[4] for row in entry["rows"] if len(row) > 4}
    machine: dict[int, Any] = {}
    for site in run.conflicts.sites:
        assert site.transactions is not None, f"{site.opcode}: not counted"
        machine[site.offset] = machine.get(site.offset, 0) + site.transactions
    wide = {pc for pc in machine.keys() | hardware.keys() if opcodes[pc // 16].startswith(("LDS.64", "LDS.128"))}
    assert {hex(pc): n for pc, n in machine.items() if pc not in wide and n} == {
        hex(pc): n for pc, n in hardware.items() if pc not in wide
    }
    if name in NOISY:
        assert {pc: machine[pc] for pc in wide} == {pc: hardware[pc] for pc in wide}
    if wide:
        loads = ("LDS", "LDSM", "LD.")
        total = sum(n for pc, n in machine.items() if opcodes[pc // 16].startswith(loads))
        counter = entry["hardware"]["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"]
        assert total == counter - NOISY.get(name, 0)


COMPARED = ("*bitonic*", "atomics.shared_conflicts/*", "atomics.table_*/row", "samples.*", "textbook.transpose*")


@pytest.mark.parametrize("name", [name for name in ENDING if any(fnmatch.fnmatchcase(name, one) for one in COMPARED)])
def test_nsights_ideal(name: str) -> None:
    """The source page's ideal transactions, for every instruction whose transactions it has right."""
    traces: list[Trace] = []
    run, _ = executed.__wrapped__(name, traces.append)
    found: dict[int | None, int] = {}
    for trace in traces:
        ops = np.array(OPS)[trace.op]
        each_one = banksim.nsight_ideal(trace.address, op=ops, width=trace.width, mask=trace.mask)
        for site, count in zip(trace.site.tolist(), np.atleast_1d(each_one).tolist(), strict=True):
            found[trace.sites[site].offset] = found.get(trace.sites[site].offset, 0) + count
    page = {row[0]: (row[4], row[5]) for row in ENTRIES[name]["rows"] if len(row) > 5}
    counted = {site.offset: site.transactions for site in run.conflicts.sites}
    right = {pc for pc, transactions in counted.items() if page[pc][0] == transactions}
    assert all(site.op == "ld" and site.width >= 8 for site in run.conflicts.sites if site.offset not in right)
    assert {pc: found[pc] for pc in right} == {pc: page[pc][1] for pc in right}


@each("results", [name for name in ENDING if not because(RACING, name)])
def test_results(name: str) -> None:
    """Every array after the launch, bit by bit; clock readings apart."""
    _, arguments = executed(name)
    tolerance = because(APPROXIMATE, name)
    with np.load(H200 / f"{name.split('.')[0]}.npz") as results:
        for number, rule in enumerate(ENTRIES[name]["arguments"]):
            before, after = argument(rule), arguments[number]
            if not before.shape:
                continue
            hardware = results[f"{name}/{number}"] if number in ENTRIES[name]["changed"] else before
            after, hardware = comparable(name, number, after), comparable(name, number, hardware)
            if tolerance:
                assert np.allclose(after, hardware, rtol=tolerance, atol=tolerance, equal_nan=True)
            else:
                assert after.tobytes() == hardware.tobytes()


def test_atomics_of_every_kind_leave_what_they_leave_in_any_order() -> None:
    """As if the 128 threads came one after another; which value each got back depends on time."""
    n, up, down, masks = 128, 0, 0, 255
    for thread in range(n):
        up = 0 if up >= 17 else up + 1
        down = 137 if down == 0 or down > 137 else down - 1
        masks &= 2 * thread + 7
    left = [10 * n, -10 * n, 77, n - 1, 0, up, down, n - 1, masks, -1, 0, 3 * n, 5 * n]
    assert executed("sums.atomic_kinds")[1][0].tolist() == left


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if "hangs" in entry])
def test_hangs(name: str) -> None:
    """A launch that never ends on the GPU is a fault here."""
    with pytest.raises(Fault):
        executed(name)


UNPATCHED = {
    "atomics.table_cas/mixed": 1, "divergence.break_continue": 6, "order.order_barrier_after_loop/warps": 1,
    "schedule.schedule_inner_branch/5-7": 1, "schedule.schedule_states/1-2": 202,
    "schedule.schedule_two_exits/4-1": 1,
}  # fmt: skip
"""Launches that execute so many instructions more where no profiler patches memory instructions."""


@pytest.mark.parametrize("name", UNPATCHED)
def test_without_patches_executions_are_the_counters(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`smsp__inst_executed`, which is read without patches: the slot keeps what a branch parked."""
    monkeypatch.setattr(warp, "touches_memory", lambda i: False)
    entry, (run, _) = ENTRIES[name], launched(name, engine="numpy", workers=1)
    assert run.instructions == entry["hardware"]["smsp__inst_executed.sum"]
    assert run.instructions - sum(row[1] for row in entry["rows"]) == UNPATCHED[name]


@pytest.mark.parametrize(
    "name", ["scan_shuffles/8", "scan_shuffles/32", "radix_digits/8", "radix_digits/20", "aggregate_partition"]
)
def test_warpsync_is_counted_once_more(name: str) -> None:
    """How far the hardware's counters are above the sum of the source page's rows: only WARPSYNC explains it."""
    recorded = text("sorts")
    (launch,) = [one for one in recorded["launches"] if one["name"] == f"sorts.{name}"]
    opcodes = recorded["listings"][launch["kernel"]].split()
    rows = {offset: (warps, threads) for offset, warps, threads, *_ in launch["rows"]}
    again = [0, 0]
    for number, opcode in enumerate(opcodes):
        if opcode == "WARPSYNC.ALL" and 16 * number in rows:
            (came, threads), (gathered, _) = rows[16 * number], rows[16 * number + 16]
            gatherings = came - gathered  # of two groups each; all warps of aggregate_partition come in four
            if name != "aggregate_partition":
                threads = 32 * gatherings
            elif gatherings:
                gatherings = gathered
            again = [again[0] + gatherings, again[1] + threads * (gatherings > 0)]
    counters = [launch["hardware"][f"smsp__{what}inst_executed.sum"] for what in ("", "thread_")]
    assert [whole - sum(row[n] for row in rows.values()) for n, whole in enumerate(counters)] == again
