"""`banksim validate`, and `banksim diff` with a page of Nsight Compute: what was recorded on an H200 agrees, what is
changed in it is told with its line."""

import csv
import io
import json
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banksim
from banksim.__main__ import main
from banksim.report.text.validation import report
from banksim.requests.trace import Site
from banksim.runs.validation.comparison import Difference, Verdict, compare, counter_of, of_libraries, predicted
from banksim.runs.validation.profiler import METRICS, Unavailable, read
from helpers.commands import err_of, out_of, reported
from helpers.numba_programs import COLUMNS
from helpers.places import DATA, KERNELS, PROGRAMS
from helpers.recorded_launches import ENTRIES, executed
from helpers.recordings import text

Said = pytest.CaptureFixture[str]
EXECUTIONS = ("Instructions Executed", "Thread Instructions Executed", "Predicated-On Thread Instructions Executed")
SHARED = ("L1 Wavefronts Shared", "L1 Wavefronts Shared Ideal")
NAMES = ["textbook.matmul<16, 0>", "textbook.transpose_tile<0>", "textbook.reduce_modulo"]


def page(kernel: str, listing: Sequence[str], rows: Sequence[Sequence[int]]) -> str:
    """A source page as Nsight Compute exports it, of counts as tests/data/hardware has them."""
    known = {row[0]: row for row in rows}
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["Kernel Name", kernel])
    writer.writerow(["Address", "Source", *EXECUTIONS, *SHARED])
    for number, opcode in enumerate(listing):
        _, *counts = known.get(16 * number, [0, 0, 0, 0])
        shared = counts[3:] or ["-", "-"]
        writer.writerow([hex(0x7F0000000000 + 16 * number), f"      {opcode} R0, R1", *counts[:3], *shared])
    return out.getvalue()


def raw(*counters: dict[str, int]) -> str:
    lines = [",".join(f'"{word}"' for word in ("ID", *METRICS.values())), '"",' + ",".join(['""'] * len(METRICS))]
    lines += [",".join([f'"{n}"', *(f'"{one[kind]:,}"' for kind in METRICS)]) for n, one in enumerate(counters)]
    return "\n".join(lines) + "\n"


def recorded_page(name: str, change: Callable[[list[int]], object] = lambda row: None) -> str:
    entry = ENTRIES[name]
    listing = text(name.split(".")[0])["listings"][entry["kernel"]].split()
    rows = [list(row) for row in entry["rows"]]
    change(next(row for row in rows if len(row) > 4))
    return page(entry["kernel"], listing, rows)


@pytest.mark.parametrize("name", NAMES)
def test_recorded_counts_agree(name: str) -> None:
    run, _ = executed(name)
    [verdict] = compare([predicted(run)], read(recorded_page(name)))
    assert verdict.agrees
    assert verdict.instructions == len(ENTRIES[name]["rows"])


def test_launches_are_summed_and_a_count_that_differs_is_told_with_its_line() -> None:
    name = NAMES[0]
    mine = predicted(executed(name)[0])
    pages = recorded_page(name) + recorded_page(name, lambda row: row.__setitem__(4, row[4] + 3))
    [verdict] = compare([mine, mine], read(pages))
    [difference] = verdict.differences
    assert (difference.figure, difference.measured - difference.predicted) == ("transactions", 3)
    assert difference.site.line
    assert verdict.launches == 2


def test_other_machine_code_and_other_launches_are_not_compared() -> None:
    name = NAMES[0]
    mine = predicted(executed(name)[0])
    [verdict] = compare([mine], read(recorded_page(name).replace("BAR.SYNC", "BAR.ARV")))
    assert verdict.problem.startswith("other machine code ran on the GPU")
    [verdict] = compare([mine, mine], read(recorded_page(name)))
    assert verdict.problem == "2 launches predicted, 1 measured"
    assert not verdict.agrees


def test_a_name_with_several_machine_codes_is_several_kernels() -> None:
    """As a kernel of Triton's is that was launched with several constants."""
    name = NAMES[0]
    mine, page = predicted(executed(name)[0]), recorded_page(name)
    other = replace(mine, code=tuple(opcode.replace("BAR.SYNC", "BAR.ARV") for opcode in mine.code))
    assert other.code != mine.code
    verdicts = compare([mine, other, mine], read(page + page.replace("BAR.SYNC", "BAR.ARV") + page))
    assert [(one.agrees, one.launches) for one in verdicts] == [(True, 2), (True, 1)]


