"""Cures of kernels: written into the source, compiled, executed, compared; and refused with the reason."""

import ast
import json
import os
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import time_ns
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from banksim.__main__ import main
from banksim.advise.kernels import source as sources
from banksim.advise.kernels.advice import KernelAdvice, advise_kernel
from banksim.advise.kernels.costs import Cost
from banksim.advise.kernels.cuda_source import CudaSource, cuda_arrays
from banksim.advise.kernels.measure import Bench, Measured
from banksim.advise.kernels.numba_source import NumbaReader, NumbaSource
from banksim.advise.kernels.search import Search, Tried, best_first
from banksim.advise.kernels.source_layouts import groups, padded, paddings
from banksim.architectures.bank_rules import architecture
from banksim.errors import CompileError, InputError
from banksim.kernels import compilers, disassembly
from banksim.kernels.compilers import nvrtc
from banksim.runs.python_file import load_python
from cuda_kernels.kernels.products import tiled
from helpers.commands import out_of, refused
from helpers.fixtures import Patch, Said
from helpers.places import EXAMPLES, KERNELS, written_to

CURES = KERNELS / "cures.cu"
MATRICES = ["--arg", "float32[32,32]", "--arg", "float32[32,32]=random"]
LAUNCH = ["--block", "32,32", *MATRICES]
CUDA = """\
// __shared__ float tile[99][99];
template <int N> __global__ void copy(float *out, const float *in) {
    const char *text = "__shared__ float none[7][7];";
    __shared__ float tile[N][N], list[N]; /* __shared__ int no[1][2]; */
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * N + threadIdx.x];
    list[threadIdx.x] = text[0];
    __syncthreads();
    out[threadIdx.y * N + threadIdx.x] = tile[threadIdx.x][threadIdx.y] + list[threadIdx.x];
}
__global__ void other(float *out) {
    __shared__ __align__(16) float mine[4][HALF * 2];
    mine[threadIdx.y][threadIdx.x] = 1;
    out[0] = mine[0][0];
}
"""


@pytest.fixture
def transpose(tmp_path: Path) -> Path:
    return Path(shutil.copy(EXAMPLES / "transpose.py", tmp_path))


def advised(words: list[str], capsys: Said) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out_of(capsys, ["advise", "kernel", *words, "--json"]))
    return found


# ---- cures
def test_a_transpose_is_cured_in_its_file(transpose: Path, capsys: Said) -> None:
    before = transpose.read_text()
    transpose.chmod(0o640)
    found = advised([f"{transpose}:transpose", *LAUNCH, "--write"], capsys)
    assert (found["before"]["transactions"], found["before"]["ideal"]) == ([1056], [64])
    padded, swizzled = found["tried"]
    assert (padded["layouts"], swizzled["layouts"]) == ({"tile": "rows of 33"}, {"tile": "column ^ row"})
    assert (padded["transactions"], padded["refused"], padded["shared_bytes"]) == ([64], None, 4224)
    assert (swizzled["transactions"], swizzled["refused"], swizzled["shared_bytes"]) == ([64], None, 4096)
    assert swizzled["instructions"] < padded["instructions"]
    assert found["best"] == {"tile": "column ^ row"}
    assert "-    tile[y, x] = a[row + y, column + x]\n+    tile[y, x ^ y] = a[row + y, column + x]" in found["diff"]
    cured = before.replace("tile[y, x]", "tile[y, x ^ y]", 1).replace("tile[x, y]", "tile[x, y ^ x]", 1)
    assert transpose.read_text() == cured
    assert transpose.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in transpose.parent.iterdir() if path.suffix == ".py"] == ["transpose.py"]
    assert advised([f"{transpose}:transpose", *LAUNCH], capsys)["before"]["transactions"] == [64]


def test_the_report_shows_figures_and_diff(transpose: Path, capsys: Said) -> None:
    before = transpose.read_text()
    assert main(["advise", "kernel", f"{transpose}:transpose", *LAUNCH]) == 0
    assert transpose.read_text() == before
    printed = capsys.readouterr().out
    assert "Results are the same bit for bit, and no conflict is left: tile: column ^ row." in printed
    assert "\n+    out[column + y, row + x] = tile[x, y ^ x]\n" in printed
    assert " µs " in printed
    assert printed.count("estimate") == 1
    assert "None is given" not in printed


