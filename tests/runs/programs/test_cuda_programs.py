"""`banksim run` of CUDA programs: their results, what they are told, how they end, and what is refused."""

import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from banksim.__main__ import main
from banksim.kernels.compilers import tools
from banksim.runs.programs import executable, standins
from banksim.runs.programs.process import Process
from banksim.system.paths import from_here
from helpers.commands import reported
from helpers.fixtures import Patch, Said
from helpers.places import PROGRAMS, written_to
from helpers.processes import until_it_has_worked

CUDA = PROGRAMS / "cuda"
FEATURES = str(CUDA / "features.cu")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux")
ONE = """
#include <cstdio>
__global__ void k(int *a) { *a = 3; }
int main() { int *d, h = 0; cudaMalloc(&d, 4); k<<<1, 1>>>(d); cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost);
             printf("%d\\n", h); return h != 3; }
"""


def run(*words: str) -> int:
    return main(["run", "--output", os.devnull, *words])


def nvcc(folder: Path, *words: str) -> None:
    """Compile as users do, with no word of banksim."""
    libraries = [f"-L{root / 'lib'}" for root in tools.roots()]
    tools.run("nvcc", ["-arch=sm_90", *libraries, *words], folder, what="a program")


# ---- results
def test_every_feature_gives_what_a_gpu_gives(tmp_path: Path, capfd: Said) -> None:
    status, report = reported(tmp_path, FEATURES, "results")
    assert capfd.readouterr().out == "NVIDIA H200, simulated by banksim, 9.0\n"
    assert (status, report["status"]) == (0, 0)
    launches = {kernel["kernel"]: kernel["launches"] for kernel in report["kernels"]}
    assert launches["store"] == 1 + 1 + 1 + 3 * 2 + 1  # mapped, registered, in a stream, in graphs, by a configuration
    assert launches["scale"] == 2


def test_launches_of_host_threads_are_counted_by_line(tmp_path: Path) -> None:
    status, report = reported(tmp_path, "--arch", "sm_90,kepler-4", "--fail-above", "0", FEATURES, "threads")
    assert status == 1
    [columns] = report["kernels"]
    assert (columns["kernel"], columns["launches"], columns["shapes"][0]["block"]) == ("columns", 4, [32, 32, 1])
    store, load = columns["conflicts"][0]["sites"]
    assert (store["transactions"], load["transactions"]) == (4 * 32, 4 * 32 * 32)
    assert load["file"] == "tests/programs/cuda/features.cu"
    assert "tile[threadIdx.x][threadIdx.y]" in load["text"]


def test_what_kernels_print_comes_at_a_synchronization(capfd: Said) -> None:
    assert run(FEATURES, "print") == 0
    said = "thread 0 of 7\nthread 1 of 7\n"
    assert capfd.readouterr().out == f"host first\n{2 * said}host last\n"


@pytest.mark.parametrize("what", ["many", "processes", "behind"])
def test_runs_to_its_end(what: str, capfd: Said) -> None:
    assert run(FEATURES, what) == 0
    assert capfd.readouterr() == ("", "")


def test_more_processes_at_a_time_than_there_are_addresses_for_are_told_so(capfd: Said) -> None:
    assert run(FEATURES, "beside") == 2
    said = capfd.readouterr()
    assert re.fullmatch("1+0+", said.out)
    assert "banksim: no more than 7 processes can use the GPU at a time: run fewer at once\n" in said.err


def test_a_fork_of_a_process_that_used_cuda_is_refused_by_name(capfd: Said) -> None:
    assert run(FEATURES, "fork") == 0
    said = capfd.readouterr()
    assert said.out == ""
    assert re.fullmatch(r"banksim: fork: a child cannot use CUDA .*\n", said.err)