def test_kernels_of_libraries_are_told_and_not_compared() -> None:
    mine = [predicted(executed(NAMES[0])[0])]
    theirs = read(recorded_page(NAMES[0]) + 2 * recorded_page(NAMES[2]))
    compared, elsewhere = of_libraries(mine, theirs)
    verdicts = compare(mine, compared)
    assert all(verdict.agrees for verdict in verdicts)
    said = " ".join(report("app", "ncu", verdicts, 80, elsewhere).plain.split())
    assert "Not compared: 2 launches by libraries whose work the processor does here: reduce_modulo" in said
    assert not all(verdict.agrees for verdict in compare(mine, theirs))


def test_what_the_counters_have_above_the_instructions_is_arbitration() -> None:
    name = NAMES[0]
    mine = predicted(executed(name)[0])
    counters = {kind: mine.by_kind.get(kind, 0) for kind in METRICS}
    text = raw({**counters, "ld": counters["ld"] + 5})
    [verdict] = compare([mine], read(recorded_page(name), text))
    assert verdict.agrees
    assert verdict.arbitration == {"ld": 5, "st": 0}


def test_lines_have_the_transactions_of_their_instructions_and_what_conflicts_cost() -> None:
    name = NAMES[1]
    run, _ = executed(name)
    [verdict] = compare([predicted(run)], read(recorded_page(name)))
    excess, transactions = map(sum, zip(*verdict.lines.values(), strict=True))
    assert (excess, transactions) == (run.conflicts.excess, run.conflicts.transactions)
    assert excess > 0


def test_each_counter_is_compared_with_what_it_counts() -> None:
    """Loads of matrices are loads; the page and these counters know nothing of other blocks' shared memory, nor of
    copies and products."""
    launch = next(name for name in ENTRIES if name.startswith("tensor.") and "gemm_half" in name)
    sites = executed(launch)[0].conflicts.sites
    matrices = sum(int(site.transactions) for site in sites if site.op.startswith("ldmatrix"))
    loads = sum(int(site.transactions) for site in sites if site.op == "ld")
    assert matrices
    assert predicted(executed(launch)[0]).by_kind["ld"] == loads + matrices
    assert [counter_of(op) for op in ("st", "stmatrix_x4", "cas", "cp_async", "wgmma")] == [
        "st", "st", "atom", None, None,
    ]  # fmt: skip
    code = banksim.load(KERNELS / "clusters.cu", "sm_90")["both"]
    mine = predicted(banksim.run(code, 2, 32, [np.zeros(64, np.int32)], cluster=2))
    (there,) = [offset for offset, row in mine.rows.items() if row.opcode.startswith("LD.E")]
    assert mine.rows[there].transactions is None
    assert mine.by_kind == {"st": 2}


def test_pages_that_are_printed_twice_are_read_once() -> None:
    twice = 2 * recorded_page(NAMES[0])
    assert len(read(twice, launches=1)) == len(read(twice, raw({"ld": 1, "st": 1, "atom": 0}))) == 1
    assert len(read(twice, launches=2)) == 2


@pytest.mark.parametrize("text", ["", "a,b\n", '"Kernel Name","k"\n"Address","Source"\n"0x0","EXIT"\n'])
def test_what_is_no_source_page_is_told(text: str) -> None:
    with pytest.raises(Unavailable, match="no source page of Nsight Compute"):
        read(text)


# ---- the commands
@pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux")
def test_a_whole_program_of_cuda_agrees_with_what_an_h100_counted(capfd: Said) -> None:
    pages = ",".join(str(DATA / "validation" / name) for name in ("tiles.csv", "tiles_raw.csv"))
    assert main(["validate", "--json", "--pages", pages, str(PROGRAMS / "cuda" / "tiles.cu")]) == 0
    result, _, verdicts = capfd.readouterr().out.partition("\n")
    assert result == "2455950 325 163: no error"
    kernels = {one["kernel"]: one for one in json.loads(verdicts)["kernels"]}
    assert [(name, one["launches"]) for name, one in kernels.items()] == [
        ("transpose", 1),
        ("sum", 3),
        ("histogram", 1),
    ]
    assert not any(excess for one in kernels.values() for excess in one["arbitration"].values())