def test_no_time_is_shown_where_most_is_assumed(transpose: Path, capsys: Said, monkeypatch: Patch) -> None:
    """Layouts still rank by it: what is assumed is the same for all."""
    monkeypatch.setattr("banksim.timing.whole_grid.MOST_ASSUMED", -1.0)  # of this kernel, none is
    printed = out_of(capsys, ["advise", "kernel", f"{transpose}:transpose", *LAUNCH])
    assert "None is given (–) where more than" in printed
    assert " µs " not in printed
    found = advised([f"{transpose}:transpose", *LAUNCH], capsys)
    assert found["before"]["launch_microseconds"] is None
    assert found["before"]["launch_cycles"] > min(one["launch_cycles"] for one in found["tried"])


def test_cuda_templates_are_cured_too(tmp_path: Path, capsys: Said, monkeypatch: Patch) -> None:
    """Only what the user wrote is compiled without the instance, to see whether it has it; what will be tried in any
    case is listed together."""
    instances, listed = list[tuple[str, ...]](), list[bytes]()
    compile, print_listing = nvrtc.compile_nvrtc, disassembly.printed
    monkeypatch.setattr(nvrtc, "compile_nvrtc", lambda one: instances.append(one.instances) or compile(one))
    monkeypatch.setattr(disassembly, "printed", lambda cubin: listed.append(cubin) or print_listing(cubin))
    file = tmp_path / "copy.cu"
    name = f"copy{time_ns()}"  # that no cache has
    text = CUDA.replace("copy", name)
    file.write_text(text)
    words = [f"{file}:{name}<32>", *LAUNCH, "--define", "HALF=8", "--arch", "sm_80", "--write"]
    found = advised(words, capsys)
    assert found["best"] == {"tile": "rows of N + 1"}
    assert file.read_text() == text.replace("tile[N][N]", "tile[N][N + 1]")
    assert instances.count(()) == 1
    assert len(listed) == len(found["tried"])


@pytest.mark.parametrize(
    ("words", "arch", "cures"),
    [
        (["quads", "--block", "8,32", *MATRICES], "sm_50", ["rows of 36", "column ^ ((row & 7) * 4)"]),
        (["quads", "--block", "8,32", *MATRICES], "sm_90", ["rows of 36", "column ^ ((row & 7) * 4)"]),
        (["kept", *LAUNCH], "sm_90", ["rows of TILE + 1"]),
        (["transposeTile", *LAUNCH], "kepler-8", ["rows of TILE + 2", "column ^ row"]),
        (["transposeTile", *LAUNCH], "kepler-4", ["rows of TILE + 1", "column ^ row"]),
    ],
)
def test_known_cures_are_found(words: list[str], arch: str, cures: list[str], capsys: Said) -> None:
    found = advised([f"{CURES}:{words[0]}", *words[1:], "--arch", arch], capsys)
    assert found["best"] == {"tile": cures[0]}
    paid = {one["layouts"]["tile"]: one["transactions"] for one in found["tried"] if not one["refused"]}
    assert [name for name, transactions in paid.items() if transactions == [64]] == cures
    assert found["before"]["transactions"] > [64]


def test_a_dynamic_array_gets_gaps_and_its_launch_more_bytes(tmp_path: Path, capsys: Said) -> None:
    words = [f"{shutil.copy(CURES, tmp_path)}:setRowReadColDyn", "--block", "32,32", "--arg", "int32[1024]"]
    words += ["--arch", "kepler-4"]
    found = advised([*words, "--dynamic-shared", "4096", "--write"], capsys)
    assert found["best"] == {"tile": "a gap of 1 behind every 32"}
    assert "Launch it with 4,224 in the place of 4,096 bytes of dynamic shared memory." in found["verdict"]
    assert "+    out[row_idx] = tile[col_idx + (col_idx >> 5)];" in found["diff"]
    swizzle = next(one for one in found["tried"] if one["layouts"] == {"tile": "Swizzle<5, 0, 5>"})
    assert (swizzle["transactions"], swizzle["dynamic_shared"], swizzle["refused"]) == ([64], 4096, None)
    again = advised([*words, "--dynamic-shared", "4224"], capsys)
    assert (again["before"]["transactions"], again["best"]) == ([64], None)


