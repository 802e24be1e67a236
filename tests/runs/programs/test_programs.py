"""`banksim run`: unchanged programs end as they would on a GPU, and what they launched is counted."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from banksim.__main__ import main
from helpers.commands import out_of, reported
from helpers.fixtures import Patch, Said
from helpers.numba_programs import COLUMNS, ENDLESS, LAUNCHES
from helpers.places import PROGRAMS, written_to
from helpers.processes import until_it_has_worked

SAID = {
    "arrays": "arrays: as expected",
    "bitonic_sort": "sorted 768 keys",
    "black_scholes": "dearest call: 28.676104",
    "game_of_life": "....#",
    "heat": "warmest point: 100",
    "histogram": "most frequent bin: 30",
    "laplace": "error after 40 steps: 5.984e-03",
    "mandelbrot": "points inside: 1001",
    "matmul": "[[ 253.  253.",
    "monte_carlo_pi": "pi: 3.1433852",
    "reduce_decorator": "reduce: as expected",
    "reduction": "523776",
    "sessionize": "sessions: 15",
    "streams": "elapsed: unknown",
    "threads": "threads: 31",
    "transpose": "transpose_padded: 0 wrong",
    "ufuncs": "ufuncs: equal to NumPy",
    "vector_add": "vector_add: all sums are right",
}
"""What each program says when its assertions have passed."""
PROGRAM = f"""import sys{COLUMNS}
@cuda.jit
def untouched(out):
    out[cuda.grid(1), 0] = 0

out = np.arange(1024, dtype=np.float32).reshape(32, 32)
for _ in range(3):
    columns[1, (32, 32)](out)