# ---- faults
@pytest.mark.parametrize(
    ("what", "error", "said"),
    [
        (
            "outside",
            "cudaErrorIllegalAddress",
            r"store of 4 bytes out of bounds, at byte 4194304 of allocation 1 \(3145728 bytes\)",
        ),
        ("freed", "cudaErrorIllegalAddress", "at byte 0 of allocation 1, which was freed"),
        ("host", "cudaErrorIllegalAddress", "which lies in no buffer"),
        ("misaligned", "cudaErrorMisalignedAddress", "misaligned global store of 4 bytes, at byte 2 of allocation 1"),
        ("space", "cudaErrorInvalidAddressSpace", "global store of 4 bytes at an address of shared memory"),
        ("nested", "cudaErrorIllegalAddress", "calls nest too deep"),
        ("assert", "cudaErrorAssert", r"assertion `a\[i\] == 1` failed"),
        ("trap", "cudaErrorLaunchFailure", "the kernel called trap"),
    ],
)
def test_a_fault_is_told_and_stays(what: str, error: str, said: str, capfd: Said) -> None:
    """As CUDA has it: by the launch not yet, by every call that follows, until the device is reset."""
    assert run(FEATURES, "fault", what) == 2
    told = capfd.readouterr()
    printed = ["thread 0 of 9"] if what == "trap" else []
    assert told.out.splitlines() == [*printed, "cudaSuccess", error, error]
    assert re.search(said, told.err)
    assert len(told.err.splitlines()) == 1
    if what in ("outside", "freed", "host", "misaligned"):
        assert f" at {from_here(str(FEATURES))}:" in told.err


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("missing", "cudaIpcGetMemHandle: not provided: it returned cudaErrorNotSupported"),
        ("beyond", "a copy of 9 bytes at byte 0 of allocation 1, which has 8 bytes"),
    ],
)
def test_what_is_missing_or_wrong_is_named(what: str, said: str, capfd: Said) -> None:
    assert run(FEATURES, what) == 2
    assert capfd.readouterr() == ("", f"banksim: {said}\n")


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("cudaIpcGetMemHandle", "cudaErrorNotSupported"),
        ("cuIpcGetMemHandle", "CUDA_ERROR_NOT_SUPPORTED"),
        ("cublasSrotg_v2", "CUBLAS_STATUS_NOT_SUPPORTED"),
        ("curandSetQuasiRandomGeneratorDimensions", "CURAND_STATUS_TYPE_ERROR"),
        ("cusolverDnSgetrf", "CUSOLVER_STATUS_NOT_SUPPORTED"),
        ("cusparseSpMV", "CUSPARSE_STATUS_NOT_SUPPORTED"),
        ("a texture of sRGB", "cudaErrorNotSupported"),
    ],
)
def test_what_is_missing_returns_its_librarys_error(name: str, status: str) -> None:
    told = list[Exception]()
    Process.missing(SimpleNamespace(program=SimpleNamespace(failed=told.append)), name.encode())  # type: ignore[arg-type]
    assert [str(one) for one in told] == [f"{name}: not provided: it returned {status}"]


def test_no_memory_of_the_host_is_one_line(capfd: Said) -> None:
    assert run(FEATURES, "full") == 2
    assert capfd.readouterr() == ("begins\n", "banksim: the host's memory is used up: Cannot allocate memory\n")


def test_the_stand_ins_take_memory_in_one_place() -> None:
    """There it is checked that they were given some."""
    taken = re.compile(r"(?<!\w)(?:malloc|calloc|realloc|strdup)\(")
    found = {file.name for file in standins.SOURCES.rglob("*.c") if taken.search(file.read_text())}
    assert found == {"own_memory.c"}


def test_stand_ins_are_kept_by_the_code_that_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by what its files hold by now: a process that outlived an update had filled the new version's cache."""
    read, read_bytes = list[str](), Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda file: read.append(file.suffix) or read_bytes(file))
    standins.folder()
    assert {".c", ".h"} <= set(read)
    assert ".py" not in read