def test_only_the_arrays_that_are_named_change(capsys: Said) -> None:
    size = ["--arg", "float32[64,64]=random"]
    words = [f"{CURES}:product", "--block", "32,32", "--arg", "float32[64,64]", *size, *size, "--arg", "int32=64"]
    assert advised([*words, "--array", "at"], capsys)["best"] == {"at": "rows of TILE + 1"}
    assert main(["advise", "kernel", *words, "--array", "ct"]) == 2
    assert capsys.readouterr().err.endswith("product has no shared array 'ct': it has at, bt\n")


def test_a_race_is_named_with_the_line_before_which_a_barrier_is_missing(transpose: Path) -> None:
    transpose.write_text(transpose.read_text().replace("    cuda.syncthreads()\n", "", 1))
    kernel = load_python(transpose).transpose
    zeros = [np.zeros((32, 32), np.float32) for _ in range(2)]
    advice = advise_kernel(NumbaSource(kernel), 1, (32, 32), zeros)
    race, vacuous = advice.notes
    assert race.startswith("As written it has a race: cuda.syncthreads() is missing before ")
    assert race.endswith("transpose.py:12.")
    assert vacuous.startswith("All results are one byte over and over")


# ---- what a source says
def cuda(statements: str, name: str = "k") -> dict[str, sources.SourceArray]:
    """The arrays of a kernel with these statements."""
    code = (
        f"template <int N> __global__ void __launch_bounds__(256) {name}(float *out, int i, int j) {{ {statements} }}"
    )
    return {array.name: array for array in cuda_arrays(code.encode(), f"ns::{name}<32>")}


def test_declarations_are_those_of_the_kernel() -> None:
    tile, listed = cuda_arrays(CUDA.encode(), "copy<32>")
    assert (tile.name, tile.line, tile.lengths[-1].longer(2), len(tile.uses)) == ("tile", 4, "N + 2", 2)
    assert (listed.name, [one.text for one in listed.lengths], len(listed.uses)) == ("list", ["N"], 2)
    (mine,) = cuda_arrays(CUDA.encode(), "other")
    assert (mine.name, mine.size, mine.lengths[0].value) == ("mine", 4, 4)
    assert mine.lengths[1].longer(1) == "HALF * 2 + 1"
    assert sources.SourceSpan(0, 6, "N << 1").longer(1) == "(N << 1) + 1"
    assert not list(cuda_arrays(CUDA.encode(), "missing"))


@pytest.mark.parametrize(
    ("statement", "fixed"),
    [
        ("a[i][j] = 1;", ""),
        ("a[i][min(j, 31)] += a[j][i];", ""),
        ("atomicAdd(&a[i][j], 1);", ""),
        ("auto f = [&](int k) { return a[k][j]; };", ""),
        ("s.a[i] = 1; b.a = 2;", ""),
        ("float *p = a[i];", "line 1 uses it whole"),
        ("use(a);", "line 1 uses it whole"),
        ("sizeof(a);", "line 1 uses it whole"),
        ("float *p = &a[i][j];", "line 1 keeps the address of an element"),
        ("float *p = reinterpret_cast<float *>(&a[i][j]);", "line 1 keeps the address of an element"),
        ("(&a[i][0])[j] = 1;", "line 1 keeps the address of an element"),
        ("a[i++][j] = 1;", "line 1 changes a variable in an index"),
        ("a[i = 2][j] = 1;", "line 1 changes a variable in an index"),
        ("a[next()][j] = 1;", "line 1 calls next in an index"),
        ("a[i][j] = ;", "line 1 cannot be parsed"),
    ],
)
def test_indices_that_cannot_be_rewritten_say_why(statement: str, fixed: str) -> None:
    assert cuda(f"__shared__ float a[32][32]; {statement}")["a"].fixed == fixed


@pytest.mark.parametrize(
    ("statement", "wide"),
    [
        ("out[0] = a[i][j];", False),
        ("out[0] = (int)a[i][j] + double(a[i][j]);", False),
        ("float4 q = *(float4 *)&a[i][j];", True),
        ("float4 q = (*reinterpret_cast<float4 *>(&a[i][j]));", True),
        ("float4 q = reinterpret_cast<float4 *>(&(a[i][j]))[0];", True),
        ("float4 q = reinterpret_cast<float4 &>(a[i][j]);", True),
        ("float4 q = FETCH_FLOAT4(a[i][j]);", True),
        ("__pipeline_memcpy_async(&a[i][j], out, 16);", True),
    ],
)
def test_wide_accesses_are_seen(statement: str, wide: bool) -> None:
    array = cuda(f"__shared__ __align__(16) float a[32][32]; {statement}")["a"]
    assert (array.fixed, array.is_wide) == ("", wide)