assert (out == np.arange(1024).reshape(32, 32).T).all()
untouched[1, 32](out)
print("said by the program")
"""


def written(tmp_path: Path, text: str) -> str:
    program = written_to(tmp_path / "program.py", text)
    return str(program)


def test_every_program_is_run() -> None:
    assert {path.stem for path in PROGRAMS.glob("*.py")} == set(SAID)


@pytest.mark.parametrize("name", SAID)
def test_an_unchanged_program_gets_right_results(name: str, tmp_path: Path, capsys: Said) -> None:
    """On an architecture whose code nvdisasm lists in two thirds of the time; others run on the default one."""
    status, report = reported(tmp_path, "--arch", "sm_80", PROGRAMS / f"{name}.py")
    said = capsys.readouterr().out
    assert SAID[name] in said
    assert (status, report["status"]) == (0, 0)
    assert report["launches"] == sum(kernel["launches"] for kernel in report["kernels"]) > 0
    assert all(kernel["instructions"] > 0 and not kernel["partial"] for kernel in report["kernels"])
    shared = sum(kernel["conflicts"][0]["requests"] for kernel in report["kernels"])
    assert report["conflicts"][0]["requests"] == shared
    assert report["time_was_asked"] == (name == "streams")


def test_a_package_runs_as_a_module(tmp_path: Path, monkeypatch: Patch, capfd: Said) -> None:
    monkeypatch.chdir(PROGRAMS)
    status, report = reported(tmp_path, "-m", "wave", "10")
    assert status == 0
    assert capfd.readouterr().out == "wave: after 10 steps 0.991522\n"
    assert [(kernel["kernel"], kernel["launches"]) for kernel in report["kernels"]] == [("advance", 10)]


def test_launches_of_a_kernel_add_up(tmp_path: Path) -> None:
    status, report = reported(tmp_path, "--arch", "sm_90,kepler-4", written(tmp_path, PROGRAM))
    assert status == 0
    columns, untouched = report["kernels"]
    assert (columns["kernel"], columns["launches"], untouched["kernel"]) == ("columns", 3, "untouched")
    assert columns["shapes"] == [{"grid": [1, 1, 1], "block": [32, 32, 1], "dynamic_shared": 0, "launches": 3}]
    hopper, kepler = columns["conflicts"]
    assert [(site["op"], site["requests"], site["transactions"], site["degree"]) for site in hopper["sites"]] == [
        ("st", 3 * 32, 3 * 32, 1),
        ("ld", 3 * 32, 3 * 32 * 32, 32),
    ]
    assert [site["transactions"] for site in kepler["sites"]] == [3 * 32, 3 * 32 * 16]
    assert (untouched["conflicts"][0]["requests"], untouched["conflicts"][0]["sites"]) == (0, [])
    assert [total["excess"] for total in report["conflicts"]] == [3 * 32 * 31, 3 * 32 * 15]


def test_a_program_runs_on_another_architecture(tmp_path: Path, capfd: Said) -> None:
    """Code, limits and answers are those of the first architecture that is executed; others judge that code."""
    told = "gpu.compute_capability, gpu.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"
    asks = f"{PROGRAM}gpu = cuda.get_current_device()\nprint({told})\n"
    status, report = reported(tmp_path, "--arch", "kepler-4,sm_86,sm_90", written(tmp_path, asks))
    assert (status, report["code"]) == (0, "sm_86")
    assert [one["arch"] for one in report["conflicts"]] == ["kepler-4", "sm_86", "sm_90"]
    assert capfd.readouterr().out.endswith("(8, 6) 101376\n")
    assert main(["run", "--arch", "sm_86,sm_90", "--no-picture", written(tmp_path, asks)]) == 0
    assert "sm_90: judged on code of sm_86" in capfd.readouterr().err


def test_the_counts_are_those_of_banksim_run(tmp_path: Path) -> None:
    """The same kernel, launched by a program and by `banksim.run`."""
    import banksim
    from banksim.runs.python_file import load_python

    once = PROGRAM.replace("range(3)", "range(1)").split("untouched[")[0]
    _, report = reported(tmp_path, written(tmp_path, once))
    kernel = load_python(written(tmp_path, COLUMNS)).columns
    direct = banksim.run(kernel, 1, (32, 32), [np.zeros((32, 32), np.float32)])
    (counted,) = report["kernels"]
    assert counted["instructions"] == direct.instructions
    assert counted["conflicts"][0] == direct.conflicts.to_json()


def test_the_report_leaves_standard_output_to_the_program(tmp_path: Path, capsys: Said, monkeypatch: Patch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    program = written(tmp_path, PROGRAM)
    assert main(["run", program]) == 0
    said = capsys.readouterr()
    assert said.out == "said by the program\n"
    assert "4 launches of 2 kernels" in said.err
    assert "program.py:11  out[y, x] = tile[x, y]" in said.err
    assert main(["run", "--output", "-", "--no-picture", program]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("said by the program\nprogram.py: bank conflicts on sm_90\n")


def test_the_limit_and_the_program_share_the_exit_status(tmp_path: Path) -> None:
    program = written(tmp_path, PROGRAM)
    assert main(["run", "--output", os.devnull, "--fail-above", "2975", program]) == 1
    assert main(["run", "--output", os.devnull, "--fail-above", "2976", program]) == 0
    failing = written(tmp_path, PROGRAM + "sys.exit(7)")
    assert main(["run", "--output", os.devnull, "--fail-above", "0", failing]) == 7


KERNEL = "import numpy as np\nfrom numba import cuda\nx = np.zeros(32)\n@cuda.jit{}\ndef k(x):\n    {}\n{}\n"


@pytest.mark.parametrize(
    ("text", "status", "complaint"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("raise SystemExit", 0, ""),
        ("import sys; sys.exit(-1)", 255, ""),
        ("import sys; sys.exit('no such planet')", 1, "no such planet\n"),
        ("import os\nos.undefined", 1, "AttributeError: module 'os' has no attribute 'undefined'\n"),
        ("def broken(:\n  pass", 1, "SyntaxError: "),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt\n"),
        (
            KERNEL.format("", "x.nothing", "k[1, 1](x)"),
            1,
            "Unknown attribute 'nothing' of type array(float64, 1d, C)\n",
        ),
    ],
)
def test_a_program_ends_as_under_python(text: str, status: int, complaint: str, tmp_path: Path, capsys: Said) -> None:
    assert main(["run", "--output", os.devnull, written(tmp_path, text)]) == status
    said = capsys.readouterr().err
    assert complaint in said
    assert f"{os.sep}banksim{os.sep}" not in said
    assert said.count("Traceback") == (not complaint.startswith(("no such", "Syntax")) and bool(complaint))
    assert said.count(", in ") <= 2  # the program's own call, and numba-cuda's


@pytest.mark.parametrize(
    ("kernel", "complaint"),
    [
        (("", "x[cuda.threadIdx.x + 1] = 0", "k[1, 32](x)"), "global store of 8 bytes out of bounds, at byte 256 of x"),
        (("", "cuda.cg.this_grid().sync()", "k[1, 32](x)"), "; try banksim run --whole"),
        (("(debug=True, opt=False)", "x[0] = 1", "k[1, 32](x)"), "k: cuda.jit(debug=True)"),
        (("", "x[0] = 1", "cuda.to_device(x).get_ipc_handle()"), "cuIpcGetMemHandle of the CUDA driver"),
        (("", "x[0] = 1", "k[1, 2048](x)"), "block x is 2048"),
        (("('void(CPointer(float64))')", "x[0] = 1", "k[1, 1](4096)"), "for a CPointer, is not simulated; try banksim"),
        (
            ("", "x[0] = y[0]", "y = cuda.to_device(x); k[1, 1](x)"),
            "k: a device array of shape (32,) that is no argument but a global or closure variable is not simulated",
        ),
    ],
)
def test_what_cannot_be_simulated_is_one_line_with_its_place(
    kernel: tuple[str, str, str], complaint: str, tmp_path: Path, capsys: Said
) -> None:
    folder = tmp_path / "numba"  # a name that packages have too
    folder.mkdir()
    program = written(folder, KERNEL.format(*kernel))
    assert main(["run", "--output", os.devnull, program]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "Warning" not in line and "warn(" not in line]
    assert line.startswith(f"banksim: {program}:7: ")
    assert complaint in line


LINKED = """
from numba import cuda
import numpy as np
code = cuda.CUSource({!r})
twice = cuda.declare_device("twice", "{}", link=code{})
@cuda.jit
def k(x):
    x[0] = 1
    {}
