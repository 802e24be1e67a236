"""All of numba-cuda on the stand-in for the driver: what `banksim run -m` and `--whole` run."""

import sys
from pathlib import Path
from typing import Any

import pytest

from banksim.runs.programs import standins
from helpers.commands import err_of, out_of, reported
from helpers.fixtures import Patch, Said
from helpers.numba_programs import COLUMNS
from helpers.places import written_to
from numba_suite.conftest import reasons

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux")

EVERYTHING = """
import contextlib
import io
import numpy as np
from numba import cuda
from numba.cuda import types

def launches_what_it_reads():
    on_device = cuda.to_device(np.arange(8, dtype=np.int32))
    @cuda.jit
    def captured(out):
        out[cuda.threadIdx.x] = 2 * on_device[cuda.threadIdx.x]
    out = np.zeros(8, np.int32)
    captured[1, 8](out)
    assert out.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]

def grids_meet():
    @cuda.jit
    def mirrored(out):
        grid = cuda.cg.this_grid()
        i = cuda.grid(1)
        out[i] = i
        grid.sync()
        i = cuda.grid(1)
        other = out[out.size - 1 - i]
        grid.sync()
        out[i] += other
    out = np.zeros(128)
    mirrored[4, 32](out)
    assert (out == 127).all()
    kernel, = mirrored.overloads.values()
    assert kernel.cooperative and kernel.max_cooperative_grid_blocks(32) > 132

def exceptions_leave_kernels():
    @cuda.jit(debug=True, opt=False)
    def raising(x):
        if cuda.threadIdx.x == 3:
            raise ValueError("three")
    try:
        raising[1, 32](np.zeros(1))
    except ValueError as error:
        assert "tid=[0, 0, 3] ctaid=[0, 0, 0]: three" in str(error), error
    else:
        raise AssertionError("no exception")

def pointers():
    @cuda.jit(types.void(types.CPointer(types.uint8), types.uint32))
    def one_more(x, n):
        i = cuda.grid(1)
        if i < n:
            x[i] += 1
    x = cuda.to_device(np.arange(10, dtype=np.uint8))
    one_more[1, 32](x.__cuda_array_interface__["data"][0], len(x))
    assert (x.copy_to_host() == np.arange(1, 11)).all()

def linked_code():
    called = []
    source = cuda.CUSource(
        'extern "C" __device__ int level = 1;'
        'extern "C" __device__ int twice(int *out, int a) { *out = 2 * a * level; return 0; }',
        setup_callback=lambda module: called.append(module),
    )
    twice = cuda.declare_device("twice", "int32(int32)", link=source)
    @cuda.jit
    def doubled(out):
        out[0] = twice(21)
    out = np.zeros(1, np.int32)
    doubled[1, 1](out)
    assert out[0] == 42 and len(called) == 1

def extended():
    class Tuples:
        def prepare_args(self, kind, value, stream, retr):
            return kind, value + 1 if isinstance(kind, types.Integer) else value
    @cuda.jit("void(int64[:], int64)", extensions=[Tuples()])
    def store(out, n):
        out[0] = n
    out = np.zeros(1, np.int64)
    store[1, 1](out, 4)
    assert out[0] == 5
    return store

def inspected(kernel):
    text = io.StringIO()
    kernel.inspect_types(file=text)
    assert "out[0] = n" in text.getvalue()
    signature, = kernel.signatures
    assert "define" in kernel.inspect_llvm(signature) and ".entry" in kernel.inspect_asm(signature)
    assert "EXIT" in kernel.inspect_sass(signature)

def errors_are_numbas():
    @cuda.jit("void(float32[:], int32)")
    def typed(out, n):
        out[n] = 1
    for arguments, kind in (((np.zeros(4, np.float32), 2.9), TypeError), ((np.zeros(4, np.float32), None), TypeError)):
        try:
            typed[1, 1](*arguments)
        except kind:
            continue
        raise AssertionError(arguments)

def profiled():
    with cuda.profiling():
        pass

def launch_bounds_hold():
    @cuda.jit(launch_bounds=128)
    def bounded():
        pass
    bounded[1, 128]()
    try:
        bounded[1, 129]()
    except Exception as error:
        assert "CUDA_ERROR_INVALID_VALUE" in str(error), error
    else:
        raise AssertionError("launched")

profiled()
launch_bounds_hold()
launches_what_it_reads()
grids_meet()
exceptions_leave_kernels()
pointers()
linked_code()
inspected(extended())
errors_are_numbas()
print("all as on a GPU")
"""


def run(folder: Path, text: str, *options: str) -> tuple[int, dict[str, Any]]:
    return reported(folder, "--whole", *options, written_to(folder / "program.py", text))


def test_numba_cuda_is_whole(tmp_path: Path, capfd: Said) -> None:
    status, report = run(tmp_path, EVERYTHING)
    said = capfd.readouterr()
    assert (status, said.out) == (0, "all as on a GPU\n")
    assert "banksim:" not in said.err
    assert {kernel["kernel"] for kernel in report["kernels"]} >= {"captured", "mirrored", "one_more", "doubled"}