def test_arrays_in_macros_and_at_one_address_stay() -> None:
    macro = b"#define AT(i) a[i]\n#ifdef X\n__global__ void k() { __shared__ int a[64], b[64]; a[0] = b[0]; }\n#endif\n"
    assert [array.fixed for array in cuda_arrays(macro, "k")] == ["line 1 names it in a macro", ""]
    both = cuda("extern __shared__ int a[]; extern __shared__ float b[]; a[i] = b[j];")
    assert {array.fixed for array in both.values()} == {"a and b are at one address"}


def test_uses_within_uses_are_rewritten_in_both() -> None:
    text = b"__global__ void k(int i) { __shared__ int a[64][64], b[32]; a[b[i]][a[i][b[1]]] = 1; }"
    a, b = cuda_arrays(text, "k")
    swap = next(one for group in groups(a, 0) for one in group if one.layout == "dimensions swapped")
    gap = next(one for group in groups(b, 0) for one in group if one.layout == "a gap of 1 behind every 16")
    changed = sources.rewritten(text, [swap, gap]).decode()
    assert "b[33]" in changed
    assert "a[a[b[1 + (1 >> 4)]][i]][b[i + (i >> 4)]] = 1;" in changed


def test_every_layout_has_a_place_of_its_own_for_every_element() -> None:
    """Evaluated as Python, which agrees with C++ on all operators used."""
    for lengths in ([32, 32], [16, 32], [32, 8], [3, 16, 64], [256], [96]):
        names = "ijk"[: len(lengths)]
        shape = "".join(f"[{length}]" for length in lengths)
        use = "".join(f"[{name}]" for name in names)
        array = cuda(f"__shared__ float a{shape}; a{use} = 1;")["a"]
        everything = dict(zip(names, np.indices(lengths).reshape(len(lengths), -1), strict=True))
        for change in (one for group in groups(array, 0) for one in group):
            found = change.index(tuple(names)) if change.index else tuple(names)
            indices = [eval(text, {}, everything) for text in found]
            element = np.ravel_multi_index(indices, [int(text) for text in change.lengths])  # refuses what is beyond
            assert len(np.unique(element)) == np.prod(lengths), change.name


def test_a_swizzle_of_a_length_by_name_is_checked_by_the_compiler(tmp_path: Path) -> None:
    file = tmp_path / "named.cu"
    file.write_text(
        "template <int N> __global__ void named(float *out) {\n"
        "    __shared__ float tile[N][N];\n"
        "    tile[threadIdx.x][0] = threadIdx.x;\n"
        "    out[threadIdx.x] = tile[threadIdx.x][0];\n"
        "}\n"
    )
    for length, works in ((32, True), (24, False)):
        source = CudaSource(file, f"named<{length}>")
        (array,) = source.declared
        swizzle = next(one for group in groups(array, 0) for one in group if one.layout == "column ^ row")
        content = sources.rewritten(source.content, [swizzle])
        assert b"\n    static_assert(N >= 2 && (N & (N - 1)) == 0, " in content
        if works:
            assert source.kernel(content).plain_name == "named<32>"
        else:
            bench = Bench(source, 1, 32, [], (architecture("sm_90"),), 0)
            with pytest.raises(CompileError) as error:
                source.kernel(content)
            assert Search(bench, None).why_not((swizzle,), error.value) == "N has to be a power of two"  # type: ignore[arg-type]


NUMBA = """
def kernel(out, n):
    a = cuda.shared.array(shape=(ROWS, 2 * ROWS), dtype=numba.float64)
    b = cuda.shared.array(64, np.int32)
    c = cuda.shared.array(0, dtype=int32)
    d = cuda.shared.array((4, 4), float32)
    e = cuda.shared.array((n, 4), float32)
    a[n, n + 1] = a[n][2] + b[abs(n)]
    cuda.atomic.add(b, n, 1)
    cuda.atomic.max(a, (n, 0), 1)
    c[b[n]] = 1
    d[0] = d[0, 1:]
"""