x = np.zeros(1, np.int32)
k[1, 1](x)
print(x[0])
"""


def test_folders_of_headers_that_numba_was_given(tmp_path: Path, capsys: Said, monkeypatch: Patch) -> None:
    monkeypatch.setattr("numba.cuda.config.CUDA_NVRTC_EXTRA_SEARCH_PATHS", f"/nowhere:{tmp_path}", raising=False)
    (tmp_path / "two.cuh").write_text("__device__ int two() { return 2; }")
    code = '#include <two.cuh>\nextern "C" __device__ int twice(int *to, int a) { *to = a * two(); return 0; }'
    program = written(tmp_path, LINKED.format(code, "int32(int32)", "", "x[0] = twice(21)"))
    assert out_of(capsys, ["run", "--output", os.devnull, program]) == "42\n"


def test_what_only_the_drivers_linker_takes(tmp_path: Path, capsys: Said) -> None:
    code = 'extern "C" __device__ void twice(int a) {}'
    program = written(tmp_path, LINKED.format(code, "void(int32)", ", abi='c'", "twice(x[0])"))
    assert main(["run", "--output", os.devnull, program]) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if "Prototype doesn't match" in line]
    assert [line.endswith("; try banksim run --whole") for line in said] == [True]


def test_what_is_not_supported_can_be_caught(tmp_path: Path, capsys: Said) -> None:
    lines = "try:\n    k[1, 32](x)\nexcept NotImplementedError as error:\n    print('not here:', error)"
    program = written(tmp_path, KERNEL.format("", "cuda.cg.this_grid().sync()", lines))
    assert "not here: " in out_of(capsys, ["run", "--output", os.devnull, program])


def test_kernels_print(tmp_path: Path, capsys: Said) -> None:
    body = "print('thread', cuda.threadIdx.x, x[0])"
    program = written(tmp_path, KERNEL.format("", body, "k[1, 2](x)\nprint('end')"))
    assert out_of(capsys, ["run", "--output", os.devnull, program]) == "thread 0 0.000000\nthread 1 0.000000\nend\n"


def test_numbas_own_errors_stay(tmp_path: Path, capsys: Said) -> None:
    lines = (
        "from numba.core.errors import NumbaError\n"
        "try:\n    k[1, 32](x)\nexcept NumbaError:\n    print('typing')\n"
        "@cuda.jit('void(float32[:])')\ndef single(x):\n    x[0] = 1\n"
        "try:\n    single[1, 1](x)\nexcept TypeError as error:\n    print(error)\n"
        "try:\n    k(x)\nexcept ValueError:\n    print('no configuration')"
    )
    program = written(tmp_path, KERNEL.format("", "y = undefined(x)", lines))
    said = out_of(capsys, ["run", "--output", os.devnull, program]).splitlines()
    assert (said[0], said[2]) == ("typing", "no configuration")
    assert said[1].startswith("single is declared for (array(float32, 1d, A)), not for (array(float64")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["missing.py"], "missing.py: No such file or directory"),
        (["."], ". is a folder"),
        ([], "give one program"),
        (["-m", "no_such_module"], "-m no_such_module: no such module"),
        (["-m", "no_such.module"], "No module named 'no_such'"),
        (["--arch", "sm_9", "missing.py"], "sm_9"),
        (["--fail-above", "many", "missing.py"], "--fail-above many"),
    ],
)
def test_wrong_use_is_one_line(words: list[str], complaint: str, capsys: Said) -> None:
    assert main(["run", *words]) == 2
    said = capsys.readouterr()
    assert complaint in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)


PROBE = """
import json, sys
import helper
main = sys.modules["__main__"]
names = ("__name__", "__file__", "__package__", "__doc__")
print(json.dumps([sys.argv, sys.path[0], [main.__dict__.get(n) for n in names], helper.__file__]))
if "kernel" in sys.argv:
    import numpy as np
    from numba import cuda
    x = np.zeros(64)
    @cuda.jit
    def count(x):
        cuda.atomic.add(x, 0, 1)
    count[2, 32](x)
    print(x[0], cuda.is_available())
