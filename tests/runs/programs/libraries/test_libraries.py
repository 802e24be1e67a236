"""NVIDIA's libraries for programs of `banksim run`: computed by NumPy, not counted; and what is missing of them."""

import os
import signal
import socket
import subprocess
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from banksim.__main__ import main
from banksim.errors import CompileError, InputError, UnsupportedError
from banksim.kernels.compilers.headers import hint
from banksim.kernels.global_addresses import PROGRAM
from banksim.machine.launch import Buffer
from banksim.machine.program_memory import ProgramMemory
from banksim.runs.programs import executable, libraries, repeated_launches, standins
from banksim.system import ending
from helpers.commands import err_of, reported
from helpers.library_calls import call, called, content
from helpers.places import DATA, PROGRAMS, written_to

pytestmark = pytest.mark.usefixtures("by_nvcc_for_cpp_14")
LIBRARIES = str(PROGRAMS / "cuda" / "libraries.cu")
LINKED = ("--nvcc", "-lcublas -lcurand")
Said = pytest.CaptureFixture[str]


def test_a_program_finds_the_results_that_it_computes_itself(tmp_path: Path, capfd: Said) -> None:
    """libraries.cu compares each function with a loop on the host, and says where they differ."""
    status, found = reported(tmp_path, *LINKED, LIBRARIES)
    assert (status, capfd.readouterr()) == (0, ("done\n", ""))
    assert found["library_calls"]["cuBLAS Sgemm"] == 5
    assert found["library_calls"]["cuBLAS GemmGroupedBatchedEx"] == 2  # a call for each group
    assert found["library_calls"]["cuBLAS Dgemm_64"] == found["library_calls"]["cuBLAS Idamax_64"] == 1
    assert found["library_calls"]["cuBLAS Sscal"] == 1 + 2  # by a graph that is launched twice
    assert [kernel["kernel"] for kernel in found["kernels"]] == ["twice"]


def test_the_report_says_what_is_not_counted(capfd: Said) -> None:
    assert main(["run", *LINKED, "--output", "-", LIBRARIES, "outside"]) == 2
    said = capfd.readouterr()
    assert said.out.startswith("13\n")  # CUBLAS_STATUS_EXECUTION_FAILED
    complaint = "cuBLAS Sscal: 36 bytes at byte 0 of allocation 1 (32 bytes) are not all in it"
    assert said.err == f"banksim: {complaint}\n"


def test_memory_that_one_thread_frees_is_anothers_as_soon_as_it_is_given_it(capfd: Said) -> None:
    assert main(["run", *LINKED, "--output", "/dev/null", LIBRARIES, "threads"]) == 0
    assert capfd.readouterr().err == ""


def test_a_call_with_a_result_finds_the_error_of_a_launch_before_it(capfd: Said) -> None:
    assert main(["run", *LINKED, "--output", "/dev/null", LIBRARIES, "fault"]) == 2
    assert capfd.readouterr().out == "13 700 1\n"  # CUBLAS_STATUS_EXECUTION_FAILED, CUBLAS_STATUS_NOT_INITIALIZED


def test_a_function_that_is_missing_is_named(capfd: Said) -> None:
    assert main(["run", *LINKED, "--output", "/dev/null", LIBRARIES, "missing"]) == 2
    said = capfd.readouterr()
    assert said.out == "CUBLAS_STATUS_NOT_SUPPORTED\n"
    assert said.err == "banksim: cublasSgelsBatched: not provided: it returned CUBLAS_STATUS_NOT_SUPPORTED\n"


OLD = str(PROGRAMS / "cuda" / "old_cublas.cu")


def test_a_program_from_before_cuda_4_finds_its_results(capfd: Said) -> None:
    assert main(["run", "--output", "/dev/null", OLD]) == 0
    assert capfd.readouterr() == ("done\n", "")