PROGRAM = f"""{COLUMNS}
out = np.zeros((32, 32), np.float32)
for _ in range(2):
    columns[1, (32, 32)](out)
print("ran")
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The pages of the program. Its transactions are those of a GPU: 32 for the stores, 32 · 32 for the loads."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.py").write_text(PROGRAM)
    from banksim.architectures.bank_rules import architecture
    from banksim.runs.options import Options
    from banksim.runs.programs import python_program
    from banksim.runs.programs.launches import Launches
    from banksim.runs.programs.served import Programs

    runs: list[Any] = []
    launches = Launches((architecture("sm_90"),))
    launches.watch = runs.append
    command = python_program.command([str(folder / "program.py")], module=False)
    Programs("program.py", launches, Options()).run(command, command[0])
    shared = {"STS": (32, 32), "LDS": (1024, 32)}
    pages = ""
    for run in runs:
        code = [i.opcode for i in run.kernel.listing]
        rows = [
            (e.instruction.pc, e.warps, e.threads, e.predicated_on, *shared.get(e.instruction.name, ()))
            for e in run.profile
            if e.warps
        ]
        pages += page(run.kernel.name, code, rows)
    return pages, raw(*[{"ld": 1030, "st": 32, "atom": 0}] * 2)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def fake(folder: Path, monkeypatch: pytest.MonkeyPatch, pages: tuple[str, str]) -> None:
    """A program of the profiler's name that answers as it does."""
    (folder / "source").write_text(pages[0])
    (folder / "raw").write_text(pages[1])
    program = folder / "bin" / "ncu"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport sys\nwords = sys.argv[1:]\n"
        "if '--version' in words: print('Version 2025.3.1.0')\n"
        f"elif '--import' in words: print(open({str(folder)!r} + '/' + words[-1]).read(), end='')\n"
        "else: open(words[words.index('-o') + 1], 'w'); assert words[-1] == 'word'\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")


def test_a_program_is_compared_with_the_gpu(
    folder: Path, measured: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capfd: Said
) -> None:
    fake(folder, monkeypatch, measured)
    said = " ".join(out_of(capfd, ["validate", "program.py", "word"]).split())
    assert said.startswith("ran program.py: banksim")  # what the program says on the GPU is the profiler's
    assert "program.py: banksim against Nsight Compute 2025.3.1.0" in said
    assert "2 launches of 1 kernel" in said
    assert "executions, threads and transactions are all equal" in said
    assert "columns, loads: 2,060, of which 2,048 (99.4%) explained, 12 arbitration" in said
    assert "which no address tells; `banksim run --timing` estimates it (examples/guide/hardware.md)." in said
    assert "program.py:11 out[y, x] = tile[x, y]: 2,048 transactions and 1,984 of them conflicts" in said


def test_differences_are_told_by_line_and_are_status_1(folder: Path, measured: tuple[str, str], capfd: Said) -> None:
    (folder / "pages.csv").write_text(measured[0].replace('"1024","1024","1024"', '"1024","1024","992"'))
    said = out_of(capfd, ["validate", "--pages", "pages.csv", "program.py", "word"], status=1)
    assert "1 kernel differs" in said
    assert "program.py:11  out[y, x] = tile[x, y]\n" in said
    assert "LDS: transactions 2,048 predicted, 1,984 measured" in said
    assert "How often a loop waits" not in said
    assert main(["validate", "--json", "--pages", "pages.csv", "program.py"]) == 1
    report = json.loads(capfd.readouterr().out.partition("\n")[2])
    [difference] = report["kernels"][0]["differences"]
    assert (difference["file"], difference["line"]) == ("program.py", 11)


def test_loops_that_wait_are_told_where_executions_differ() -> None:
    site = Site("LD.E", 0x10, "k.cu", 3, "while (!*flag);")
    differing = Difference(0x10, "LD.E", "warps", 301, 64, site)
    verdict = Verdict("cub::Kernel<" + "long, " * 20 + "int>", 1, 4, differences=[differing])
    said = " ".join(report("app", "ncu", [verdict], 80).plain.split())
    assert "How often a loop waits for other warps" in said
    assert "cub::Kernel<…>" in said


def split(pages: str) -> list[str]:
    return [f'"Kernel Name"{part}' for part in pages.split('"Kernel Name"')[1:]]


def test_an_exported_page_is_a_side_of_diff(folder: Path, measured: tuple[str, str], capsys: Said) -> None:
    assert reported(folder, "program.py")[0] == 0
    (folder / "pages.csv").write_text(measured[0])
    (folder / "twice.csv").write_text("".join(2 * part for part in split(measured[0])))
    (folder / "worse.csv").write_text(measured[0].replace('"1024","1024","1024"', '"1024","1024","1025"'))
    capsys.readouterr()
    assert main(["diff", "report.json", "pages.csv"]) == 0
    assert main(["diff", "report.json", "twice.csv"]) == 0
    assert "program.py:11" in out_of(capsys, ["diff", "report.json", "worse.csv"], status=1)