"""


@pytest.mark.parametrize("as_module", [False, True])
def test_a_program_finds_what_python_gives_it(as_module: bool, tmp_path: Path) -> None:
    """In a process of its own, with settings that would disturb numba-cuda."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "probe.py").write_text(PROBE)
    (folder / "helper.py").write_text("")
    program = ["-m", "probe"] if as_module else ["elsewhere/probe.py"]
    where = folder if as_module else tmp_path
    root = str(Path(main.__code__.co_filename).parent.parent)
    environment = {**os.environ, "PYTHONPATH": root, "CUDA_VISIBLE_DEVICES": "-1", "NUMBA_ENABLE_CUDASIM": "1"}
    environment.pop("PYTHONSAFEPATH", None)

    def said(*words: str) -> list[str]:
        command = [sys.executable, *words, "--json", "--", "-m"]
        done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    plain = said(*program)
    word = "none" if as_module else "kernel"
    under = said("-W", "ignore", "-m", "banksim", "run", *program, word)
    expected = json.loads(plain[0])
    expected[0].insert(1, word)
    assert json.loads(under[0]) == expected
    assert under[1:] == ([] if as_module else ["64.0 True"])


def test_the_kernels_of_the_companion_run_unchanged(tmp_path: Path, capfd: Said) -> None:
    status, report = reported(tmp_path, "-m", "cuda_kernels", "run", "setRowReadCol", "transposeShared")
    assert status == 0
    assert capfd.readouterr().out.count(": right\n") == 2
    assert [kernel["launches"] for kernel in report["kernels"]] == [1, 1]


def test_a_long_launch_shows_how_far_it_is(tmp_path: Path, monkeypatch: Patch, capsys: Said) -> None:
    monkeypatch.setattr("banksim.system.progress.AFTER", -1)
    monkeypatch.setattr("banksim.system.progress.EVERY", -1)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["run", "--output", os.devnull, written(tmp_path, PROGRAM)]) == 0
    said = capsys.readouterr()
    assert said.out == "said by the program\n"
    assert " of 1 blocks, " in said.err
    assert said.err.endswith("\r\x1b[K")