def test_it_finds_errors_when_it_asks(capfd: Said) -> None:
    assert main(["run", "--output", "/dev/null", OLD, "error"]) == 2
    said = capfd.readouterr()
    assert said.out == "13 0\n"  # CUBLAS_STATUS_EXECUTION_FAILED
    assert said.err == "banksim: cuBLAS Sscal: 8 bytes at byte 0 of allocation 1 (4 bytes) are not all in it\n"


# ---- what they compute
def test_bfloat16_is_rounded_to_even() -> None:
    """1 + 2⁻⁸ lies between 1 and 1 + 2⁻⁷; 1 + 3 · 2⁻⁸ between 1 + 2⁻⁷ and 1 + 2⁻⁶."""
    a, b = (np.array(values, np.float32).view(np.uint32) >> 16 for values in ([1, 2**-8], [1, 1, 1, 3]))
    out = np.zeros(2, np.uint16)
    left, right = (a.astype(np.uint16), 14, 1, 0), (b.astype(np.uint16), 14, 2, 0)
    call("GemmEx", 0, 0, 1, 2, 2, np.float32(1), *left, *right, np.float32(0), out, 14, 1, 0, 1, 68, 0)
    assert (out.astype(np.uint32) << 16).view(np.float32).tolist() == [1, 1 + 2**-6]


@pytest.mark.parametrize("depth", [1, 40, 1 << 17])
def test_sums_of_products_of_bytes_keep_their_lowest_bits(depth: int) -> None:
    """NumPy's product of integers, which the doubles' stands for, is the oracle. 2^17 times 2^14 is beyond 31 bits."""
    a, b = np.full((2, depth), -128, np.int8), np.full((depth, 3), -128, np.int8)
    a[1] = b[:, 1] = np.arange(depth) % 251
    out = np.zeros((2, 3), np.int32)
    call("GemmEx", 1, 1, 2, 3, depth, 1, 0, a, 3, depth, 0, b, 3, 3, 0, 0, 0, out, 10, 2, 0, 1, 72, 0)
    expected = a.astype(np.int32) @ b.astype(np.int32)
    np.testing.assert_array_equal(out.reshape(3, 2).T, expected)


def test_infinities_and_nans_that_a_program_computes_are_no_warnings_of_numpy() -> None:
    big, out = np.full(4, 3e38, np.float32), np.zeros(6, np.float32)
    matrix, layout = (big, 0, 2, 0), (4, 0, 0, 1, 4)
    with warnings.catch_warnings(action="error"):
        call("GemmEx", 0, 0, 2, 2, 2, np.float32(2), *matrix, *matrix, np.float32(0), out, 0, 2, 0, 1, 68, 0)
        assert np.isinf(out[:4]).all()
        called("cuFFT", "R2C", big, out, -1, 1, 1, 4, 0, 0, *layout, *layout)
    assert out.tolist() == [np.inf, *5 * [0]]


def test_calls_that_come_again_on_the_same_memory_are_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are they taken for each other: in turn a matrix, a scalar and the library's function are another."""
    computed = list[bytes]()

    def counted(sent: bytes, buffers: ProgramMemory) -> libraries.Called:
        computed.append(sent)
        return compute(sent, buffers)

    compute = libraries.called
    monkeypatch.setattr(libraries, "called", counted)
    monkeypatch.setattr(repeated_launches, "has_one_thread", lambda connection: True)
    memory = ProgramMemory(1)
    arrays = [np.arange(4, dtype=np.float32), np.ones(4, np.float32)]
    for array in arrays:
        memory.hold(len(memory), Buffer(array.view(np.uint8), "memory"))
    x, y = PROGRAM.address_of(1), PROGRAM.address_of(2)
    two, three = np.array([2, 3], np.float32).view(np.int32).tolist()
    ones = repeated_launches.RepeatedLaunches(memory, socket.socket())
    ones.contents.changed |= {1, 2}

    def run(name: str, *words: int) -> list[float]:
        ones.call(content("cuBLAS", name, *words))
        ones.contents.settle()
        return arrays[1].tolist()

    for _ in range(5):
        assert run("Scopy", 0, 4, x, 1, y, 1) == [0, 1, 2, 3]
        assert run("Sscal", 0, 4, two, 0, y, 1) == [0, 2, 4, 6]
    assert len(computed) == 3, "the first Scopy wrote to what held something else"
    assert run("Sscal", 0, 4, three, 0, y, 1) == [0, 6, 12, 18]
    arrays[0][:] = 5
    ones.contents.changed.add(1)
    assert run("Scopy", 0, 4, x, 1, y, 1) == [5, 5, 5, 5]
    assert run("Sscal", 0, 4, two, 0, y, 1) == [10, 10, 10, 10]


