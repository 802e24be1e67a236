"""From source to cubin: Numba, CUDA C++ by nvcc and by NVRTC, PTX; the cache between; names of kernels."""

import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from banksim.errors import CompileError, InputError
from banksim.kernels import disassembly
from banksim.kernels.compilers import CompiledKernel, assemble, compile_cuda, compile_numba, nvrtc, ptx, tools
from banksim.kernels.compilers.numba_arguments import argument_type
from banksim.kernels.cubin import decode, decode_ahead, entry_names
from banksim.kernels.kernel import Kernel
from banksim.kernels.load import Module, load
from banksim.runs.programs import standins
from banksim.runs.python_file import load_python
from banksim.system import cache
from helpers.fixtures import Patch
from helpers.places import KERNELS, written_to

pytestmark = pytest.mark.usefixtures("listed_once")
needs_host_compiler = pytest.mark.skipif(tools.host_compiler() is None, reason="no g++ for nvcc to run")


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: Patch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("BANKSIM_CACHE", str(folder))
    return folder


@pytest.fixture
def no_host_compiler(empty_cache: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(tools, "host_compiler", lambda: None)


def opcodes(cubin: bytes) -> dict[str, list[str]]:
    return {name: [i.opcode for i in kernel.instructions] for name, kernel in decode(cubin).items()}


# ---- the cache
def test_cache_gives_back_what_was_put(empty_cache: Path) -> None:
    key = cache.key("a", b"b")
    assert cache.get(key) is None
    for payload in (b"", b"\0" * 100_000, b"later"):
        cache.put(key, payload)
        assert cache.get(key) == payload


def test_keys_tell_parts_apart() -> None:
    assert len({cache.key("ab", "c"), cache.key("a", "bc"), cache.key("abc"), cache.key("ab", "c", "")}) == 4
    assert cache.key("a", b"b") == cache.key(b"a", "b")


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content[:20],
        lambda content: content + b"!",
        lambda content: content[:50] + bytes([content[50] ^ 1]) + content[51:],
        lambda content: b"#" + content[1:],
    ],
)
def test_damaged_cache_files_are_ignored(empty_cache: Path, damage: Callable[[bytes], bytes]) -> None:
    key = cache.key("x")
    cache.put(key, b"payload " * 10)
    (file,) = [path for path in empty_cache.rglob("*") if path.is_file()]
    file.write_bytes(damage(file.read_bytes()))
    assert cache.get(key) is None
    cache.put(key, b"new")
    assert cache.get(key) == b"new"


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("BANKSIM_CACHE", str(written_to(tmp_path / "file", "in the way")))
    cache.put(cache.key("x"), b"payload")
    assert cache.get(cache.key("x")) is None
    kept = cache.keep(b"content", "kernel.cu")
    assert kept.read_bytes() == b"content"
    shutil.rmtree(kept.parent)