FREED = """
#include <cstdio>
#include <cuda_runtime.h>
int main() {
    char *first = nullptr, *again, held = 1;
    for (size_t size : {5 << 20, 5 << 20, 6 << 20, 5 << 20}) {
        cudaMalloc(&again, size);
        cudaMemcpy(&held, again + size - 9, 1, cudaMemcpyDeviceToHost);
        printf("%d %d\\n", held, again == first);
        cudaMemset(again, 7, size);
        cudaFree(again);
        first = first ? first : again;
    }
}
"""


def test_memory_that_was_freed_is_zero_where_it_is_given_again(tmp_path: Path, capfd: Said) -> None:
    (tmp_path / "freed.cpp").write_text(FREED)
    assert run(str(tmp_path / "freed.cpp")) == 0
    assert capfd.readouterr().out == "0 0\n0 1\n0 0\n0 1\n"


def test_allocations_beyond_4_gib(capfd: Said) -> None:
    """Accesses, and copies across the place where addresses grow out of 32 bits; twice, as memory is used again."""
    assert run(FEATURES, "huge") == 0
    assert capfd.readouterr() == ("1 11 13 1\n0 1 0 0\n" * 2, "")


# ---- ends
@pytest.mark.parametrize("status", [0, 7])
def test_the_status_is_the_programs(status: int) -> None:
    assert run(FEATURES, "status", str(status)) == status


def test_a_host_that_follows_a_pointer_of_the_device_fails_as_with_a_gpu(capfd: Said) -> None:
    assert run(FEATURES, "touch") == 128 + signal.SIGSEGV
    assert capfd.readouterr().err == f"banksim: {FEATURES} was ended by SIGSEGV\n"


