"""Device code of a file whose host part does not compile."""

from pathlib import Path

import pytest

from banksim.__main__ import main
from banksim.errors import BanksimError, CompileError
from banksim.kernels.compilers import tools
from banksim.kernels.compilers.cuda import tell_once
from banksim.kernels.compilers.host_part import LeftOut, blank, constructs
from banksim.kernels.load import load
from helpers.fixtures import Patch, Said
from helpers.places import written_to

EXTENSION = """#include <torch/extension.h>
#include "missing/helper_cuda.h"
#include "tile.h"
/* a comment { */
torch::Tensor forward(torch::Tensor x);

namespace n {
__global__ void columns(float *out) {
    __shared__ float tile[TILE][TILE];
    tile[threadIdx.y][threadIdx.x] = out[threadIdx.y * TILE + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * TILE + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
template <typename T> void launch(T *p, int n = 5) {
#ifdef X
    checkCudaErrors(cudaGetLastError());
#endif
    columns<<<1, dim3(32, 32)>>>(p); checkCudaErrors(cudaDeviceSynchronize());
}
}
static nothing_t handle = nothing_make();
torch::Tensor forward(torch::Tensor x) { n::launch(x.data_ptr<float>()); return x; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "f");
}
"""
needs_host = pytest.mark.skipif(tools.host_compiler() is None, reason="nvcc needs a host compiler")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "tile.h").write_text("#define TILE 32\n")
    (tmp_path / "a" / "b").mkdir(parents=True)
    return tmp_path / "a" / "b"


def test_what_was_left_out_is_worded_by_how_many_lines_it_is() -> None:
    for lines, said in (
        ([(4, 4)], "its line 4"),
        ([(4, 6)], "its lines 4–6"),
        ([(9, 9), (4, 4)], "its lines 4, 9"),
        ([(6, 9), (5, 5)], "its lines 5–9"),
    ):
        assert str(LeftOut(lines=lines)) == said


@needs_host
def test_a_kernel_of_an_extension_is_executed_and_what_was_left_out_said(folder: Path, capsys: Said) -> None:
    file = written_to(folder / "k.cuh", EXTENSION)
    assert main(["kernel", f"{file}:columns", "--block", "32,32", "--arg", "float32[1024]", "--json"]) == 0
    said = capsys.readouterr()
    assert '"line": 12' in said.out
    [line] = said.err.splitlines()
    tell_once.cache_clear()
    assert main(["kernel", f"{file}:columns", "--block", "32,32", "--arg", "float32[1024]", "--json"]) == 0
    assert capsys.readouterr() == said  # from the cache
    assert line == (
        f"banksim: {file}: compiled without the headers missing/helper_cuda.h, torch/extension.h and "
        "its lines 5, 21–25, which the host needs"
    )


@needs_host
def test_what_is_left_out_is_said_once_where_an_instance_is_made_and_by_the_path_from_here(
    folder: Path, monkeypatch: Patch, capsys: Said
) -> None:
    """The file is compiled as it is, to see whether it has the instance, and again with it."""
    monkeypatch.chdir(folder)
    generic = "template <typename T> __global__ void generic(T *out) { *out = 1; }\n"
    Path("k.cu").write_text("#include <torch/extension.h>\n" + generic)
    assert main(["kernel", "k.cu:generic<float>", "--arg", "float32[1]"]) == 0
    assert capsys.readouterr().err == (
        "banksim: k.cu: compiled without the header torch/extension.h, which the host needs\n"
    )


@needs_host
def test_headers_of_other_systems_that_cudas_own_name_are_not_missing(folder: Path, capsys: Said) -> None:
    """And advice says once what a file is compiled without, not of each layout that it tries, for which headers are
    looked for where the file lies."""
    file = written_to(folder / "k.cu", "#include <cuda_runtime.h>\n" + EXTENSION)
    launch = ["--block", "32,32", "--arg", "float32[1024]=random"]
    assert main(["advise", "kernel", f"{file}:columns", *launch]) == 0
    said = capsys.readouterr()
    assert "+    __shared__ float tile[TILE][TILE + 1];" in said.out
    [line] = said.err.splitlines()
    assert line == (
        f"banksim: {file}: compiled without the headers missing/helper_cuda.h, torch/extension.h and "
        "its lines 6, 22–26, which the host needs"
    )


@needs_host
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("__global__ void k(int *a) { *a = nothing; }", 'identifier "nothing" is undefined'),
        ("__device__ int f() { return nothing; }\n__global__ void k(int *a) { *a = f(); }", 'identifier "nothing"'),
        ("struct S { nothing_t x; };\n__global__ void k(S *a) { a->x = 0; }", 'identifier "nothing_t" is undefined'),
        ("#include <nothing.h>\n__global__ void k(int *a) { *a = SIZE; }", "fatal error: nothing.h: No such file"),
    ],
)
def test_an_error_of_device_code_stays_one(wrong: str, said: str, folder: Path, capsys: Said) -> None:
    (folder / "k.cu").write_text(wrong)
    with pytest.raises(CompileError, match=said):
        load(folder / "k.cu")
    assert "compiled without" not in capsys.readouterr().err


@needs_host
@pytest.mark.parametrize("name", ["{place}/made.h", "../../made.h", "a/../../../made.h", "a" * 300, "a\0.h"])
def test_a_header_is_made_nowhere_but_in_a_folder_of_its_own(name: str, folder: Path, monkeypatch: Patch) -> None:
    place = folder / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    includes = f'#include "helper_cuda.h"\n#include "{name.format(place=place)}"\n'
    (folder / "k.cu").write_text(includes + "__global__ void k(int *a) { *a = 1; }\n")
    before = sorted(folder.rglob("*"))
    with pytest.raises(BanksimError):
        load(folder / "k.cu")
    assert sorted(folder.rglob("*")) == before


def test_a_file_is_cut_into_what_stands_in_it() -> None:
    text = """#include <a>
// {
int x = 3;
struct S {
  int y;
} s;
extern "C" {
void f(int n = 5) {
  if (n) { }
}
}
namespace a::b {
__global__ void
k() {
}
S operator=(S o) { return o; }
}
auto l = [](int v) { return v; };
"""
    found = [(one.first, one.last, one.head.split("(")[0].split("{")[0].strip()) for one in constructs(text)]
    assert found == [
        (3, 3, "int x = 3;"), (4, 6, "struct S"), (8, 10, "void f"), (13, 15, "__global__ void\nk"),
        (16, 16, "S operator="), (18, 18, "auto l = []"),
    ]  # fmt: skip


def test_directives_stay_where_a_function_goes() -> None:
    assert (
        blank("void f() {\n#define A \\\n  3\n  g();\n#ifdef A\n}\n#endif")
        == "\n#define A \\\n  3\n\n#ifdef A\n\n#endif"
    )