def test_complex_halves_and_unknown_computations_are_refused() -> None:
    words = (0, 0, 1, 1, 1, 0, 0, 0, 6, 1, 0, 0, 6, 1, 0, 0, 0, 0, 6, 1, 0, 1, 68, 0)
    with pytest.raises(UnsupportedError, match="matrices of cudaDataType 6: floats of 16 bits or more"):
        call("GemmEx", *words)
    with pytest.raises(UnsupportedError, match="cublasComputeType_t 99"):
        call("GemmEx", *(0 if word == 6 else word for word in words[:-2]), 99, 0)
    with pytest.raises(UnsupportedError, match="no product of cudaDataType 1 and 1 as 1 by cublasComputeType_t 68"):
        call("GemmEx", *(1 if word == 6 else word for word in words))


def test_an_address_of_the_host_is_refused() -> None:
    with pytest.raises(InputError, match="0x7f0000000000 is no address of the device's memory"):
        call("Snrm2", 4, 0x7F0000000000, 1, 0)


@pytest.mark.parametrize(
    ("form", "offsets", "indices", "said"),
    [
        (1, [0, 1, 2], [0, 3], "column 3 of 3, counted from 0"),
        (1, [0, 1, 2], [0, -1], "column -1 of 3, counted from 0"),
        (2, [0, 1, 2, 2], [0, 2], "row 2 of 2, counted from 0"),
        (3, [0, 2], [0, 1], "row 2 of 2, counted from 0"),
        (1, [0, 3, 2], [0, 1], "offsets that do not rise from 0 to 2 values"),
        (1, [0, 1, 1], [0, 1], "offsets that do not rise from 0 to 2 values"),
        (1, [1, 1, 2], [0, 1], "offsets that do not rise from 0 to 2 values"),
    ],
)
def test_a_sparse_matrix_that_is_none_is_refused(
    form: int, offsets: list[int], indices: list[int], said: str
) -> None:  # fmt: skip
    values = np.ones(6, np.float32)
    matrix = (np.array(offsets, np.int32), np.array(indices, np.int32), values, 2, 2, 0, 0)
    with pytest.raises(InputError, match=f"^cuSPARSE SparseToDense: {said}$"):
        called("cuSPARSE", "SparseToDense", 0, form, 2, 3, 2, *matrix, 2, 3, 2, values, 0, 1)


def test_a_triangle_with_a_zero_on_its_diagonal_and_places_outside_of_a_vector_are_refused() -> None:
    rows, columns, places = (np.array(one, np.int32) for one in ([0, 1, 2], [0, 0], [0, 2]))
    values, x, y = (np.ones(2, np.float32) for _ in range(3))
    matrix, right, to = (1, 2, 2, 2, rows, columns, values, 2, 2, 0, 0), (2, 1, 2, x, 0, 1), (2, 1, 2, y, 0, 1)
    with pytest.raises(UnsupportedError, match="no value but 0 on the diagonal of row 1, counted from 0"):
        called("cuSPARSE", "SpSV", 0, 0, 0, 0, 0, np.float32(1), *matrix, *right, *to)
    vector = (0, 2, 1, 2, 0, places, values, 2, 2, 0, 0)
    with pytest.raises(InputError, match="cuSPARSE Gather: place 2 of 2, counted from 0"):
        called("cuSPARSE", "Gather", 0, 0, 0, 0, 0, *vector, x)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize(("kind", "dtype"), [(0, np.float32), (1, np.float64), (4, np.complex64), (5, np.complex128)])