@pytest.mark.parametrize("group", [False, True])
def test_an_interrupt_ends_program_and_report_in_order(group: bool, tmp_path: Path) -> None:
    """Sent to banksim alone, or as by a terminal to the program too."""
    command = [sys.executable, "-m", "banksim", "run", FEATURES, "wait"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    until_it_has_worked(process.pid)  # the kernel has been compiled, and runs
    (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 128 + signal.SIGINT
    assert "PARTIAL: 1 launch interrupted before the end" in said
    assert "Traceback" not in said


# ---- other ways to make a program
MAIN = """
#include <cstdio>
__device__ int twice(int);
extern __device__ int offset;
__global__ void k(int *a) { *a = twice(*a) + offset; printf("sum %d\\n", *a); }
int main(int argc, char **argv) {
    int *d, h = N;
    cudaMalloc(&d, 4);
    cudaMemcpy(d, &h, 4, cudaMemcpyHostToDevice);
    k<<<1, 1>>>(d);
    cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost);
    printf("%d %s\\n", h, argv[1]);
}
"""
CALLED = """
#include <cstdio>
__device__ int offset = 1;
__device__ int twice(int x) { printf("argument %d\\n", x); return 2 * x; }
"""
"""Each file has its own texts, of one name ($str)."""


@pytest.mark.usefixtures("by_nvcc_for_cpp_14")
def test_several_files_with_calls_between_them(tmp_path: Path, capfd: Said) -> None:
    (tmp_path / "main.cu").write_text(MAIN)
    (tmp_path / "part.cu").write_text(CALLED)
    assert run("--nvcc=-rdc=true -DN=4", str(tmp_path / "main.cu"), str(tmp_path / "part.cu"), "a word") == 0
    assert capfd.readouterr().out == "argument 4\nsum 9\n9 a word\n"


def test_several_files_that_are_linked_when_they_are_loaded(tmp_path: Path, capfd: Said, monkeypatch: Patch) -> None:
    """PTX alone cannot be linked before: the program holds a fat binary of each file."""
    monkeypatch.chdir(tmp_path)
    Path("main.cu").write_text(MAIN)
    Path("part.cu").write_text(CALLED)
    script = Path("build.sh")
    options = "-w -rdc=true -gencode arch=compute_90,code=compute_90 -DN=4"
    script.write_text(f"#!/bin/sh\nnvcc {options} -o app main.cu part.cu && exec ./app 'a word'\n")
    script.chmod(0o755)
    assert run("./build.sh") == 0
    assert capfd.readouterr().out == "argument 4\nsum 9\n9 a word\n"


PART = """
#include <cstdio>
static __device__ int variable = NAME;
static __constant__ int constant;
__global__ void NAME##_kernel(int *out) { atomicAdd(&variable, constant); *out = variable; }
void NAME##_part(int n) {
    int *d, h;
    cudaMalloc(&d, 4);
    cudaMemcpyToSymbol(constant, &n, 4);
    for (int k = 0; k < 2; k++) NAME##_kernel<<<1, 1>>>(d);
    cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost);
    printf("%d\\n", h);
}
"""


@pytest.mark.usefixtures("by_nvcc_for_cpp_14")
def test_each_file_has_variables_of_its_own(tmp_path: Path, capfd: Said) -> None:
    """Several modules in a program, of per-thread default streams and threads of OpenMP at that."""
    for name, start in (("one", "100"), ("two", "200")):
        text = PART.replace("= NAME", f"= {start}").replace("NAME##", name)
        (tmp_path / f"{name}.cu").write_text(text)
    (tmp_path / "main.cpp").write_text(  # which takes nvcc a third of the time of a file of CUDA
        "#include <omp.h>\n#include <cuda_runtime_api.h>\nvoid one_part(int); void two_part(int);\n"
        "int main() { one_part(1); two_part(10); one_part(1); int n = 0;\n"
        "#pragma omp parallel num_threads(2) reduction(+ : n)\n"
        "{ void *d; n += cudaMalloc(&d, 4) == cudaSuccess; }\nreturn n; }\n"
    )
    options = "--nvcc=--default-stream per-thread -Xcompiler=-fopenmp"
    assert run(options, *(str(tmp_path / name) for name in ("main.cpp", "one.cu", "two.cu"))) == 2
    assert capfd.readouterr() == ("102\n220\n104\n", "")


@pytest.mark.usefixtures("by_nvcc_for_cpp_14")
def test_sources_of_c_come_with_those_of_cuda(tmp_path: Path, monkeypatch: Patch, capfd: Said) -> None:
    """In any order; a file that does not follow them is an argument."""
    (tmp_path / "main.cpp").write_text(
        "#include <cstdio>\nint answer();\n"
        'int main(int argc, char **argv) { printf("%s %s %d\\n", argv[0], argv[1], answer()); }\n'
    )
    (tmp_path / "answer.cu").write_text(
        "__global__ void k(int *out) { *out = 42; }\n"
        "int answer() {\nint *d, h; cudaMalloc(&d, 4); k<<<1, 1>>>(d);\n"
        "cudaMemcpy(&h, d, 4, cudaMemcpyDefault); return h; }\n"
    )
    monkeypatch.chdir(tmp_path)
    assert run("main.cpp", "answer.cu", "word", "main.cpp") == 0
    assert capfd.readouterr().out == "./main word 42\n"
    assert run("answer.cu", "main.cpp", "missing.cpp") == 0
    assert capfd.readouterr().out == "./answer missing.cpp 42\n"
    assert run("--list", "main.cpp", "answer.cu") == 0
    assert capfd.readouterr().out.startswith("k(")
    (tmp_path / "answer.cpp").write_text("int answer() { return 43; }\n")
    assert run("main.cpp", "answer.cpp", "word") == 0
    assert capfd.readouterr().out == "./main word 43\n"


def test_what_make_builds_and_runs(tmp_path: Path, monkeypatch: Patch, capfd: Said) -> None:
    """With lines, and with the header of a library of which there is a stand-in, for the host's compiler at that."""
    one = ONE.replace("*a = 3;", "__shared__ volatile int s; s = 3; *a = s;")
    (tmp_path / "one.cu").write_text(f"#include <cublas_v2.h>\n{one}")
    (tmp_path / "two.cpp").write_text(
        "#include <cublas_v2.h>\nint two(cublasHandle_t h) { return cublasDestroy(h); }\n"
    )
    (tmp_path / "Makefile").write_text(
        "test: one\n\t@./one\none: one.cu two.o\n\t@nvcc -arch=sm_90 -o one one.cu two.o -lcublas\n"
        f"two.o: two.cpp\n\t@g++ -isystem {tools.include_folders()[0]} -c -o two.o two.cpp\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tools.tool("nvcc").parent), prepend=os.pathsep)
    status, report = reported(tmp_path, "make", "test")
    assert capfd.readouterr().out == "3\n"
    assert (status, report["launches"]) == (0, 1)
    store, load = report["kernels"][0]["conflicts"][0]["sites"]
    assert (store["file"], store["line"], load["line"]) == ("one.cu", 4, 4)


def test_a_program_for_another_architecture_is_told_so(capfd: Said) -> None:
    made = executable.command([FEATURES, "launch"], "sm_90", "")
    assert run("--arch", "sm_80", *made) == 2
    said = capfd.readouterr()
    assert said.out == "cudaErrorNoKernelImageForDevice\n"
    assert re.fullmatch(r"banksim: .*nothing in it runs on sm_80: it holds .*a cubin for sm_90.*\n", said.err)


def test_nvidias_own_runtime_is_refused_with_what_cures_it(tmp_path: Path, monkeypatch: Patch, capfd: Said) -> None:
    (tmp_path / "one.cpp").write_text(  # which takes nvcc a tenth of the time of a file of CUDA
        "#include <cuda_runtime_api.h>\nint main() { void *d; return cudaMalloc(&d, 4) != cudaSuccess; }\n"
    )
    monkeypatch.chdir(tmp_path)
    nvcc(tmp_path, "-o", "one", "one.cpp")
    for command, status in ((["./one"], 2), (["sh", "-c", "./one"], 1)):  # the program's own, which has no GPU
        assert run(*command) == status
        assert re.fullmatch(
            r"banksim: \S*/one .*own CUDA runtime.*link with -cudart shared.*\n", capfd.readouterr().err
        )
    subprocess.run(["strip", "one"], check=True)
    assert run("./one") == 2
    assert "link with -cudart shared" in capfd.readouterr().err
    trial = tmp_path / "CMakeDetermineCompilerABI_CUDA.bin"  # CMake tries nvcc with it, and goes on without a GPU
    os.rename("one", trial)
    assert run("sh", "-c", f"{trial} || true") == 0
    assert capfd.readouterr().err == ""


def test_a_limit_of_addresses_is_told_once(tmp_path: Path, monkeypatch: Patch, capfd: Said) -> None:
    """A program that looks at no error would go on with wrong results, and without a word."""
    written_to(tmp_path / "one.cu", ONE)
    monkeypatch.chdir(tmp_path)
    assert run("sh", "-c", "nvcc -w -arch=sm_90 -o one one.cu && ulimit -v 30000000 && ./one") == 1
    assert re.fullmatch(r"banksim: no GPU: 16 TiB of addresses.*ulimit -v\?\n", capfd.readouterr().err)


# ---- bad input
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.cu"], "none.cu: no such file"),
        (['a"b.cu'], "'a\"b.cu': nvcc cannot have '\"' in a name: rename it"),
        (["--nvcc=-DX", "sh"], "--nvcc: options for the compiler, and there is no .cu file to compile"),
        (["--nvcc=-DX", "program.py"], "--nvcc: options for the compiler of .cu files, and there are none"),
        (["./other"], "./other is an executable for another processor than this computer's"),
        (["./cut"], "./cut is a damaged executable"),
        (["./script"], "./script is started by /no/shell, which is not here"),
    ],
)
def test_what_cannot_be_run_is_told_in_a_line(
    words: list[str], said: str, tmp_path: Path, monkeypatch: Patch, capfd: Said
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'a"b.cu').write_text(ONE)
    (tmp_path / "program.py").write_text("")
    other = tmp_path / "other"
    other.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\x08\x00" + bytes(60))  # for MIPS
    cut = tmp_path / "cut"
    cut.write_bytes(b"\x7fELF\x02\x01\x01")
    script = tmp_path / "script"
    script.write_text("#!/no/shell -e\n")
    for executable_file in (other, cut, script):
        executable_file.chmod(0o755)
    assert run(*words) == 2
    assert capfd.readouterr() == ("", f"banksim: {said}\n")


def test_a_kept_program_can_be_run_as_soon_as_it_has_its_name(tmp_path: Path, monkeypatch: Patch) -> None:
    """Another process that finds it there runs it at once."""
    modes, replace = [], os.replace

    def replaced(part: str, target: str) -> None:
        replace(part, target)
        modes.append(stat.S_IMODE(os.stat(target).st_mode))

    source = tmp_path / "program.cu"
    source.write_text("int main() {}")
    monkeypatch.setattr(executable.cache, "folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(executable.standins, "folder", lambda: tmp_path)
    monkeypatch.setattr(executable.tools, "run", lambda name, given, *_, **__: Path(given[-1]).write_bytes(b"made"))
    monkeypatch.setattr(os, "replace", replaced)
    assert executable.compiled([source], "sm_90", ()).read_bytes() == b"made"
    assert modes == [0o700]


def test_a_compilers_errors_are_shown(tmp_path: Path, capfd: Said) -> None:
    assert run(str(written_to(tmp_path / "wrong.cu", "int main() { return missing; }\n"))) == 2
    assert 'wrong.cu(1): error: identifier "missing" is undefined' in capfd.readouterr().err


def test_nothing_is_left_of_a_program_that_does_not_compile(tmp_path: Path) -> None:
    source, temporary = written_to(tmp_path / "wrong.cu", "int main() { return missing; }\n"), tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "banksim", "run", str(source)]
    ended = subprocess.run(command, env=os.environ | {"TMPDIR": str(temporary)}, stderr=subprocess.DEVNULL)
    assert ended.returncode == 2
    assert not list(temporary.iterdir())


@pytest.mark.usefixtures("by_nvcc_for_cpp_14")
def test_sources_without_a_main_are_no_program(tmp_path: Path, capfd: Said) -> None:
    source = written_to(tmp_path / "one.cu", "__global__ void k(int *out) { out[0] = 1; }")
    assert run(str(source)) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"banksim: {source} is no program, it has no main(): ")
    assert line.endswith(f": banksim kernel {source}:NAME")


def test_without_a_c_compiler_a_line_says_what_to_install(monkeypatch: Patch, capfd: Said) -> None:
    monkeypatch.setattr(standins.shutil, "which", lambda name: None if name != "true" else "/bin/true")
    assert run("true") == 2
    assert "install gcc" in capfd.readouterr().err


# ---- the libraries
def test_every_function_of_the_headers_is_there() -> None:
    include = next(folder for folder in tools.include_folders() if (folder / "cuda.h").is_file())
    wanted = {
        standins.DRIVER: standins.LibraryFunctions.of_driver(include),
        standins.RUNTIME: standins.LibraryFunctions.of_runtime(include),
    }
    for name, declared in wanted.items():
        table = subprocess.run(
            ["nm", "-D", "--defined-only", str(standins.folder() / name)], capture_output=True, text=True, check=True
        )
        found = {line.split()[-1].partition("@")[0] for line in table.stdout.splitlines()}
        missing = {*declared.names, *(f"{base}_{ending}" for base, ending in declared.per_thread)} - found
        assert not missing
        assert len(declared.names) > 200
    assert "cudaMemcpy_ptds" in found
    assert "banksim_missing" not in found
