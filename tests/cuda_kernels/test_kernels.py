"""The real kernels: their oracles, their predictions against what an H200 recorded, and what counts as disagreement."""

import ast
import math
import re
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from banksim.kernels.cubin import decode_ahead
from banksim.runs.validation import profiler as nsight_compute
from banksim.runs.validation.profiler import InstructionCounts
from banksim.system.extras import command
from cuda_kernels import catalogue, evidence_records, predict, profiler, validate
from cuda_kernels import verdicts as compare
from cuda_kernels.clocked_kernels import twin
from cuda_kernels.evidence_records import Record, Spread
from cuda_kernels.predict import Prediction
from cuda_kernels.verdicts import Verdict, contests, judge, rank_correlation
from helpers.fixtures import Patch
from helpers.places import EXAMPLES

EVIDENCE = evidence_records.load(evidence_records.EVIDENCE)
ENTRIES = catalogue.entries()
RECORDS = {record.name: record for record in EVIDENCE.records}


SHORT = 370
TIMED = [
    name
    for name, record in RECORDS.items()
    if record.passes
    and all(len(r.rows) <= SHORT for r in RECORDS.values() if ENTRIES[r.name].group == ENTRIES[name].group)
]
"""Of the kernels that measure themselves those whose group has only short ones: tests have no time for the others,
which `validate` compares too (examples/guide/time.md)."""


@pytest.fixture(scope="module", autouse=True)
def decoded() -> None:
    """All of the code that the H200 ran, with one start of nvdisasm."""
    decode_ahead(record.cubin for record in EVIDENCE.records)


def recorded_code(name: str, timed: bool = False) -> Prediction:
    """What banksim counts for the machine code that the H200 ran."""
    launch = ENTRIES[name].launch()
    return predict.predict(launch if timed else replace(launch, clocks=None), RECORDS[name].cubin)


# ---- the catalogue
def test_every_family_has_its_kernels() -> None:
    tiles = {
        f"set{a}Read{b}{c}"
        for a in ("Row", "Col")
        for b in ("Row", "Col")
        for c in ("", "Pad", "Pad2", "Dyn", "DynPad")
    }
    products = {
        f"product{how}{tile}"
        for how in ("Global", "Tiled", "NoBarrier", "Pad", "Unrolled", "DynamicPad")
        for tile in (16, 32)
    }
    others = {"setRowReadColRectDynPad", "copyRows", "transposeSwizzled", "reduceShuffle", "scanConflictFree"}
    others |= {"histogramPrivatised", "stencil1D", "stencil2D", "bitonicSort", "matrixVector", "softmaxRows"}
    others |= {"blockTransposeSwizzled32", "blockScanPad512", "blockProductTurned16"}
    others |= {"productRegisters", "productTransposedAPad32", "reverse_complex64", "structOf3", "broadcastWord"}
    assert tiles | products | others <= set(ENTRIES)
    assert {entry.family for entry in ENTRIES.values()} == set(catalogue.FAMILIES)