def test_systems_of_three_diagonals_are_solved(kind: int, dtype: type[np.generic], columns: int) -> None:
    """Those whose rows have to be exchanged too; of two batched ones, 15 values apart, the diagonals dominate."""
    random = np.random.default_rng(columns)

    def numbers(*shape: int) -> np.ndarray:
        found = random.standard_normal(shape) + 1j * random.standard_normal(shape)
        return found.astype(dtype) if kind > 3 else found.real.astype(dtype)

    def agrees(name: str, count: int, columns: int, dominant: float) -> None:
        lower, middle, upper = (numbers(count, 15) for _ in range(3))
        middle += dtype(dominant)
        right = numbers(count, columns, 15)
        full = [np.diag(middle[k, :12]) + np.diag(lower[k, 1:12], -1) + np.diag(upper[k, :11], 1) for k in range(count)]
        wanted = [np.linalg.solve(full[k], right[k, :, :12].T).T for k in range(count)]
        before = right.copy()
        called("cuSPARSE", name, 0, kind, 12, columns, count, 15, lower, middle, upper, right, 15)
        assert right[:, :, :12] == pytest.approx(np.array(wanted), rel=0.1, abs=1e-3 if kind % 4 == 0 else 1e-9)
        assert (right[:, :, 12:] == before[:, :, 12:]).all()

    for _ in range(5):
        agrees("gtsv2", 1, columns, 0)
        agrees("gtsv2_nopivot", 1, columns, 20)
        agrees("gtsv2_nopivot", 2, 1, 20)


def test_what_cusparse_makes_of_some_systems_and_rows_is_not_known() -> None:
    diagonals = [np.ones(3), np.zeros(3), np.ones(3), np.ones(3)]
    for name, said in (("gtsv2", "a singular matrix"), ("gtsv2_nopivot", "whose diagonal is less than the others")):
        with pytest.raises(UnsupportedError, match=said):
            called("cuSPARSE", name, 0, 1, 3, 1, 1, 0, *(one.copy() for one in diagonals), 3)
    rows, columns = (np.array(one, np.int32) for one in ([0, 2, 4], [1, 0, 0, 1]))
    with pytest.raises(UnsupportedError, match="a row whose columns do not rise"):
        called("cuSPARSE", "csric02", 0, 1, 2, 2, 4, rows, columns, np.ones(4), 2, 2, 0, 1)


def test_what_cusolver_cannot_compute_is_refused() -> None:
    """NumPy's own errors are no answer: a matrix of NaN, and rows that are none."""
    nans, zeros, rows = np.full(9, np.nan), np.zeros(9), np.array([1, 2, 4, 0], np.int32)
    for name, words in (
        ("Dsyevd", (1, 0, 3, nans, 3, zeros, rows)),
        ("Dgesvd", (ord("N"), ord("N"), 3, 3, nans, 3, zeros, 0, 3, 0, 3, rows)),
    ):
        with pytest.raises(UnsupportedError, match="not converge: what cuSOLVER makes of such a matrix is not known"):
            called("cuSOLVER", name, *words)
    for sweeps, in_order, said in ((14, 1, "whether 14 sweeps are enough"), (15, 0, "the order of eigenvalues")):
        with pytest.raises(UnsupportedError, match=said):
            called("cuSOLVER", "Dsyevj", 1, 0, 3, zeros, 3, zeros, sweeps, in_order, 1, rows)
    with pytest.raises(InputError, match="pivot 4 of 3 rows"):
        called("cuSOLVER", "Dgetrs", 0, 3, 1, nans, 3, rows, zeros, 3, rows)
    for words in ((-3, 3, zeros, 3, rows, rows), (3, 3, zeros, 2, rows, rows)):
        with pytest.raises(InputError, match=r"a matrix of -\d by -?\d|a leading dimension of 2 for 3 rows"):
            called("cuSOLVER", "Dgetrf", *words)