FAULTS = f"""{COLUMNS}
@cuda.jit
def beyond(some, out):
    out[cuda.threadIdx.x + some.size] = some[0]

columns[1, (32, 32)](np.zeros((32, 32), np.float32))
beyond[1, 32](np.zeros(8), np.zeros(32))

@cuda.jit
def far(out):
    out[1 << 40] = 1

try:
    far[1, 1](np.zeros(1))
except cuda.cudadrv.driver.CudaAPIError as error:
    print(error.msg)
columns[1, (32, 32)](np.zeros((32, 32), np.float32))
"""


def test_kernels_have_lines_and_their_arguments_names(tmp_path: Path, capfd: Said) -> None:
    """Though the program asks for no line information, and the stand-in sees machine code and addresses only. A fault
    is told once, and the device goes on."""
    status, report = run(tmp_path, FAULTS)
    assert status == 2
    columns = report["kernels"][0]
    assert (columns["kernel"], columns["signature"]) == ("columns", ["array(float32, 2d, C)"])
    _, load = columns["conflicts"][0]["sites"]
    assert (load["transactions"], load["text"]) == (2 * 1024, "out[y, x] = tile[x, y]")
    said = capfd.readouterr()
    assert "beyond: global store of 8 bytes out of bounds, at byte 256 of out (256 bytes)" in said.err
    assert "far: global store of 8 bytes" in said.err
    assert said.out == "Call to cuMemcpyDtoH results in CUDA_ERROR_ILLEGAL_ADDRESS\n"


def test_without_a_compiler_modules_run_as_files_do(tmp_path: Path, monkeypatch: Patch, capsys: Said) -> None:
    monkeypatch.setattr(standins, "c_compiler", lambda: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "asks_for_a_gpu.py").write_text("from numba import cuda\nprint(cuda.is_available())")
    assert out_of(capsys, ["run", "-m", "asks_for_a_gpu"]) == "True\n"
    assert "there is none: install gcc" in err_of(capsys, ["run", "--whole", "asks_for_a_gpu.py"])


MLIR = f"""{COLUMNS.replace("numba", "numba_cuda_mlir")}
on_device = cuda.to_device(np.arange(1024, dtype=np.float32).reshape(32, 32))
columns[1, (32, 32)](on_device)
assert (on_device.copy_to_host() == np.arange(1024).reshape(32, 32).T).all()
"""


def test_numba_cuda_mlir_runs_by_line(tmp_path: Path) -> None:
    pytest.importorskip("numba_cuda_mlir")
    status, report = run(tmp_path, MLIR)
    assert status == 0
    [columns] = report["kernels"]
    _, load = columns["conflicts"][0]["sites"]
    assert (columns["kernel"], load["transactions"], load["text"]) == ("columns", 1024, "out[y, x] = tile[x, y]")


MLIR_GRID = """
import numpy as np
from numba_cuda_mlir import cuda
@cuda.jit
def meet(out):
    grid, own = cuda.cg.this_grid(), cuda.grid(1)
    out[own] += 1
    grid.sync()
    other = out[cuda.gridsize(1) - 1 - own]
    grid.sync()
    out[own] += other
on_device = cuda.to_device(np.arange(256))
meet[4, 64](on_device)
assert (on_device.copy_to_host() == 257).all()
"""


def test_grids_of_numba_cuda_mlir_synchronize(tmp_path: Path) -> None:
    pytest.importorskip("numba_cuda_mlir")
    assert run(tmp_path, MLIR_GRID)[0] == 0


NO_RUNTIME = """
from cuda.bindings import driver, runtime
driver.cuInit(0)
driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])
given = [driver.cuMemAlloc(8), runtime.cudaMalloc(8), runtime.cudaMalloc(8), runtime.cudaRuntimeGetVersion()]
print(*(answer[0].name for answer in given))
"""


def test_cuda_bindings_own_runtime_fails_audibly(tmp_path: Path, capfd: Said) -> None:
    """It is NVIDIA's, which runs on NVIDIA's driver only; a program that looks at no status would go on in silence."""
    assert run(tmp_path, NO_RUNTIME)[0] == 2
    line = "banksim: cudaMalloc of cuda.bindings.runtime: not provided: it returned cudaErrorNotSupported\n"
    assert capfd.readouterr() == ("CUDA_SUCCESS cudaErrorNotSupported cudaErrorNotSupported cudaSuccess\n", line)


def test_what_cannot_pass_of_numba_cudas_tests_is_there() -> None:
    """Each entry names a module, and a class and test in it, with a reason."""
    from numba import cuda

    folder, listed = Path(str(cuda.__file__)).parent / "tests", reasons()
    assert listed
    for name, reason in listed.items():
        module, *inside = name.split("::")
        text = (folder / f"{module.replace('.', '/')}.py").read_text()
        assert reason
        assert all(f"class {part}(" in text or f"def {part}(" in text for part in inside), name