@pytest.mark.skipif(sys.platform == "win32", reason="the XDG variables are for other systems")
def test_where_the_cache_is(monkeypatch: Patch) -> None:
    monkeypatch.delenv("BANKSIM_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache.folder() == Path("/somewhere/banksim")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder() == Path.home() / ".cache" / "banksim"


def write_again_and_again(folder: str, letter: bytes) -> None:
    os.environ["BANKSIM_CACHE"] = folder
    for size in range(300):
        cache.put(cache.key("shared"), letter * (1000 + size))


def test_two_processes_may_write_one_key_at_once(empty_cache: Path) -> None:
    context = multiprocessing.get_context("spawn")
    folder = str(empty_cache)
    writers = [context.Process(target=write_again_and_again, args=(folder, b)) for b in (b"a", b"b")]
    for writer in writers:
        writer.start()
    seen = []
    while any(writer.is_alive() for writer in writers):
        seen.append(cache.get(cache.key("shared")))
    for writer in writers:
        writer.join()
    written = [payload for payload in seen if payload is not None]
    assert written
    assert all(len(set(payload)) == 1 for payload in written)
    assert None not in seen[seen.index(written[0]) :], "a file once there is never half there"
    assert not list(empty_cache.rglob("*.part"))


def test_kept_sources_stay_and_are_mended(empty_cache: Path) -> None:
    file = cache.keep(b"content", "kernel.cu")
    file.write_bytes(b"changed")
    assert cache.keep(b"content", "kernel.cu") == file
    assert file.read_bytes() == b"content"
    assert cache.keep(b"other", "kernel.cu") != file


# ---- programs
def test_programs_come_from_the_wheels_then_the_path(tmp_path: Path, monkeypatch: Patch) -> None:
    wheel, path = tmp_path / "wheel", tmp_path / "path"
    for file in (wheel / "bin" / "ptxas", path / "ptxas", path / "nvlink"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
    monkeypatch.setattr(tools, "roots", lambda: (wheel,))
    monkeypatch.setenv("PATH", str(path))
    find = tools.tool.__wrapped__
    assert find("ptxas") == wheel / "bin" / "ptxas"
    assert find("nvlink") == path / "nvlink"
    with pytest.raises(InputError, match=r"nvdisasm \(nvidia-cuda-nvdisasm\) is neither .* PATH: pip install"):
        find("nvdisasm")


def test_headers_of_a_toolkit_make_good_what_a_wheel_lacks(tmp_path: Path, monkeypatch: Patch) -> None:
    wheel, toolkit = tmp_path / "wheel", tmp_path / "toolkit"
    for file in (wheel / "include/cuda.h", toolkit / "include/cuda.h", toolkit / "include/crt/host_defines.h"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    monkeypatch.setattr(tools, "roots", lambda: (wheel,))
    monkeypatch.setattr(tools, "tool", lambda name: tmp_path / "nothing" / "bin" / name)
    monkeypatch.setenv("PATH", str(toolkit / "bin"))
    with pytest.raises(InputError, match=r"need crt/host_defines.h \(nvidia-cuda-crt\), which is not here"):
        standins.headers()
    nvcc = toolkit / "bin/nvcc"
    nvcc.parent.mkdir()
    nvcc.touch(0o755)
    monkeypatch.setattr(tools, "tool", lambda name: nvcc)
    assert tools.include_folders() == [wheel / "include", toolkit / "include"]
    assert standins.headers() == toolkit / "include"
    monkeypatch.setattr(tools, "tool", lambda name: wheel / "bin/nvcc")
    assert tools.include_folders() == [wheel / "include"]  # one release compiles with its own headers only


def test_a_program_is_known_by_its_file(tmp_path: Path, monkeypatch: Patch) -> None:
    file = tmp_path / "ptxas"
    monkeypatch.setattr(tools, "tool", lambda name: file)
    monkeypatch.setattr(tools, "roots", lambda: (tmp_path,))
    identity = tools.identity.__wrapped__
    file.write_text("one")
    before = identity("ptxas")
    assert identity("ptxas") == before
    file.write_text("another")
    assert identity("ptxas") != before


@pytest.mark.skipif(os.name == "nt", reason="runs a shell script")
def test_a_script_on_the_path_is_known_by_its_version(tmp_path: Path, monkeypatch: Patch) -> None:
    script = written_to(tmp_path / "ptxas", f"#!/bin/sh\ncat {tmp_path}/version\n")
    script.chmod(0o755)
    monkeypatch.setattr(tools, "tool", lambda name: script)
    monkeypatch.setattr(tools, "roots", lambda: ())
    identities = set()
    for version in ("13.0", "13.4"):
        (tmp_path / "version").write_text(version)
        identities.add(tools.identity.__wrapped__("ptxas"))
    assert len(identities) == 2


def test_the_first_error_of_a_message_comes_first() -> None:
    message = "k.cu(1): warning: w\n\nk.cu(3): error: e\n  a[0] = b;\nk.cu(4): error: f\n"
    assert tools.error_first(message).splitlines() == [
        "k.cu(3): error: e",
        "k.cu(1): warning: w",
        "  a[0] = b;",
        "k.cu(4): error: f",
    ]
    assert tools.error_first("nothing of that kind\n") == "nothing of that kind"


ENDLESS = """template<int N, int M> struct F { static const long v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v; };
template<int M> struct F<0, M> { static const long v = M; };
__global__ void k(float* o) { o[0] = F<30, 0>::v; }
"""


@needs_host_compiler
def test_a_compiler_that_goes_on_is_stopped(tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "exp.cu").write_text(ENDLESS)
    monkeypatch.setattr(tools.run, "__defaults__", (1,))
    began = time.monotonic()
    with pytest.raises(CompileError, match=r"nvcc did not end within 1 s on .*exp\.cu") as error:
        load(tmp_path / "exp.cu")
    assert "\n" not in str(error.value)
    assert time.monotonic() - began < tools.PATIENCE + 5


@needs_host_compiler
def test_a_compiler_that_takes_all_memory_is_told_of_with_the_file(tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "zero.cu").write_text('#include "/dev/zero"\n__global__ void k() {}\n')
    monkeypatch.setattr(tools, "MEMORY", 1 << 30)
    with pytest.raises(CompileError, match=r"^nvcc found too little memory for .*zero\.cu: damaged, or too large$"):
        load(tmp_path / "zero.cu")


# ---- PTX
def test_ptx_errors_name_the_file_and_the_line() -> None:
    with pytest.raises(CompileError, match=r"^ptxas mine.ptx, line 2; fatal"):
        assemble(".version 7.0\nfoo", name="mine.ptx")
    with pytest.raises(CompileError, match=r"^mine.ptx: ptxas fatal   : Unexpected non-ASCII character .* on line 1\Z"):
        assemble(b"\xff\n", name="mine.ptx")


def test_ptx_is_assembled_once(empty_cache: Path, monkeypatch: Patch) -> None:
    source = (KERNELS / "plain.ptx").read_text()
    first = assemble(source)
    assert assemble(source.encode() + b"\0") == first
    other = assemble(source, "sm_80")
    monkeypatch.setattr(tools, "run", lambda *rest, **options: pytest.fail("ran a program again"))
    assert assemble(source) == first
    assert assemble(source, "sm_80") == other != first


# ---- CUDA C++
ADD = "__global__ void add(int* a) {\n    a[threadIdx.x] += STEP;\n}\n"


def constant_of(cubin: bytes) -> int:
    (kernel,) = decode(cubin).values()
    add = next(i for i in kernel.instructions if i.name in ("VIADD", "IADD3") and i.operands[0].text != "R1")
    return next(operand.number for operand in add.operands if operand.kind == "imm")


def test_source_text_with_defines(no_host_compiler: None) -> None:
    five, six = (compile_cuda(ADD, defines=[f"STEP={step}"]) for step in (5, 6))
    decode_ahead([five, six])
    assert constant_of(five) == 5
    (kernel,) = decode(six).values()
    assert "a[threadIdx.x] += STEP;" in {i.site.text for i in kernel.instructions}


def test_headers_are_found_and_their_changes_seen(tmp_path: Path, empty_cache: Path) -> None:
    for folder in ("beside", "elsewhere"):
        (tmp_path / folder).mkdir()
    file = written_to(tmp_path / "beside" / "add.cu", '#include "beside.h"\n' + ADD)
    (tmp_path / "beside" / "beside.h").write_text("#pragma once\n# include <far.h>\n")
    for step in (3, 4):
        (tmp_path / "elsewhere" / "far.h").write_text(f"#define STEP {step}\n")
        assert constant_of(compile_cuda(file, includes=[tmp_path / "elsewhere"])) == step
    with pytest.raises(CompileError, match=r"far\.h"):
        compile_cuda(file)


def test_a_header_that_a_macro_names_is_never_taken_from_the_cache(tmp_path: Path, no_host_compiler: None) -> None:
    file = written_to(tmp_path / "add.cu", '#define HEADER "step.h"\n#include HEADER\n' + ADD)
    for step in (3, 4):
        (tmp_path / "step.h").write_text(f"#define STEP {step}\n")
        assert constant_of(compile_cuda(file)) == step


def test_compiled_once(empty_cache: Path, monkeypatch: Patch) -> None:
    first = compile_cuda(ADD, defines=["STEP=1"])
    monkeypatch.setattr(tools, "run", lambda *rest, **options: pytest.fail("ran a program again"))
    assert compile_cuda(ADD, defines=["STEP=1"]) == first
    with pytest.raises(pytest.fail.Exception):
        compile_cuda(ADD, defines=["STEP=2"])


@pytest.mark.parametrize("way", ["nvcc", "nvrtc"])
def test_the_standard_is_chosen(way: str, empty_cache: Path, monkeypatch: Patch) -> None:
    if way == "nvrtc":
        monkeypatch.setattr(tools, "host_compiler", lambda: None)
    concept = "template <class T> concept Any = true;\ntemplate <Any T> __device__ T f(T x) { return x; }\n"
    source = concept + "__global__ void k(int* a) { a[0] = f(a[1]); }"
    assert len(entry_names(compile_cuda(source, std="c++20"))) == 1
    with pytest.raises(CompileError):
        compile_cuda(source, std="c++17")


@pytest.mark.parametrize("way", ["nvcc", "nvrtc"])
def test_errors_name_file_and_line(way: str, tmp_path: Path, empty_cache: Path, monkeypatch: Patch) -> None:
    if way == "nvrtc":
        monkeypatch.setattr(tools, "host_compiler", lambda: None)
    file = tmp_path / "bad.cu"
    file.write_text("__global__ void k(int* a) {\n    int unused;\n    a[0] = b;\n    a[1] = c;\n}\n")
    with pytest.raises(CompileError) as caught:
        compile_cuda(file)
    first, *rest = str(caught.value).splitlines()
    assert first == f'{file}(3): error: identifier "b" is undefined'
    assert any('identifier "c" is undefined' in line for line in rest), "the whole message is kept"


def test_no_such_file() -> None:
    with pytest.raises(InputError, match=r"missing\.cu: no such file"):
        compile_cuda("missing.cu")


@needs_host_compiler
def test_whole_programs_by_nvcc(program: Module) -> None:
    assert {k.plain_name for k in decode(whole()).values()} == IN_WHOLE


def test_whole_programs_by_nvrtc(no_host_compiler: None) -> None:
    instantiated_by_main = {"fill<7u>"}
    assert {k.plain_name for k in decode(whole()).values()} == IN_WHOLE - instantiated_by_main
    (kernel,) = (k for k in decode(whole()).values() if k.plain_name == "bounded")
    assert "void bounded(uint32_t* a)" in kernel.instructions[0].site.text, "lines keep their numbers"


def test_a_header_of_macros_alone_by_nvrtc(no_host_compiler: None) -> None:
    """Of cuda::std it declares nothing, so that the namespace is not there."""
    assert compile_cuda("#include <cassert>\n__global__ void k(int *a) { assert(a[0]); }")


def test_integers_of_128_bits_by_nvrtc(no_host_compiler: None) -> None:
    assert compile_cuda("__global__ void k(long *a) { a[0] = (unsigned __int128)a[0] * a[1] >> 70; }")


IN_WHOLE = {"(anonymous namespace)::hidden", "fill<7u>", "same", "bounded"}


def whole(*instances: str) -> bytes:
    return compile_cuda(KERNELS / "whole.cu", defines=["OFFSET=3"], instances=instances)


@needs_host_compiler
def test_nvcc_and_nvrtc_make_the_same_code(empty_cache: Path, monkeypatch: Patch) -> None:
    by_nvcc = opcodes(compile_cuda(KERNELS / "inlined.cu"))
    monkeypatch.setattr(tools, "host_compiler", lambda: None)
    assert opcodes(compile_cuda(KERNELS / "inlined.cu")) == by_nvcc


def test_host_functions_are_blanked_line_by_line() -> None:
    text = (
        "#define OPEN {\n"
        "__global__ void kernel(int* a) { a[0] = '{'; }\n"
        "static int\n"
        "helper(int x)  // {\n"
        "{\n"
        '    if (x) { return "}"[0]; }\n'
        "    return 0;\n"
        "}\n"
        "struct S { int a; };  int main() { return helper(1); }\n"
        "int last;\n"
    )
    blanked = nvrtc.without_functions(text, {4, 9})
    assert blanked.splitlines() == [
        "#define OPEN {",
        "__global__ void kernel(int* a) { a[0] = '{'; }",
        *[""] * 6,
        "struct S { int a; };",
        "int last;",
    ]
    assert nvrtc.without_functions(text, set()) == text


def test_without_any_compiler_the_message_says_what_to_install(no_host_compiler: None, monkeypatch: Patch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(InputError, match=r"g\+\+.*pip install"):
        compile_cuda(ADD, defines=["STEP=1"])


# ---- names
PADDED = "_ZN2ns9transposeILi32EfLNS_4ModeE1EEEvPT0_PKS2_"
INSTANCES = [
    ("fill<8>", "_Z4fillILj8EEvPf"),
    ("ns::transpose<32, float, ns::PADDED>", PADDED),
]
"""Templates that the source leaves alone."""
BY_NVRTC = [
    ("flag<double>", "_Z4flagIdLb1EEvPT_"),
    ("flag< int,false >", "_Z4flagIiLb0EEvPT_"),
    ("ns::transpose<32, float, (ns::Mode)1>", PADDED),
    ("fill<9>", "_Z4fillILj9EEvPf"),
    ("ns::transpose<16,float,ns::PLAIN>", "_ZN2ns9transposeILi16EfLNS_4ModeE0EEEvPT0_PKS2_"),
]
"""Others, whose names C++ and banksim read alike with each compiler: this one takes a fifth of the time."""


@pytest.fixture(scope="module")
def program() -> Module:
    decode_ahead([whole(), *(whole(name) for name, _ in INSTANCES)])
    return load(KERNELS / "whole.cu", defines=["OFFSET=3"])


@needs_host_compiler
@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("bounded", "_Z7boundedPj"), ("_Z7boundedPj", "_Z7boundedPj"), ("bounded(unsigned int*)", "_Z7boundedPj"),
        ("same(int *)", "_Z4samePi"), ("same(float*)", "_Z4samePf"), ("fill<7>", "_Z4fillILj7EEvPf"),
        ("fill<7u>", "_Z4fillILj7EEvPf"), ("fill", "_Z4fillILj7EEvPf"), *INSTANCES,
    ],
)  # fmt: skip
def test_kernels_are_found_by_every_name(program: Module, name: str, symbol: str) -> None:
    assert program[name].name == symbol
    assert program[name] is program[name]


@needs_host_compiler
@pytest.mark.parametrize("name", ["hidden", "(anonymous namespace)::hidden"])
def test_kernels_of_unnamed_namespaces(program: Module, name: str) -> None:
    assert program[name].plain_name == "(anonymous namespace)::hidden"


@needs_host_compiler
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("same", r"2 kernels 'same': choose same\(float\*\) or same\(int\*\)"),
        ("bonded", "no kernel 'bonded': it has bounded"),
        ("nothing_like_it", r"no kernel 'nothing_like_it': it has .*bounded.*fill<7u>"),
    ],
)
def test_names_that_are_not_found(program: Module, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        program[name]


@needs_host_compiler
def test_templates_that_cannot_be_made(program: Module) -> None:
    with pytest.raises(CompileError, match=r"no kernel 'fill<x>', and making it failed: .*x. is undefined"):
        program["fill<x>"]


def test_templates_by_nvrtc(no_host_compiler: None) -> None:
    decode_ahead(whole(name) for name, _ in BY_NVRTC)
    source = load(KERNELS / "whole.cu", defines=["OFFSET=3"])
    assert [(name, source[name].name) for name, _ in BY_NVRTC] == BY_NVRTC
    assert source["ns::transpose<16,float,ns::PLAIN>"].shared_bytes == 0x400 + 16 * 16 * 4
    assert source["fill<9>"].plain_name == "fill<9u>"


def test_only_what_is_asked_for_is_decoded(no_host_compiler: None, monkeypatch: Patch) -> None:
    listed = list[bytes]()
    print_listing = disassembly.printed
    monkeypatch.setattr(disassembly, "printed", lambda cubin: listed.append(cubin) or print_listing(cubin))
    module = load(KERNELS / "whole.cu", defines=["OFFSET=4"])
    assert "_Z7boundedPj" in [*module]
    assert not listed
    assert module["fill<9>"].plain_name == "fill<9u>"
    assert len(listed) == 1


def test_files_that_hold_no_kernels(tmp_path: Path) -> None:
    (tmp_path / "empty.ptx").write_text(".version 8.0\n.target sm_75\n.address_size 64\n")
    (tmp_path / "notes.txt").write_text("")
    for name, message in [
        ("empty.ptx", "no kernel is in it"),
        ("notes.txt", "no kernels are in it"),
        ("missing.ptx", "no such file"),
        ("missing.cu", "no such file"),
    ]:
        with pytest.raises(InputError, match=message) as caught:
            load(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)


def test_cubins_are_loaded_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "plain.cubin"
    file.write_bytes(assemble((KERNELS / "plain.ptx").read_text(), "sm_80"))
    module = load(file)
    assert (list(module), len(module), module["shift"].arch) == (["shift"], 1, "sm_80")
    file.write_bytes(b"no cubin")
    with pytest.raises(InputError, match=r"plain\.cubin: not a cubin"):
        load(file)


# ---- Numba
RECORD = np.dtype([("v", "f4"), ("w", "i8")])
VECTOR = np.zeros(64, "f4")


@pytest.fixture(scope="module")
def eager() -> Any:
    """The module, most of whose kernels are decoded with one start of nvdisasm."""
    module = load_python(KERNELS / "eager.py")
    vectors = {one: [VECTOR] for one in (module.debugged, module.linked, module.reshaped, module.bounded)}
    vectors |= {one: [VECTOR, VECTOR] for one in (module.exact, module.fast)}
    square = np.zeros((32, 32), "f4")
    decode_ahead(
        compile_numba(one, arguments).cubin
        for one, arguments in {**vectors, module.mixed: mixed_arguments(), module.transpose: [square, square]}.items()
    )
    return module


def decoded(compiled: CompiledKernel) -> Kernel:
    return decode(compiled.cubin)[compiled.name]


def test_modules_with_signatures_import_without_a_gpu(eager: Any) -> None:
    square = np.zeros((32, 32), "f4")
    compiled = compile_numba(eager.transpose, [square, square])
    assert compiled.signature == ("array(float32, 2d, A)",) * 2, "the declared layout, not that of the arrays"
    assert compiled.arguments == ("a", "b")
    kernel = decoded(compiled)
    assert kernel.plain_name == "transpose"
    assert kernel.shared_bytes == kernel.shared_base + 32 * 33 * 4


@pytest.mark.parametrize(
    ("arguments", "chosen"),
    [
        ([VECTOR, 4], ("array(float32, 1d, A)", "int32")),
        ([VECTOR, np.int32(4)], ("array(float32, 1d, A)", "int32")),
        ([VECTOR.astype("f8"), 4], ("array(float64, 1d, A)", "int64")),
    ],
)
def test_the_signature_that_fits_is_chosen(eager: Any, arguments: list[Any], chosen: tuple[str, ...]) -> None:
    compiled = compile_numba(eager.several, arguments)
    assert compiled.signature == chosen
    assert compiled.fields[-1].dtype == chosen[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([VECTOR.astype("i4"), 4], r"several is declared for .*int32\) or .*int64\), not for \(array\(int32"),
        ([VECTOR], r"several takes 2 arguments \(a, n\), 1 were given"),
        ([VECTOR, object()], "no type for a object argument"),
    ],
)
def test_arguments_that_do_not_fit(eager: Any, arguments: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compile_numba(eager.several, arguments)


def mixed_arguments() -> list[Any]:
    parts = (1, (np.float32(3),))
    return [VECTOR, 4, 1.5, 1 + 2j, True, np.float16(2), parts, np.zeros(1, RECORD)[0], np.zeros(4, RECORD)]


ARRAY = ["meminfo", "parent", "nitems", "itemsize", "data", "shape", "stride"]


def test_arguments_are_flattened_as_numba_launches_them(eager: Any) -> None:
    compiled = compile_numba(eager.mixed, mixed_arguments())
    kernel = decoded(compiled)
    assert [parameter.size for parameter in kernel.parameters] == [field.size for field in compiled.fields]
    described = [(field.argument, field.role, field.dtype, field.path) for field in compiled.fields]
    assert [role for argument, role, _, _ in described if argument in (0, 8)] == ARRAY * 2
    assert [rest for rest in described if rest[0] not in (0, 8)] == [
        (1, "value", "int64", ()), (2, "value", "float64", ()), (3, "real", "float64", ()),
        (3, "imag", "float64", ()), (4, "value", "bool", ()), (5, "value", "float16", ()),
        (6, "value", "int64", (0,)), (6, "value", "float32", (1, 0)), (7, "record", "int64", ()),
    ]  # fmt: skip


def test_every_axis_has_a_shape_and_a_stride() -> None:
    def kernel(a: Any) -> None:
        a[0, 0, 0] = 1

    array = np.zeros((4, 6, 8))
    for given, layout in [(array, "C"), (np.asfortranarray(array), "F"), (array[::2], "A")]:
        compiled = compile_numba(kernel, [given])
        assert compiled.signature == (f"array(float64, 3d, {layout})",)
        assert [(f.role, f.index) for f in compiled.fields[5:]] == [
            (role, axis) for role in ("shape", "stride") for axis in range(3)
        ]


def test_device_functions_have_lines_of_their_own(eager: Any) -> None:
    kernel = decoded(compile_numba(eager.mixed, mixed_arguments()))
    load_shared = next(i for i in kernel.instructions if i.name == "LDS")
    assert load_shared.site.text == "return s[i] * 2"
    ((function, file, line),) = load_shared.site.inlined
    assert (function, file) == ("double_of", str(KERNELS / "eager.py"))
    assert "double_of(tile, i)" in (KERNELS / "eager.py").read_text().splitlines()[line - 1]


def test_line_information_changes_no_code(eager: Any) -> None:
    from numba import cuda

    types = tuple(map(argument_type, [VECTOR, VECTOR]))
    compiled = compile_numba(eager.exact, types)
    plain, _ = cuda.compile_ptx(eager.exact.py_func, types, cc=(9, 0), lineinfo=False)
    (bare,) = opcodes(ptx._made("ptxas", ["-arch", "sm_90"], [(plain.encode(), "kernel.ptx")])).values()
    assert opcodes(compiled.cubin)[compiled.name] == bare


def test_options_of_the_dispatcher_reach_the_compilers(eager: Any) -> None:
    fast, exact = (decoded(compile_numba(f, [VECTOR, VECTOR])) for f in (eager.fast, eager.exact))
    assert len(fast.instructions) < len(exact.instructions) / 2
    assert fast.registers <= 24 < exact.registers
    assert decoded(compile_numba(eager.bounded, [VECTOR])).max_threads == 128


def test_debug_builds_are_linked_from_their_parts(eager: Any) -> None:
    compiled = compile_numba(eager.debugged, [VECTOR])
    assert len(compiled.ptx) > 1
    assert "double_of" in {i.site.function for i in decoded(compiled).instructions}


def test_numba_kernels_are_linked_with_cuda_functions(eager: Any) -> None:
    kernel = decoded(compile_numba(eager.linked, [VECTOR]))
    assert "weigh" in kernel.functions
    shared = next(i for i in kernel.instructions if i.name == "STS")
    assert (shared.site.function, shared.site.text) == ("weigh", "last[threadIdx.x] = x;")
    assert kernel.shared_bytes == kernel.shared_base + 32 * 4
    assert "numba_attempt_nocopy_reshape" in decoded(compile_numba(eager.reshaped, [VECTOR])).functions


def test_every_operand_of_numba_kernels_is_understood(eager: Any) -> None:
    arguments = {
        eager.mixed: mixed_arguments(),
        eager.exact: [VECTOR, VECTOR],
        eager.debugged: [VECTOR],
        eager.linked: [VECTOR],
        eager.reshaped: [VECTOR],
    }
    for function, given in arguments.items():
        for i in decoded(compile_numba(function, given)).instructions:
            assert not [operand for operand in i.operands if operand.kind == "other"], i.text


def test_equal_functions_give_equal_cubins(eager: Any) -> None:
    first = compile_numba(eager.exact, [VECTOR, VECTOR])
    compile_numba(eager.fast, [VECTOR, VECTOR])
    assert compile_numba(eager.exact, [VECTOR, VECTOR]) == first


def test_device_functions_follow_the_architecture(eager: Any) -> None:
    for arch in ("sm_80", "sm_90", "sm_120"):
        both = compile_numba(eager.mixed, mixed_arguments(), arch), compile_numba(eager.several, [VECTOR, 4], arch)
        decode_ahead(compiled.cubin for compiled in both)
        assert [decoded(compiled).arch for compiled in both] == [arch, arch]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("misspelt", [VECTOR], r"eager\.py:{line}: misspelt: Unknown attribute 'lenght'"),
        ("returning", [VECTOR], r"eager\.py:\d+: returning: CUDA kernel must have void return type"),
        ("exact", ["text", VECTOR], r"eager\.py:\d+: exact: .*"),
    ],
)
def test_numba_errors_name_file_and_line(eager: Any, name: str, arguments: list[Any], message: str) -> None:
    lines = (KERNELS / "eager.py").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "lenght" in text)
    with pytest.raises(CompileError, match=message.replace("{line}", str(line))) as error:
        compile_numba(getattr(eager, name), arguments)
    first, *more = str(error.value).splitlines()
    assert not [line for line in more if line.strip() and line in first]