def test_diff_does_not_compare_what_the_page_does_not_count(folder: Path, capsys: Said) -> None:
    """Where blocks load from each other's memory (irregular.cu in tests/hardware) the H200's page has 0 transactions.
    For 8 and 16 bytes it is approximate."""
    sites = [
        {"offset": 0, "op": "ld", "width": 4, "transactions": 2, "ideal": 1},
        {"offset": 16, "op": "remote_ld", "width": 4, "transactions": 5, "ideal": 5},
        {"offset": 32, "op": "ld", "width": 16, "transactions": 8, "ideal": 8},
        {"offset": 48, "op": "cp_async", "width": 4, "transactions": 2, "ideal": 2},
        {"offset": 48, "op": "cp_async_gather", "width": 4, "transactions": None, "ideal": None},
    ]
    common = {"file": "k.cu", "text": "", "function": "", "excess": 0}
    kernel = {"kernel": "k", "conflicts": [{"arch": "sm_90", "sites": [{**common, "line": 1, **one} for one in sites]}]}
    (folder / "report.json").write_text(json.dumps({"kernels": [kernel], "launches": 1}))
    rows = [[16 * n, 1, 32, 32, *shown] for n, shown in enumerate(([2, 1], [], [9, 8], [5, 2]))]
    (folder / "page.csv").write_text(page("k", ["LDS", "LD.E", "LDS.128", "LDGSTS.E"], rows))
    said = out_of(capsys, ["diff", "report.json", "page.csv"], status=0)
    for note in ("1 access to other blocks' memory", "1 load of 8 or 16 bytes", "1 instruction without a known cost"):
        assert note in said
    assert main(["diff", "--json", "report.json", "page.csv"]) == 0
    assert json.loads(capsys.readouterr().out)["not_compared"] == {"remote": 1, "unknown": 1, "wide": 1}


INSTANCES = ("copy<0, true>", "copy<1, false>")


@pytest.mark.parametrize(
    "names",
    [
        ("_Z4copyILi0ELb1EEvPf", "_Z4copyILi1ELb0EEvPf"),
        ("void copy<(int)0, (bool)1>(float *)", "void copy<(int)1, (bool)0>(float *)"),
    ],
)
def test_diff_tells_instances_of_a_template_apart(names: Sequence[str], folder: Path, capsys: Said) -> None:
    """By what the page calls them; a page that does not tell is refused."""
    site = {"offset": 0, "op": "ld", "width": 4, "ideal": 1, "text": "", "function": "", "excess": 0, "file": "k.cu"}
    counts = dict(zip(INSTANCES, (32, 1), strict=True))
    kernels = [
        {"kernel": name, "conflicts": [{"arch": "sm_90", "sites": [{**site, "line": count, "transactions": count}]}]}
        for name, count in counts.items()
    ]
    (folder / "report.json").write_text(json.dumps({"kernels": kernels, "launches": 2}))

    def against(names: Sequence[str]) -> list[str]:
        pages = [page(name, ["LDS"], [[0, 1, 32, 32, n, 1]]) for name, n in zip(names, counts.values(), strict=False)]
        (folder / "page.csv").write_text("".join(pages))
        return ["diff", "report.json", "page.csv"]

    assert "No change." in out_of(capsys, against(names), status=0)
    said = err_of(capsys, against(("copy", "copy")))
    assert "page.csv: which launches are of copy<0, true> and which of copy<1, false> is not told" in said
    assert "page.csv: no launch of copy<1, false>: it has copy<" in err_of(capsys, against(names[:1]))
    assert "page.csv: no launch of copy<0, true>: it has other" in err_of(capsys, against(("other", "other")))
    assert "page.csv is a source page of Nsight Compute: give it second" in err_of(
        capsys, ["diff", "page.csv", "report.json"]
    )


def test_without_a_profiler_a_line_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said) -> None:
    monkeypatch.setenv("PATH", str(folder))
    assert err_of(capsys, ["validate", "program.py"]).startswith("banksim: Nsight Compute (ncu) is not on PATH")


def test_programs_of_numba_run_in_a_process_of_their_own_and_find_the_driver(
    folder: Path, measured: tuple[str, str], capfd: Said
) -> None:
    """There numba-cuda links as on a GPU. On an H200 it made 1,009 instructions of a kernel, and ptxas alone 1,019."""
    (folder / "pages.csv").write_text(measured[0])
    loaded = 'import ctypes, sys\nassert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0\n'
    asked = 'print("banksim.commands.validate" in sys.modules)\n'
    (folder / "program.py").write_text(loaded + PROGRAM + asked)
    said = out_of(capfd, ["validate", "--pages", "pages.csv", "program.py"])
    assert said.startswith("ran\nFalse\n")
    assert "2 launches of 1 kernel" in said