def test_singular_values_of_a_long_matrix_take_no_square_one() -> None:
    """Of 2²⁰ rows, it would take 8 TiB."""
    rows, found = 1 << 20, np.zeros(1)
    words = (rows, 1, np.ones(rows), rows, found, 0, rows, 0, 1, np.zeros(1, np.int32))
    called("cuSOLVER", "Dgesvd", ord("O"), ord("N"), *words)
    assert found[0] == pytest.approx(1024)


# ---- headers
@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("a.cu:1:10: fatal error: curand_kernel.h: No such file or directory", "pip install nvidia-curand"),
        ('a.cu(1): error: cannot open source file "cusparse.h"', "pip install nvidia-cusparse"),
        ("fatal error: helper_cuda.h: No such file or directory", "part of NVIDIA's CUDA samples"),
    ],
)
def test_a_missing_header_is_named_with_what_brings_it(message: str, said: str) -> None:
    assert said in hint(message)


def test_a_header_that_the_installed_library_does_not_have_is_no_matter_of_installing(tmp_path: Path) -> None:
    message = "a.cu:1:10: fatal error: cub/iterator/discard_output_iterator.cuh: No such file or directory"
    assert "pip install nvidia-cuda-cccl" in hint(message, [tmp_path])
    (tmp_path / "cccl" / "cub").mkdir(parents=True)
    said = "cub/iterator/discard_output_iterator.cuh is not in the cub that is installed: it is of another version"
    assert hint(message, [tmp_path]) == said


@pytest.mark.parametrize(
    ("message", "library"),
    [
        ("a.cu:1:10: fatal error: cudnn.h: No such file or directory", "cudnn"),
        ("a.cudafe1.cpp:(.text+0x1319): undefined reference to `cutensorCreate'", "cutensor"),
        ("/usr/bin/ld: cannot find -lnppc: No such file or directory", "npp"),
        ("a.cu:1:10: fatal error: nccl.h: No such file or directory", "nccl"),
        ('a.cu(1): error: identifier "cudnn" is undefined', None),
    ],
)
def test_a_library_without_a_stand_in_is_named(
    message: str, library: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Said
) -> None:
    """A wheel with its header would not help."""

    def refuse(*arguments: object, **more: object) -> bytes:
        raise CompileError("\n".join(filter(None, [hint(message), message])))

    monkeypatch.setattr(executable.tools, "run", refuse)
    said = err_of(capfd, ["run", str(written_to(tmp_path / "a.cu", "int main() {}"))]).splitlines()
    assert said[0].startswith(f"banksim: {library} has no stand-in: " if library else f"banksim: {message}")
    assert said[-1].endswith(message)
    assert not any("pip install" in line for line in said)


def test_a_function_that_a_stand_in_lacks_is_named(tmp_path: Path, capfd: Said) -> None:
    text = "#include <cusparse.h>\nint main() { return cusparseSpGEMMreuse_copy(nullptr); }"
    said = err_of(capfd, ["run", str(written_to(tmp_path / "a.cu", text))])
    assert said.startswith("banksim: cusparseSpGEMMreuse_copy is not provided by banksim's stand-in\n")


def test_a_function_that_a_program_made_elsewhere_needs_is_named(tmp_path: Path, capfd: Said) -> None:
    """The loader looks for it when it is called."""
    compiler = str(standins.c_compiler())
    library = written_to(
        tmp_path / "library.c", "int cusolverDnSgels() { return 0; } int cusolverDnCreate() { return 0; }"
    )
    shared = ["-shared", "-fPIC", "-Wl,-soname,libcusolver.so.12"]
    subprocess.run([compiler, *shared, library, "-o", tmp_path / "libcusolver.so"], check=True)
    calls = "int cusolverDnSgels(void), cusolverDnCreate(void);"
    text = f"{calls}\nint main(int n) {{ return n > 1 ? cusolverDnCreate() : cusolverDnSgels(); }}"
    made, source = tmp_path / "made", written_to(tmp_path / "a.c", text)
    subprocess.run([compiler, source, "-o", made, f"-L{tmp_path}", "-lcusolver", "-Wl,-z,lazy"], check=True)
    assert main(["run", str(made)]) == 127
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("banksim:")]
    assert said == [f"banksim: {made}: not provided by banksim's stand-ins: cusolverDnSgels (libcusolver.so.12)"]