def test_shapes_of_arrays_are_what_numba_takes_for_constants() -> None:
    """Numbers and names: a sum of a module's numbers is none, and the tests below run recorded code, not Numba's."""
    for path in sorted(Path(catalogue.__file__).parent.glob("kernels/*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith((".shared.array", ".local.array")):
                sizes = call.args[0].elts if isinstance(call.args[0], ast.Tuple) else call.args[:1]
                assert all(isinstance(size, ast.Name | ast.Constant) for size in sizes), ast.unparse(call)


@pytest.mark.parametrize("name", ENTRIES)
def test_an_oracle_rejects_a_kernel_that_did_nothing(name: str) -> None:
    entry, launch = ENTRIES[name], ENTRIES[name].launch()
    assert bool(launch.expected) is not bool(entry.race)
    assert bool(launch.wrong(launch.arguments)) is not bool(entry.race)
    right = [launch.expected.get(n, a) for n, a in enumerate(launch.arguments)]
    assert launch.wrong(right) == ""


def test_an_oracle_with_a_tolerance_accepts_rounding_and_rejects_more() -> None:
    launch = ENTRIES["softmaxRows"].launch()
    near = launch.expected[0] * np.float32(1 + 1e-6)
    assert launch.wrong([near]) == ""
    assert launch.wrong([launch.expected[0] * np.float32(1.01)])
    near[3, 4] = np.nan
    assert "[3][4]: nan instead of" in launch.wrong([near])


def test_without_numba_cuda_kernels_are_listed_and_using_one_says_what_to_install() -> None:
    hide = "import sys; sys.modules['numba_cuda'] = None"
    program = f"{hide}; from cuda_kernels.__main__ import main; sys.exit(main(sys.argv[1:]))"
    listed, shown = (
        subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
        for words in (["list", "sorting"], ["show", "bitonicSort"])
    )
    assert (listed.returncode, "bitonicSort" in listed.stdout) == (0, True)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.endswith(f": {command('cuda')}\n")


# ---- predictions against the hardware
def test_the_evidence_has_every_kernel_counted_and_timed() -> None:
    assert list(RECORDS) == list(ENTRIES)
    for record in EVIDENCE.records:
        assert (record.wrong is None) == bool(ENTRIES[record.name].race)
        assert record.rows
        assert record.cubin
        assert record.microseconds is not None
        assert record.cycles is not None
        assert record.cycles.low <= record.cycles.median <= record.cycles.high


@pytest.mark.parametrize("name", [name for name in ENTRIES if name not in TIMED])
def test_every_count_equals_the_hardwares(name: str) -> None:
    verdict = judge(name, "", recorded_code(name), RECORDS[name])
    assert (verdict.differences, verdict.remarks) == ((), ())
    assert RECORDS[name].wrong in ("", None)


@pytest.mark.parametrize("group", dict.fromkeys(ENTRIES[name].group for name in TIMED))
def test_kernels_that_measure_themselves_take_what_they_took(group: str) -> None:
    """Counts are equal; cycles of a warm pass within 10 %, but for those named; variants are ranked right."""
    names = [name for name in TIMED if ENTRIES[name].group == group]
    verdicts = [judge(name, group, recorded_code(name, timed=True), RECORDS[name]) for name in names]
    assert [(v.differences, v.remarks) for v in verdicts] == [((), ())] * len(verdicts)
    found = compare.timing(verdicts)
    assert found is not None
    assert found.wrong == ()
    assert {name: error for name, error in found.errors.items() if abs(error) > FAR_OFF.get(name, 0.1)} == {}


FAR_OFF = {"blockStencilAlong": 0.13}
"""How far simulated time may be off where it is by more than 10 %; see examples/guide/time.md."""


@pytest.mark.parametrize("name", ["setRowReadColDynPad", "transposeSwizzled", "reduceUnrolled8", "productTiled16"])
def test_the_function_itself_is_predicted_as_it_ran(name: str) -> None:
    prediction, same_code = validate.predicted((name, RECORDS[name]))
    verdict = judge(name, "", prediction, RECORDS[name], same_code)
    assert verdict.differences == ()
    assert len(verdict.remarks) == (not same_code)


def test_the_goldens_of_the_products() -> None:
    golden = {
        "productTiled16": 2_930_688,
        "productPad16": 3_328_000,
        "productTiled32": 2_160_640,
        "productPad32": 12_605_440,
    }
    for name, instructions in golden.items():
        assert sum(row.warps for row in RECORDS[name].rows) == instructions


def test_the_guide_shows_the_figures_of_the_evidence() -> None:
    section = (EXAMPLES / "guide" / "hardware.md").read_text(encoding="utf-8")
    instructions = sum(len(record.rows) for record in EVIDENCE.records)
    assert f"{len(RECORDS)} kernels, {instructions:,} executed instructions" in section
    shown = re.findall(r"^\| (\w+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d.]+) \|$", section, re.M)
    assert len(shown) >= 16
    for name, *figures in shown:
        record = RECORDS[name]
        shared = [row for row in record.rows if row.opcode.startswith(("LDS", "STS", "ATOMS"))]
        counts = [sum(row.warps for row in shared), sum(row.transactions or 0 for row in shared)]
        counts.append(sum(row.warps for row in record.rows))
        assert record.microseconds is not None
        assert figures == [*(f"{count:,}" for count in counts), f"{record.microseconds.median:.2f}"]
    assert "driver {driver}, CUDA {cuda}, numba-cuda {numba_cuda}, {profiler}".format(**EVIDENCE.machine) in section


# ---- what counts as disagreement
@pytest.fixture(scope="module")
def tile() -> tuple[Prediction, Record]:
    return recorded_code("setRowReadCol"), RECORDS["setRowReadCol"]


def altered(record: Record, of: str, **figures: object) -> Record:
    rows = [replace(row, **figures) if row.opcode == of else row for row in record.rows]  # type: ignore[arg-type]
    return replace(record, rows=tuple(rows))


def differences(prediction: Prediction, record: Record) -> tuple[str, ...]:
    return judge("", "", prediction, record).differences


def test_any_altered_count_is_a_difference(tile: tuple[Prediction, Record]) -> None:
    prediction, record = tile
    for figure in ("warps", "threads", "predicated_on", "transactions", "ideal"):
        (line,) = differences(prediction, altered(record, "LDS", **{figure: 7}))
        assert line.startswith("0x")
        assert line.endswith("predicted, 7 measured")
    assert "executed LDS.64 there" in differences(prediction, altered(record, "LDS", opcode="LDS.64"))[0]
    assert "only banksim executed it" in differences(prediction, replace(record, rows=record.rows[1:]))[0]
    extra = replace(record, rows=(*record.rows, InstructionCounts(9999, "NOP", 1, 32, 32)))
    assert "only the GPU executed it" in differences(prediction, extra)[0]
    assert "the GPU's result: broken" in differences(prediction, replace(record, wrong="broken"))[0]
    assert "banksim's result: broken" in differences(replace(prediction, wrong="broken"), record)[0]


def test_counters_may_exceed_a_prediction_by_arbitration_and_never_fall_short(tile: tuple[Prediction, Record]) -> None:
    prediction, record = tile

    def counted(**counters: int) -> Verdict:
        return judge("", "", prediction, replace(record, counters={**record.counters, **counters}))

    assert counted(transactions_ld=1040).arbitration == pytest.approx(16 / 1024)
    assert counted(transactions_ld=1040).differences == ()
    assert counted(transactions_ld=1023).differences
    assert counted(transactions_ld=1200).differences
    assert counted(requests_st=33).differences == ("requests st: 32 predicted, 33 counted",)
    assert counted(instructions=1).differences


def test_a_wrong_bank_rule_is_caught() -> None:
    wrong = predict.predict(ENTRIES["setRowReadCol"].launch(), RECORDS["setRowReadCol"].cubin, "kepler-4")
    assert "transactions 512 predicted, 1,024 measured" in differences(wrong, RECORDS["setRowReadCol"])[0]


def test_the_source_page_is_not_believed_on_merged_pairs() -> None:
    name = "productTiled16"
    prediction, record = recorded_code(name), RECORDS[name]
    wide = next(row for row in record.rows if row.opcode == "LDS.128")
    page = altered(record, "LDS.128", transactions=(wide.transactions or 0) + 5)
    assert differences(prediction, page) == ()
    assert "does not know all merging of pairs" in judge("", "", prediction, page).remarks[0]
    assert differences(prediction, replace(page, counters={**record.counters, "transactions_ld": 1}))


# ---- times
def test_rank_correlation_shares_the_ranks_of_ties() -> None:
    assert rank_correlation([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [30, 20, 10]) == pytest.approx(-1)
    assert rank_correlation([5, 5, 5], [1, 2, 3]) is None
    assert rank_correlation([1, 1, 2], [1, 2, 3]) == pytest.approx(math.sqrt(3) / 2)
    assert compare.ranks([7, 7, 9]).tolist() == [1.5, 1.5, 3]


def variant(name: str, transactions: int, microseconds: float) -> Verdict:
    prediction = Prediction((), (), 1, transactions, 1, 1, "", frozenset(), {}, {})
    time = Spread(microseconds, microseconds, microseconds, 3)
    return Verdict(name, "family", prediction, Record(name, (132,), (32,), 0, 0, 0, "", microseconds=time, cycles=time))


def test_no_agreement_is_claimed_where_shared_memory_is_not_the_limit() -> None:
    machine = {"multiprocessors": 132, "sm_clock_mhz": 1000}
    calm = [variant("a", 1000, 1.0), variant("b", 2000, 2.0), variant("c", 3000, 3.0)]
    (found,) = contests(calm, machine)
    assert not found.limited
    assert "no agreement is claimed" in found.sentence()
    (found,) = contests(
        [variant(v.name, 100 * v.prediction.transactions, i + 1.0) for i, v in enumerate(calm)], machine
    )
    assert found.limited
    assert found.sentence().endswith("a, of fewest transactions, is fastest")
    (found,) = contests([variant("a", 100_000, 2.0), variant("b", 200_000, 1.0), variant("c", 300_000, 3.0)], machine)
    assert "b is fastest, 50.0% ahead of the best of those with fewest transactions" in found.sentence()
    assert contests(calm[:2], machine) == []


@pytest.mark.filterwarnings("ignore:Could not find source")
def test_a_twin_has_the_kernels_accesses_between_two_readings_of_the_clock() -> None:
    from banksim.kernels.compilers import compile_numba
    from banksim.kernels.cubin import decode

    launch = ENTRIES["productTransposedA16"].launch()
    cycles = np.zeros((1, 1, 2), np.int64)
    compiled = compile_numba(twin(launch.kernel), [*launch.arguments, cycles])
    names = [i.opcode.partition(".")[0] for i in decode(compiled.cubin)[compiled.name].instructions]
    here = [opcode.partition(".")[0] for opcode in validate.opcodes(RECORDS["productTransposedA16"].cubin)]
    clocks = [at for at, name in enumerate(names) if name == "CS2R"]
    assert [name for name in names[clocks[0] : clocks[-1]] if name in ("LDS", "STS")] == [
        n for n in here if n in ("LDS", "STS")
    ]


# ---- the profiler's pages
SOURCE_PAGE = """\
"Kernel Name","tile"
"Address","Source",{columns},"L1 Wavefronts Shared","L1 Wavefronts Shared Ideal"
"0x1000","      S2R R0, SR_TID.X","32","1024","1024","0","0"
"0x1010"," @!P0 STS [R9], R4","32","1024","512","16","16"
"0x1020","      EXIT","0","0","0","-","-"
"""
RAW_PAGE = """\
"ID","Kernel Name","smsp__inst_executed.sum","gpu__time_duration.sum"
"","","inst","us"
"0","tile","2,048","1.5"
"""


def test_the_profilers_pages_are_read() -> None:
    kinds = ("Instructions", "Thread Instructions", "Predicated-On Thread Instructions")
    columns = ",".join(f'"{kind} Executed"' for kind in kinds)
    (page,) = nsight_compute.source_pages(2 * SOURCE_PAGE.replace("{columns}", columns), 1)
    assert nsight_compute.rows(page) == (
        InstructionCounts(0, "S2R", 32, 1024, 1024),
        InstructionCounts(16, "STS", 32, 1024, 512, 16, 16),
    )
    again = SOURCE_PAGE.replace("{columns}", columns)
    other = again.replace('"tile"', '"_Z4tilev"').replace('"1024","512"', '"1024","480"')
    for text in (again * 2 + other, other + again * 2, again + other + again):  # some kernels' pages are there twice
        found = nsight_compute.source_pages(text, text.count("Kernel Name") - text.count(again * 2))
        assert [nsight_compute.rows(one)[1].predicated_on for one in found] == [
            480 if name.startswith("_Z") else 512 for name in re.findall('Name","(.*)"', text.replace(again * 2, again))
        ]
    assert len(nsight_compute.source_pages(again * 4, 3)) == 4  # which of three alike is there twice cannot be told
    metrics = {key: profiler.COUNTERS[key] for key in ("instructions", "nanoseconds")}
    assert nsight_compute.counted(RAW_PAGE, metrics) == [{"instructions": 2048, "nanoseconds": 1500}]


def test_several_profilers_share_the_kernels_and_one_does_them_all_where_they_cannot(monkeypatch: Patch) -> None:
    parts: list[list[str]] = []
    most = 9

    def count_part(_program: str, _metrics: dict[str, str], names: list[str]) -> dict[str, profiler.Counts]:
        parts.append(names)
        if len(names) > most:
            raise nsight_compute.Unavailable("too many at a time")
        return {name: profiler.Counts((), {"instructions": int(name)}) for name in names}

    monkeypatch.setattr(profiler, "find", lambda: "ncu")
    monkeypatch.setattr(profiler, "known", lambda _program: {})
    monkeypatch.setattr(profiler, "count_part", count_part)
    names = [str(number) for number in range(9)]
    found = profiler.count(names)
    assert {name: counts.counters["instructions"] for name, counts in found.items()} == {n: int(n) for n in names}
    assert len(parts) == profiler.SIDE_BY_SIDE
    parts.clear()
    most = 2
    with pytest.raises(nsight_compute.Unavailable):
        profiler.count(names)
    assert parts[-1] == names, "in the end one tries them all"
    assert profiler.count(names[:1]).keys() == {"0"}


def test_kernels_are_compiled_and_predicted_while_the_profiler_counts_and_timed_afterwards(monkeypatch: Patch) -> None:
    """Nothing else runs on the GPU while a kernel is timed."""
    entries = catalogue.find(["setRowReadCol", "setColReadRow"])
    records = {entry.name: replace(RECORDS[entry.name], rows=(), counters={}) for entry in entries}
    events: list[str] = []
    all_compiled = threading.Event()

    @dataclass
    class KernelWithTwin:
        record: Record

    def compiled(entry: catalogue.Entry) -> KernelWithTwin:
        events.append("compiled")
        if events.count("compiled") == len(entries):
            all_compiled.set()
        return KernelWithTwin(records[entry.name])

    def count(names: list[str]) -> dict[str, profiler.Counts]:
        assert all_compiled.wait(30), "this process compiles meanwhile"
        events.append("counted")
        return {name: profiler.Counts(RECORDS[name].rows, dict(RECORDS[name].counters)) for name in names}

    def measure(kernel: KernelWithTwin) -> Record:
        events.append("timed")
        return kernel.record

    here = dict(EVIDENCE.machine)
    monkeypatch.setattr(validate.gpu, "machine", lambda: dict(here))
    monkeypatch.setattr(validate.gpu, "compiled", compiled)
    monkeypatch.setattr(validate.gpu, "measure", measure)
    monkeypatch.setattr(profiler, "count", count)
    monkeypatch.setattr(nsight_compute, "find", lambda: "ncu")
    monkeypatch.setattr(nsight_compute, "name", lambda _program: "Nsight Compute")
    with validate.Predictions(len(entries)) as predictions:
        evidence, not_done = validate.measure(entries, predictions)
        assert events == 2 * ["compiled"] + ["counted"] + 2 * ["timed"]
        assert not not_done
        assert evidence.records == tuple(RECORDS[entry.name] for entry in entries)
        assert validate.against(evidence, entries, predictions).agrees
        assert predictions.asked.keys() == records.keys()
        here["compute_capability"] = "8.0"
        evidence, (reason,) = validate.measure(entries, predictions)
        assert "this GPU has 8.0" in reason
        assert not any(record.cubin or record.rows for record in evidence.records)