def test_numba_arrays_are_read() -> None:
    tree = ast.parse(NUMBA).body[0]
    assert isinstance(tree, ast.FunctionDef)
    a, b, c, d = NumbaReader(NUMBA.encode(), tree, {"ROWS": 16}).arrays()
    assert ([one.value for one in a.lengths], a.size, len(a.uses), a.fixed) == ([16, 32], 8, 3, "")
    assert ([one.value for one in b.lengths], b.size, len(b.uses)) == ([64], 4, 3)
    assert (c.lengths, c.size, len(c.uses)) == ((), 4, 1)
    assert d.fixed == "line 12 uses it whole"
    gap = next(one for group in groups(b, 0) for one in group if one.layout == "a gap of 1 behind every 16")
    swap = next(one for group in groups(a, 0) for one in group if one.layout == "dimensions swapped, rows of 17")
    changed = sources.rewritten(NUMBA.encode(), [gap, swap]).decode()
    for line in (
        "a = cuda.shared.array(shape=(2 * ROWS, 17), dtype=numba.float64)",
        "a[n + 1, n] = a[2][n] + b[(abs(n)) + ((abs(n)) >> 4)]",
        "cuda.atomic.add(b, n + (n >> 4), 1)",
        "cuda.atomic.max(a, (0, n), 1)",
        "c[b[n + (n >> 4)]] = 1",
        "b = cuda.shared.array(67, np.int32)",
    ):
        assert line in changed


@pytest.mark.parametrize(
    ("statement", "fixed"),
    [
        ("a[1, 2:] = 0", "takes a slice of it"),
        ("a[..., 2] = 0", "takes a slice of it"),
        ("a[-1, 2] = 0", "counts from the end"),
        ("a[next(n), 2] = 0", "calls next in an index"),
        ("a[(m := n), 2] = 0", "assigns in an index"),
        ("use(a)", "uses it whole"),
        ("a[n] = 0", "uses it whole"),
        ("m = len(a)", "uses it whole"),
    ],
)
def test_numba_indices_that_cannot_be_rewritten_say_why(statement: str, fixed: str) -> None:
    text = f"def k(n):\n    a = cuda.shared.array((8, 8), float32)\n    {statement}\n"
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    (array,) = NumbaReader(text.encode(), tree, {}).arrays()
    assert array.fixed == f"line 3 {fixed}"