@pytest.mark.parametrize("program", ["lt_products", "solver", "sparse", "sparse_calls", "sparse_factors"])
def test_a_library_answers_as_an_h200s_did(program: str, tmp_path: Path, capfd: Said) -> None:
    """Sums of floats are small whole numbers: each is exact."""
    status, _ = reported(tmp_path, PROGRAMS / "cuda" / f"{program}.cpp")
    said = capfd.readouterr()
    assert (status, said.err) == (0, "")
    assert said.out == (DATA / "programs" / f"{program}.txt").read_text()


def test_sparse_matrices_of_types_that_are_not_provided_are_named(tmp_path: Path, capfd: Said) -> None:
    status, _ = reported(tmp_path, PROGRAMS / "cuda" / "sparse.cpp", "halves")
    products = "cusparse products of halves or bytes: not provided: it returned CUSPARSE_STATUS_NOT_SUPPORTED"
    assert (status, capfd.readouterr()) == (2, ("", f"banksim: {products}\n"))


def test_of_other_headers_nothing_is_said() -> None:
    assert hint("fatal error: mine.h: No such file or directory") == ""


def test_libraries_are_compiled_by_their_own_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NVIDIA's may lie beside the runtime's, in a toolkit or by wheels that other packages need."""
    include = tmp_path / "include"
    include.mkdir()
    for file in standins.headers().iterdir():
        (include / file.name).symlink_to(file)
    for name in ("cublas_v2.h", "cublas_api.h", "curand.h"):
        (include / name).unlink(missing_ok=True)
        (include / name).write_text("#error not to be read\n")
    looked_at = []

    def only_look(folder: Path, commands: dict[str, list[str]]) -> None:
        for name, command in commands.items():
            if name in standins.LIBRARIES.values() and "-c" in command:
                subprocess.run([*command, "-fsyntax-only"], cwd=folder, check=True)
                looked_at.append(name)
            (folder / name).touch()

    monkeypatch.setattr(standins, "run", only_look)
    standins.build(str(standins.c_compiler()), include)
    assert sorted(looked_at) == sorted(standins.LIBRARIES.values())


def test_compilers_of_stand_ins_end_where_one_fails(tmp_path: Path) -> None:
    """As where they are interrupted: they have been seconds of work ahead."""
    commands = {"one": ["sh", "-c", "exit 1"], "other": ["sh", "-c", "sleep 60; touch made"]}
    begun = time.monotonic()
    with pytest.raises(CompileError, match="cannot compile the stand-in for one"):
        standins.run(tmp_path, commands)
    assert time.monotonic() - begun < 30
    assert not (tmp_path / "made").exists()


LIBRARY_CALL = """
#include <cublas_v2.h>
int main() {
    cublasHandle_t handle;
    float *sum, one = 1;
    cudaMalloc(&sum, 4);
    cublasCreate(&handle);
    return cublasSaxpy(handle, 1, &one, sum, 1, sum, 1);
}
"""


def test_an_interrupt_waits_for_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Said) -> None:
    """It may compute for minutes, where nothing asks whether the program has ended."""
    source, ended = written_to(tmp_path / "a.cu", LIBRARY_CALL), threading.Event()

    def compute(*_: object) -> bytes:
        os.kill(os.getpid(), signal.SIGINT)
        ended.wait(120)
        return b""

    monkeypatch.setitem(libraries.COMPUTE, "cuBLAS", compute)
    monkeypatch.setattr(ending, "beside", [])
    begun = time.monotonic()
    assert main(["run", "--nvcc=-lcublas", str(source)]) == 128 + signal.SIGINT
    assert time.monotonic() - begun < 60
    assert len(ending.beside) == 1
    ended.set()