def test_an_interrupt_ends_the_program_and_leaves_a_partial_report(tmp_path: Path) -> None:
    root = str(Path(main.__code__.co_filename).parent.parent)
    words = ["-W", "ignore", "-m", "banksim", "run", "--json", "--output", str(tmp_path / "report.json")]
    process = subprocess.Popen(
        [sys.executable, *words, written(tmp_path, ENDLESS + LAUNCHES)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "launching\n"
    until_it_has_worked(process.pid)  # the kernel has been compiled, and runs
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=300)
    assert process.returncode == 130
    assert complaint.endswith("KeyboardInterrupt\n")
    (kernel,) = json.loads((tmp_path / "report.json").read_text())["kernels"]
    assert (kernel["launches"], kernel["partial"]) == (2, 1)


@pytest.mark.parametrize(("most", "status"), [("9", 2), ("0", 0)])
def test_where_a_launch_stops_can_be_chosen(most: str, status: int, tmp_path: Path, capsys: Said) -> None:
    program = written(tmp_path, PROGRAM)
    assert main(["run", "--output", str(tmp_path / "report.txt"), "--max-instructions", most, program]) == status
    told = "the instruction limit is used up: an endless loop, or give a larger --max-instructions (0: no limit)"
    assert (told in capsys.readouterr().err) == (status == 2)


def test_the_requests_of_all_launches_go_in_one_file(tmp_path: Path, capsys: Said) -> None:
    """Judged again they cost what the program was told; blocks of later launches are counted on."""
    import pyarrow.parquet as pq

    status, told = reported(tmp_path, "--trace", tmp_path / "t.parquet", written(tmp_path, PROGRAM))
    assert status == 0
    capsys.readouterr()
    [judged] = json.loads(out_of(capsys, ["replay", str(tmp_path / "t.parquet"), "--json"]))["conflicts"]
    sites = [site for kernel in told["kernels"] for site in kernel["conflicts"][0]["sites"]]
    names = ("function", "file", "line", "offset", "op", "width", "requests", "transactions", "ideal", "degree")
    assert [[site[name] for name in names] for site in judged["sites"]] == [
        [site[name] for name in names] for site in sites
    ]
    metadata = pq.ParquetFile(tmp_path / "t.parquet").metadata.metadata
    assert [
        (one["kernel"], one["grid"], one["block"], one["first_block"])
        for one in json.loads(metadata[b"banksim.launches"])
    ] == [("columns", [1, 1, 1], [32, 32, 1], n) for n in range(3)] + [("untouched", [1, 1, 1], [32, 1, 1], 3)]


def test_no_file_of_a_launch_that_failed(tmp_path: Path, capsys: Said) -> None:
    program = written(tmp_path, PROGRAM.replace("untouched[1, 32](out)", "untouched[2, 32](out)"))
    assert main(["run", "--trace", str(tmp_path / "t.parquet"), "--output", str(tmp_path / "r.txt"), program]) == 2
    error = capsys.readouterr().err
    assert "t.parquet was not written: the trace is incomplete" in error
    assert "out of bounds" in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program.py", "r.txt"]
    assert main(["run", "--trace", "-", program]) == 2
    assert capsys.readouterr().err == "banksim: --trace -: standard output has another use: give a file\n"


POOLED = """
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import cuda


@cuda.jit
def beyond(x):
    x[cuda.threadIdx.x + 1] = 0


pool = ThreadPoolExecutor(2)
futures = [pool.submit(sys.stdout.write, "pooled\\n") for _ in range(3)]
beyond[1, 32](np.zeros(32))
"""


def test_a_program_ends_that_leaves_a_pool_of_threads(tmp_path: Path, capfd: Said) -> None:
    """Python ends such pools itself; and banksim's own threads wait for launches until the process ends."""
    (tmp_path / "pooled.py").write_text(POOLED)
    assert main(["run", "--output", str(tmp_path / "report.txt"), str(tmp_path / "pooled.py")]) == 2
    out, error = capfd.readouterr()
    assert out == "pooled\n" * 3
    assert "beyond: global store of 8 bytes" in error


OF_THE_DRIVER = """
from numba import cuda
PTX = ".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry f() { ret; }"
for _ in range(2):
    try:
        cuda.current_context().create_module_ptx(PTX)
    except Exception as error:
        print(type(error).__name__, "CUDA_ERROR_NO_DEVICE" in str(error))
"""


def test_what_asks_the_driver_itself_is_told_and_does_not_wait_for_ever(tmp_path: Path) -> None:
    """For a lock of cuda.bindings, in native code that no signal ends."""
    (tmp_path / "program.py").write_text(OF_THE_DRIVER)
    command = [sys.executable, "-m", "banksim", "run", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "CUDAError True\nCUDAError True\n")
    said = [line for line in done.stderr.splitlines() if line.startswith("banksim: ")]
    assert said == [
        "banksim: the program asks the CUDA driver itself (cuda.core, cuda.bindings), "
        "which banksim run does not simulate; try banksim run --whole"
    ]