def test_a_kernel_with_a_signature_keeps_it(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "eager.py"
    text = (EXAMPLES / "transpose.py").read_text()
    file.write_text(text.replace("@cuda.jit\n", "@cuda.jit('void(float32[:, :], float64[:, :])')\n", 1))
    words = [f"{file}:transpose", "--block", "32,32", "--arg", "float32[32,32]", "--arg", "float64[32,32]=random"]
    assert advised(words, capsys)["best"] == {"tile": "column ^ row"}
    with pytest.raises(AssertionError):
        advised([f"{file}:transpose", *LAUNCH], capsys)
    assert "declared for" in capsys.readouterr().err


def test_layouts_of_a_numba_kernel_are_compiled_once_and_listed_together(
    transpose: Path, capsys: Said, monkeypatch: Patch
) -> None:
    compiled: list[Any] = []
    listed: list[list[bytes]] = []

    def compiling(compile_numba: Any, *given: Any) -> Any:
        compiled.append(compile_numba(*given))
        return compiled[-1]

    with monkeypatch.context() as patch:
        patch.setattr("banksim.kernels.cubin.decode_ahead", lambda cubins: listed.append([*cubins]))
        patch.setattr("banksim.kernels.compilers.compile_numba", partial(compiling, compilers.compile_numba))
        found = advised([f"{transpose}:transpose", *LAUNCH], capsys)
    assert len(found["tried"]) == 2
    assert listed == [[one.cubin for one in compiled[1:]]]


# ---- the honest no: products whose padding costs the compiler its 16-byte loads
def product(tile: int, size: int) -> KernelAdvice:
    random = np.random.default_rng(1)
    a, b = (random.integers(0, 8, (size, size)).astype(np.float32) for _ in range(2))
    c = np.zeros((size, size), np.float32)
    advice = advise_kernel(NumbaSource(tiled(tile, 0)), (size // tile, size // tile), (tile, tile), [a, b, c])
    assert not c.any()
    return advice


@pytest.mark.parametrize("tile", [16, 32])
def test_padding_a_product_is_refused_for_its_merged_loads(tile: int) -> None:
    advice = product(tile, 64)
    assert (advice.best, advice.content, advice.diff()) == (None, advice.source.content, "")
    (both,) = advice.tried
    assert both.measured is not None
    assert (advice.before.wide[16] > 0, both.measured.wide) == (True, {})
    assert "it loses merged loads" in both.refused
    assert "transactions more" in both.refused
    assert "warp instructions more" in both.refused
    assert both.measured.instructions > advice.before.instructions
    assert advice.verdict == "No layout pays: as written no access conflicts."


def test_a_change_of_the_result_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "flat.cu"
    file.write_text(
        """\
        extern "C" __global__ void flat(float *out) {
            __shared__ float tile[32][32];
            float *all = &tile[0][0];
            tile[threadIdx.x][0] = 0;
            all[threadIdx.x * 32 + 1] = threadIdx.x;
            __syncthreads();
            out[threadIdx.x] = tile[threadIdx.x][1];
        }
        """
    )
    source = CudaSource(file, "flat")
    (array,) = source.declared
    layouts = [[], *([one] for one in paddings(array))]
    source.ahead((sources.rewritten(source.content, changes) for changes in layouts), [], ())
    advice = advise_kernel(source, 1, 32, [np.zeros(32, np.float32)])
    assert {one.refused for one in advice.tried} == {"the results differ"}
    assert advice.verdict == "No layout pays: every one that was tried is refused."
    assert advice.notes == ("tile can only have longer rows: line 3 keeps the address of an element",)


# ---- wrong use: one line, nothing written
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of POSIX")
def test_a_read_only_file_is_left_alone(transpose: Path, capsys: Said) -> None:
    before = transpose.read_bytes()
    transpose.chmod(0o440)
    assert main(["advise", "kernel", f"{transpose}:transpose", *LAUNCH, "--write"]) == 2
    assert capsys.readouterr().err.endswith("it is read-only: nothing was written\n")
    assert transpose.read_bytes() == before


def test_a_file_that_changed_meanwhile_is_left_alone(transpose: Path) -> None:
    before = transpose.read_bytes()
    transpose.write_bytes(before + b"# more\n")
    with pytest.raises(InputError, match="changed meanwhile"):
        sources.write(transpose, before, b"")
    assert transpose.read_bytes() == before + b"# more\n"


def test_a_source_that_changed_since_its_import_is_refused(tmp_path: Path, monkeypatch: Patch) -> None:
    file = written_to(tmp_path / "changing.py", "def kernel(out):\n    out[0] = 1\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    file.write_text("def kernel(out):\n    out[0] = 2\n")
    with pytest.raises(InputError, match="changed since kernel was imported"):
        NumbaSource(names["kernel"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["kernel"], "the following arguments are required: FILE:NAME"),
        (["kernel", "none.py:a"], "none.py: no such file"),
        (["kernel", "none.ptx"], "advice rewrites sources"),
        (
            ["kernel", f"{EXAMPLES}/transpose.py:transpose", "--declare", "int a[2]"],
            "unrecognized arguments: --declare int a[2] (banksim advise has it)",
        ),
        (
            ["a[threadIdx.x]", "--declare", "int a[32]", "--write"],
            "unrecognized arguments: --write (banksim advise kernel has it)",
        ),
    ],
)
def test_wrong_use_is_one_line(words: list[str], message: str, capsys: Said) -> None:
    assert message in refused(capsys, ["advise", *words])


@pytest.mark.parametrize("name", ["made", "absent"])
def test_a_kernel_that_the_text_does_not_define_is_not_said_to_have_no_arrays(name: str, tmp_path: Path) -> None:
    text = (
        "#define KERNEL(name) __global__ void name(int *out) { __shared__ int s[64]; out[0] = s[0]; }\nKERNEL(made)\n"
    )
    with pytest.raises(InputError, match=f"plain.cu: its text defines no kernel {name}"):
        CudaSource(written_to(tmp_path / "plain.cu", text), name)


def test_a_kernel_without_such_arrays_is_said_to_be_one(tmp_path: Path, capsys: Said) -> None:
    file = written_to(tmp_path / "plain.cu", 'extern "C" __global__ void plain(int *out) { out[threadIdx.x] = 1; }\n')
    assert main(["advise", "kernel", f"{file}:plain", "--arg", "int32[32]"]) == 2
    assert "plain declares no shared array whose layout could change" in capsys.readouterr().err


# ---- what is worth the while
@pytest.mark.parametrize(
    "pragma", ["#pragma unroll", "  # pragma unroll 4", "#pragma \\\n unroll", '_Pragma("unroll")', "#pragma nounroll"]
)
def test_pragmas_before_statements_without_braces_are_no_obstacle(pragma: str) -> None:
    loops = (
        f"\nif (n)\n{pragma}\nfor (int i = 0; i < n; ++i)\n{pragma}\nfor (;;)\ns[i][threadIdx.x] = s[threadIdx.x][i];"
    )
    source = "__global__ void k(int n) { __shared__ int s[32][32];" + loops + "\n}\n"
    (array,) = cuda_arrays(source.encode(), "k")
    assert (array.fixed, len(array.uses)) == ("", 2)
    assert all(source[use.start : use.end].startswith("s[") for use in array.uses)


def measured(transactions: int, cycles: int | None) -> Measured:
    cost = Cost(transactions=transactions, ideal=0, time=1000.0 + transactions, cycles=cycles)
    return Measured(kernel=None, run=None, costs=(cost,), results=(), dynamic=0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ((9000, 28_605), (8000, 28_603), "saves too little: 28,605 simulated cycles of the launch become 28,603"),
        ((9000, 28_605), (8000, 28_000), ""),
        ((9_000_000, None), (8_999_999, None), "saves too little: 1 of 9,000,000 transactions"),
        ((9000, None), (8000, None), ""),
    ],
)
def test_what_saves_next_to_nothing_is_refused(
    before: tuple[int, int | None], after: tuple[int, int | None], said: str
) -> None:
    """The second of two arrays too, whose cure stands on that of the first."""
    one, two = cuda_arrays(b"__global__ void k() { __shared__ int a[2][2], b[2][2]; a[0][0] = b[0][0]; }", "k")
    first, second = padded(one, 1), padded(two, 1)
    alone = Search(None, measured(*before))  # type: ignore[arg-type]
    assert alone.negligible((first,), measured(*after)) == (said and f"it {said}")
    beside = Search(None, measured(10**9, before[1] and 10**9))  # type: ignore[arg-type]
    beside.best = Tried((first,), measured(*before), is_same=True)
    assert beside.negligible((first, second), measured(*after)) == (said and f"beside a: rows of 3 it {said}")


def test_layouts_that_cost_alike_rank_by_what_the_table_shows() -> None:
    def cure(cycles: int, transactions: int, instructions: int, size: int, refused: str = "") -> Tried:
        run = SimpleNamespace(instructions=instructions, launch=SimpleNamespace(shared_bytes=size))
        run.launch.kernel = SimpleNamespace(shared_base=0)
        return Tried((), replace(measured(transactions, cycles), run=run), refused)  # type: ignore[arg-type]

    order = [
        cure(1005, 0, 500, 64),
        cure(1009, 0, 500, 96),
        cure(1000, 0, 600, 64),
        cure(1000, 8, 400, 64),
        cure(1011, 0, 100, 64),
        cure(900, 0, 100, 64, "the results differ"),
        Tried((), None, "it does not run"),
    ]
    for tried in (order, order[::-1]):
        found = best_first(tried, measured(9000, 2000))
        assert all(one is other for one, other in zip(found, order, strict=True))


@pytest.mark.parametrize("place", ["k.cu(5): error", "k.cu:5: out of bounds"])
def test_why_a_layout_does_not_run_names_the_file_and_no_copy_of_it(place: str, tmp_path: Path) -> None:
    source = CudaSource(written_to(tmp_path / "k.cu", CUDA), "copy<32>", defines=["HALF=8"])
    bench = Bench(source, 1, 32, [], (architecture("sm_90"),), 0)
    search = Search(bench, None)  # type: ignore[arg-type]
    error = CompileError(f"/home/cache/sources/5d9cd7/{place}: static assertion\n  line")
    assert search.why_not((), error) == f"it does not run: {place}: static assertion"


def test_two_ways_to_one_source_are_one_layout(tmp_path: Path) -> None:
    file = written_to(tmp_path / "k.cu", CUDA)
    source = CudaSource(file, "copy<32>", defines=["HALF=8"])
    arguments = [np.zeros((32, 32), np.float32), np.zeros((32, 32), np.float32)]
    bench = Bench(source, 1, (32, 32), arguments, (architecture("sm_50"),), 0)
    search = Search(bench, bench.measure(()))
    (array,) = (one for one in source.declared if one.name == "tile")
    assert search.attempt((padded(array, 1),)) is search.attempt((padded(array, 1),))
    assert (len(search.tried), bench.runs) == (1, 2)