@pytest.mark.parametrize("arch", ["sm_30", "hopper", "90"])
def test_architectures_that_cannot_be_compiled_for(eager: Any, arch: str) -> None:
    with pytest.raises((CompileError, InputError), match=r"3\.0 is not supported|no architecture"):
        compile_numba(eager.exact, [VECTOR, VECTOR], arch)


def test_numba_cuda_is_left_as_it_was(eager: Any) -> None:
    from numba.cuda import dispatcher

    kind = dispatcher.CUDADispatcher
    watched = ("compile", "compile_device", "get_call_template", "disable_compile")
    before = dispatcher.get_current_device, [getattr(kind, name) for name in watched], set(vars(kind))
    compile_numba(eager.mixed, mixed_arguments())
    with pytest.raises(CompileError):
        compile_numba(eager.misspelt, [VECTOR])
    load_python(KERNELS / "eager.py")
    after = dispatcher.get_current_device, [getattr(kind, name) for name in watched], set(vars(kind))
    assert after == before


def test_nothing_heavy_is_imported_before_it_is_wanted() -> None:
    check = (
        "import sys, banksim.kernels.compilers, banksim.kernels.load;"
        "heavy = {'numba', 'llvmlite', 'cuda', 'elftools', 'rich'} & set(sys.modules);"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_kernels_that_launch_kernels_are_told_where_they_run(tmp_path: Path) -> None:
    source = tmp_path / "recursion.cu"
    source.write_text("__global__ void child() {}\n__global__ void parent() { child<<<1, 1>>>(); }\n")
    with pytest.raises(
        CompileError, match=r"^kernels that launch kernels \(dynamic parallelism\) run in programs: .*-rdc"
    ):
        compile_cuda(source, "sm_90")


@pytest.mark.parametrize("end", ["", "\0", "\n\0", "\n"])
def test_ptx_ends_with_a_line_break(end: str, monkeypatch: Patch) -> None:
    """ptxas 13.0 may crash where there is none."""
    monkeypatch.setattr(ptx, "_made", lambda program, options, inputs: inputs[0][0])
    assert ptx.assemble(f".version 8.0{end}") == b".version 8.0\n"
